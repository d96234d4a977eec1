#!/usr/bin/env python3
"""A record of format 1 that is made up: all scenarios, absent peers, missing figures, 3 rounds and 5.

    sample.py OUT.json [SEED]

The figures are nobody's: they only have the shape of a run, so that a report can be looked at without one.
"""

import hashlib
import json
import random
import sys

# id: label, name, version, threads, log, requests/s of the sample's hello, CPU us a request
SERVERS = {
    "fastserve-w8": ("fastserve --workers 8", "fastserve", "0.1.0", 8, "off", 345_000, 2.5),
    "fastserve-auto": ("fastserve", "fastserve", "0.1.0", 2, "off", 352_000, 2.4),
    "fastserve-w1": ("fastserve --workers 1", "fastserve", "0.1.0", 1, "off", 190_000, 2.6),
    "fastserve-bpf": ("fastserve --placement bpf", "fastserve", "0.1.0", 2, "off", 340_000, 2.5),
    "limit": ("limit (bare epoll)", "limit", "of this commit", 2, "none", 374_000, 2.1),
    "fasthttp": ("fasthttp", "fasthttp", "1.31.0, Go 1.19.8", 2, "off", 172_000, 5.9),
    "nginx": ("nginx", "nginx", "1.22.1 with echo", 2, "access_log off", 176_000, 5.6),
    "h2o": ("h2o", "h2o", "2.2.5", 2, "off", 190_000, 5.2),
    "evhttp": ("evhttp", "evhttp", "libevent 2.1.12", 2, "none", 104_000, 11.6),
    "go": ("Go net/http", "Go", "1.19.8", 2, "off", 98_000, 11.7),
    "go-1": ("Go net/http GOMAXPROCS=1", "Go", "1.19.8", 1, "off", 61_000, 10.2),
    "node": ("Node", "Node", "20.19.2", 1, "off", 37_000, 18.8),
    "node-cluster": ("Node under pm2 -i 0", "Node", "20.19.2, pm2 5.3.0", 2, "off", 62_000, 19.9),
    "node-0.10": ("Node 0.10.3", "Node", "0.10.3", 1, "off", 9_000, 80.0),
    "uwebsockets": ("uWebSockets", "uWebSockets", "", 2, "off", 0, 0.0),
    "cherrypy": ("CherryPy", "CherryPy", "18.8.0, Python 3.11.2", 10, "off", 1_400, 690.0),
    "martini": ("go-martini", "go-martini", "", 2, "off", 0, 0.0),
    "cpp-O2": ("C++, blocking send, -O2", "C++", "g++ 12.2", 1, "none", 250_000, 300.0),
    "python": ("Python", "Python", "3.11.2", 1, "none", 180_000, 900.0),
}
ABSENT = {"uwebsockets": "no checkout is named: set SHOOTOUT_UWEBSOCKETS to one",
          "martini": "no checkout is named: set SHOOTOUT_MARTINI to one"}
ALL = ["fastserve-auto", "limit", "fasthttp", "nginx", "h2o", "evhttp", "go", "node-cluster", "uwebsockets"]
SHARED, APART = {"server_cpus": "0,1", "load_cpus": "0,1"}, {"server_cpus": "0", "load_cpus": "1"}
RATE, BYTES = ("requests/s", True), ("bytes", False)
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)
NGINX_SATURATION = 176_000


class Sample:
    def __init__(self, seed: int, rounds: int | None = None):
        self.random = random.Random(seed)
        self.rounds = rounds

    def near(self, value: float, spread: float = 0.06) -> float:
        return value * self.random.uniform(1 - spread, 1 + spread)

    def round(self, value: float, cpu: float | None, **known) -> dict:
        p50 = self.near(0.25 + (cpu or 2) / 60, 0.2)
        measured = {"value": self.near(value), "server_cpu_us": cpu and self.near(cpu, 0.03), "p50_ms": p50,
                    "p99_ms": self.near(p50 * 9, 0.5), "p999_ms": self.near(p50 * 22, 0.5),
                    "max_ms": self.near(p50 * 60, 0.5), "errors": 0, "resident_kib": int(self.near(9_000, 0.4)),
                    "load_cpu_seconds": {"user": self.near(1.0), "system": self.near(2.0)}, "load_was_limit": False,
                    "extra": {"wrk_latency_avg_ms": p50 * 1.3, "wrk_latency_stdev_ms": p50 * 0.8}}
        return measured | known

    def row(self, server: str, rounds: int, scale: float = 1.0, body: str | None = "hello world", **known) -> dict:
        if server in ABSENT:
            return {"server": server, "absent": ABSENT[server], "answer": None, "rounds": []}
        base, cpu = SERVERS[server][5:]
        answer = body and {"status": 200, "body_sha256": hashlib.sha256(body.encode()).hexdigest(), "bytes": len(body)}
        return {"server": server, "absent": None, "answer": answer,
                "rounds": [self.round(base * scale, cpu, **known) for _ in range(self.rounds or rounds)]}

    def variant(self, name: str, title: str, servers: list[str], rounds: int, load: str, *, unit=RATE, scale=1.0,
                placement=SHARED, point=None, **row) -> dict:
        return {"id": name, "title": title, "unit": unit[0], "higher_is_better": unit[1], "load": load,
                "placement": placement, "point": point,
                "rows": [self.row(server, rounds, scale, **row) for server in servers]}

    def latency(self) -> list[dict]:
        """Open loop: the closer to what a server can do, the longer its tail."""
        servers = ["fastserve-auto", "limit", "fasthttp", "nginx", "h2o"]
        points = [({"rate": int(NGINX_SATURATION * share), "share_of_nginx": share},
                   f"at {100 * share:.0f} % of nginx's saturation")
                  for share in SHARES]
        points += [({"rate": rate, "share_of_nginx": None}, f"{rate:,} requests/s") for rate in (10_000, 50_000)]
        variants = []
        for point, title in points:
            by_cpu = point["share_of_nginx"] is None
            made = self.variant(f"r{point['rate']}", title, servers, 5, f"fastserve-load --rate {point['rate']} -d 3",
                                unit=("CPU us a request" if by_cpu else "ms p99", False), point=point)
            for row in made["rows"]:
                for measured in row["rounds"]:
                    load = min(point["rate"] / SERVERS[row["server"]][5], 0.97)
                    p50 = self.near(0.04 / (1 - load), 0.1)
                    measured |= {"p50_ms": p50, "p99_ms": self.near(p50 * 6, 0.3), "p999_ms": self.near(p50 * 20, 0.4),
                                 "max_ms": self.near(p50 * 60, 0.5), "extra": {"rate": self.near(point["rate"], 0.001)}}
                    measured["value"] = measured["server_cpu_us" if by_cpu else "p99_ms"]
            variants.append(made)
        broken = variants[4]["rows"][3]["rounds"][4]
        broken.update(value=None, p99_ms=None, p999_ms=None, max_ms=None, load_was_limit=True)
        return variants

    def scenarios(self) -> list[dict]:
        wrk, ours = "wrk -t4 -c100 -d20 http://127.0.0.1:{port}/", ["fastserve-w8", "fastserve-auto"]
        peers = ["fasthttp", "nginx", "h2o", "evhttp", "limit"]
        go, node = ["go", "go-1"], ["node", "node-cluster"]
        sql = [self.variant(f"{rows}-{load.replace(' ', '')}", f"first 10 of {rows:,} rows, {load}",
                            ["fastserve-auto", "go", "cherrypy", "martini"], 5, f"ab -n 100000 -c {load[-2:]}",
                            scale=0.05, body='[{"id":1}]')
               for rows in (1_000, 1_000_000) for load in ("-c 1", "5 x -c 20")]
        made = {
            "hello": [self.variant("c100", "100 connections", ours + peers + ["uwebsockets"], 3, wrk),
                      self.variant("apart", "100 connections, generator on the other CPU",
                                   ["fastserve-w1", "fasthttp"], 5, wrk, placement=APART, scale=0.5)],
            "one-core": [self.variant("one", "one core each", ["fastserve-w1", "go-1", "node"], 3,
                                      "wrk -t50 -c1000 -d30s", scale=0.9, body="hello world!")],
            "ab": [self.variant("close", "without keep-alive", ["fastserve-auto", "go", "node", "fasthttp", "nginx"], 3,
                                "ab -c 100 -n 100000", scale=0.06, body="Hello, world."),
                   self.variant("keep", "with -k", ["fastserve-auto", "go", "node", "fasthttp", "nginx"], 5,
                                "ab -k -c 100 -n 100000", scale=0.35, body="Hello, world.")],
            "cluster": [self.variant(f"c{many}", f"{many} connections",
                                     ["fastserve-w1", "fastserve-auto", *go, *node], 3, f"wrk -t12 -c{many} -d30s",
                                     scale=0.9) for many in (400, 1000)],
            "json-api": [self.variant("c10", "-c 10", ["fastserve-auto", "nginx", "cherrypy", "go", "martini"], 3,
                                      "ab -n 100000 -c 10", scale=0.1, body='{"status":"ok"}')],
            "mysql": sql,
            "tcp": [self.variant("4096", "one connection, 4,096-byte packets",
                                 ["fastserve-w1", "cpp-O2", "go-1", "python"], 3, "receive --packet 4096",
                                 unit=("MB/s", True), scale=0.004, body=None)],
            "versions": [self.variant("node", "Node, old against new", ["node", "node-0.10"], 5, "wrk -t4 -c100 -d3")],
            "footprint": [self.variant("idle", "an idle connection", ALL, 5, "fastserve-load --idle 10000", unit=BYTES,
                                       scale=0.01, body=None),
                          self.variant("size", "size, stripped", ALL, 5, "strip", unit=BYTES, scale=7.0, body=None)],
            "placement": [self.variant("same", "generator on the server's CPUs",
                                       ["fastserve-auto", "fastserve-bpf", "limit", "fasthttp", "nginx"], 5,
                                       "wrk -t2 -c100 -d3"),
                          self.variant("apart", "generator on the other CPU",
                                       ["fastserve-w1", "limit", "fasthttp", "nginx"], 5, "wrk -t1 -c100 -d3",
                                       placement=APART, scale=0.6)],
            "pipeline": [self.variant("own", "16 pipelined, wrk's own head", ALL, 5,
                                      "wrk -t2 -c100 -d3 -s pipeline.lua", scale=7.5)],
            "churn": [self.variant("close", "Connection: close", ALL, 5, "fastserve-load --close", scale=0.1)],
            "upload": [self.variant("20m", "bodies of 20 MiB, 32 connections", ["fastserve-auto", "go", "fasthttp"], 5,
                                    "fastserve-load --body 20m -c 32", unit=("MB/s", True), scale=0.01)],
            "latency": self.latency(),
        }
        self.disturb(made)
        return [self.scenario(name, variants) for name, variants in made.items()]

    def disturb(self, made: dict):
        """What happens: a row behind, a run that was broken off, errors, a figure that could not be had."""
        for measured in made["upload"][0]["rows"][2]["rounds"]:
            measured["value"] *= 4
        made["json-api"][0]["rows"][2]["note"] = "counted for 10 s, since it makes less than 5,000 requests/s"
        del made["cluster"][1]["rows"][-1]["rounds"][1:]
        made["cluster"][0]["rows"][4]["rounds"][0]["errors"] = 37
        made["mysql"][0]["rows"][2]["answer"]["body_sha256"] = hashlib.sha256(b"[]").hexdigest()
        for measured in made["tcp"][0]["rows"][3]["rounds"]:
            measured.update(server_cpu_us=None, p50_ms=None)
        for variant in made["footprint"]:
            for row in variant["rows"]:
                for measured in row["rounds"]:
                    measured.update(dict.fromkeys(("server_cpu_us", "p50_ms", "p99_ms", "p999_ms", "max_ms")), extra={})

    @staticmethod
    def scenario(name: str, variants: list[dict]) -> dict:
        then = {"hello": ("fasthttp 400,953 requests/s on an i7", "fasthttp", 400_953.0, "requests/s"),
                "one-core": ("Go 21,000 requests/s over a network (made up)", "Go", 21_000.0, "requests/s"),
                "tcp": ("Python 600 MB/s (made up)", "Python", 600.0, "MB/s"),
                "json-api": ("go-martini 4,000 requests/s (made up)", "go-martini", 4_000.0, "requests/s")}.get(name)
        historical = name in ("hello", "one-core", "ab", "cluster", "json-api", "mysql", "tcp")
        return {"name": name, "title": {"hello": "Hello, world", "ab": "A connection for each request"}.get(
                    name, name.replace("-", " ").capitalize()),
                "origin": "What somebody once compared by hand, in one sentence that is made up for this sample.",
                "historical": historical, "command": f"script/shootout {name}", "variants": variants,
                "then": then and dict(zip(("text", "server", "value", "unit"), then))}


def server(name: str) -> dict:
    label, kind, version, threads, log, *_ = SERVERS[name]
    return {"name": kind, "label": label, "version": version, "threads": threads, "log": log,
            "command": f"{kind.lower()} --listen 127.0.0.1:{{port}} --threads {threads}",
            "build": "g++ 12.2 -O3 -DNDEBUG", "note": "", "response_bytes": None if name in ABSENT else 130,
            "fields": [] if name in ABSENT else ["Server", "Date", "Content-Type", "Content-Length"],
            "absent": ABSENT.get(name)}


def record(seed: int = 1, rounds: int | None = None) -> dict:
    """A whole record; with `rounds` every row has so many instead of those of the full run."""
    return {
        "format": 1,
        "run": {"date": "2026-11-30T17:00:00Z", "commit": "c0921380f2c1d1a9c1b1f0f5a2a9a4d1e6b7c8d9", "dirty": False,
                "command": "script/shootout", "quick": False, "seconds": 5_431},
        "machine": {"cpu": "Intel(R) Xeon(R) Processor @ 2.10GHz", "cpus": 2, "kernel": "Linux 6.18.5",
                    "congestion_control": "bbr", "memory_mib": 7_944,
                    "mitigations": {"spectre_v2": "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional",
                                    "meltdown": "Not affected"},
                    "noise": {"steal_percent": 0.1, "other_cpu_percent": 0.4}},
        "servers": {name: server(name) for name in SERVERS},
        "scenarios": Sample(seed, rounds).scenarios(),
    }


def main() -> int:
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(record(int(sys.argv[2]) if len(sys.argv) == 3 else 1), file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
