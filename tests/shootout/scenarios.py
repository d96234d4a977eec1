"""What is compared: each scenario with its variants, loads and servers, as data.

The servers' names are those of peers.py. A variant's rows run interleaved; only within a variant are figures compared.
"""

from dataclasses import dataclass, field

HELLO, BANG, COMMA = "hello world", "hello world!", "Hello, world."
DOCUMENT = ('{"status":"ok","version":3,"path":"/api/v3/json",'
            '"data":{"id":1,"name":"fastserve","tags":["http","c++20","asio"]}}')
UPLOAD_MIB = 20
HISTORICAL_ROUNDS, ROUNDS, QUICK_ROUNDS = 3, 5, 3
FREE, ONE_CORE, DISJOINT = "free", "one core", "disjoint"


@dataclass(frozen=True)
class Load:
    """One run of a generator: `seconds` of it, or `requests` by each of its processes (and `seconds` for the plan)."""

    tool: str  # wrk, ab, h2load, fastserve-load, tcp, footprint, size
    connections: int = 1
    threads: int = 1
    seconds: float = 0
    requests: int = 0
    processes: int = 1
    keep_alive: bool = True
    pipeline: int = 1
    head: str = "wrk"  # or browser
    requests_per_connection: int = 0  # 0: without end
    upload_mib: int = 0
    rate: int = 0  # requests/s of an open loop
    rate_expected: int = 0  # of ab, for the plan; 0: its usual one
    share: float = 0  # the rate as a share of nginx's saturation


@dataclass(frozen=True)
class Variant:
    id: str
    title: str
    load: Load
    servers: tuple[str, ...]
    path: str = "/"
    body: str | None = HELLO  # what every row answers; None: whatever the first one does
    same: str = "bytes"  # or json: the same value, which serializers write in orders and escapes of their own
    figure: str = "rate"  # which figure of a round is its value
    unit: str = "requests/s"
    higher_is_better: bool = True
    placement: str = FREE
    with_variant: str = ""  # measured together with that one
    quick: bool = False
    counts_connections: bool = False


@dataclass(frozen=True)
class Then:
    text: str
    server: str
    value: float
    unit: str = "requests/s"


@dataclass(frozen=True)
class Scenario:
    name: str
    title: str
    origin: str
    variants: tuple[Variant, ...]
    historical: bool = False
    then: Then | None = None
    services: tuple[str, ...] = field(default=())  # started beside the servers: mariadb

    def rounds(self, quick: bool) -> int:
        return QUICK_ROUNDS if quick else HISTORICAL_ROUNDS if self.historical else ROUNDS

    def in_quick(self) -> bool:
        return any(variant.quick for variant in self.variants)


ALL = ("fastserve-auto", "limit", "fasthttp", "nginx", "h2o", "evhttp", "go", "node", "uwebsockets")

HELLO_SCENARIO = Scenario(
    "hello", "hello world, keep-alive, 100 connections",
    "fasthttp's own comparison of its hello world with nginx and libevent's evhttp, over loopback",
    (Variant("c100", "wrk -c 100 -d 20 -t 4", Load("wrk", 100, 4, 20), quick=True, servers=(
        "fastserve-w8", "fastserve-auto", "fasthttp", "fasthttp-checkout", "nginx", "evhttp", "evhttp-dump", "h2o",
        "limit", "uwebsockets")),),
    historical=True,
    then=Then("fasthttp 400,953, nginx 291,202, evhttp 282,719 requests/s on an i7-3770", "fasthttp", 400_953))

ONE_CORE_LOAD = Load("wrk", 1000, 50, 30)
ONE_CORE_SCENARIO = Scenario(
    "one-core", "1,000 connections, one core each, then all",
    "Go against Node, one core each, and Go again on all; the original went over a network, this is loopback",
    (Variant("one", "one core each: the server on one CPU, wrk on the others", ONE_CORE_LOAD,
             ("fastserve-w1", "go-1", "node-1"), body=BANG, placement=ONE_CORE, quick=True),
     Variant("all", "all cores", ONE_CORE_LOAD, ("fastserve-auto", "go"), body=BANG, quick=True)),
    historical=True)


def _ab(name: str, title: str, servers: tuple[str, ...], *, keep_alive: bool = False, placement: str = FREE) -> Variant:
    return Variant(name, title, Load("ab", 100, requests=100_000, keep_alive=keep_alive), servers, body=COMMA,
                   placement=placement, quick=True)


AB_ALL = ("fastserve-auto", "go", "node", "fasthttp", "nginx")
AB_SCENARIO = Scenario(
    "ab", "ab -c 100 -n 100000",
    "Go against Node with ab, a connection for each request",
    (_ab("one", "a connection a request, one core", ("fastserve-w1", "go-1", "node-1"), placement=ONE_CORE),
     _ab("all", "a connection a request, all cores", AB_ALL),
     _ab("keep-alive", "ab -k, all cores", AB_ALL, keep_alive=True)),
    historical=True)


def _cluster(connections: int, opened: int) -> Variant:
    return Variant(f"c{connections}", f"wrk -t12 -c{connections} -d30s (wrk opens {opened})",
                   Load("wrk", connections, 12, 30),
                   ("fastserve-auto", "fastserve-w1", "go", "go-1", "node-1", "node-pm2"),
                   counts_connections=True)


CLUSTER_SCENARIO = Scenario(
    "cluster", "one process against a cluster of them",
    "Go against Node alone and under pm2 -i 0, with 400 and 1,000 connections",
    (_cluster(400, 396), _cluster(1000, 996)), historical=True)


def _json(name: str, title: str, connections: int, processes: int, servers: tuple[str, ...]) -> Variant:
    load = Load("ab", connections, requests=100_000, processes=processes, keep_alive=False)
    return Variant(name, title, load, servers,
                   path="/api/v3/json", body=DOCUMENT, same="json", quick=True)


JSON_SERVERS = ("fastserve-auto", "nginx-lua", "go", "martini")
JSON_SCENARIO = Scenario(
    "json-api", "GET /api/v3/json, serialized for each request",
    "nginx with lua against CherryPy, Go and martini, ab at four concurrencies",
    (_json("c1", "ab -n 100000 -c 1", 1, 1, (*JSON_SERVERS, "cherrypy")),
     _json("c10", "ab -n 100000 -c 10", 10, 1, (*JSON_SERVERS, "cherrypy")),
     _json("5xc10", "5 at once of ab -n 100000 -c 10", 10, 5, JSON_SERVERS),
     _json("5xc20", "5 at once of ab -n 100000 -c 20", 20, 5, JSON_SERVERS)),
    historical=True)

MYSQL_SERVERS = ("fastserve-mysql", "go-mysql", "nginx-mysql", "martini-mysql")
MYSQL_LOADS = (("c1", 1, 1), ("c10", 10, 1), ("5xc20", 20, 5))
MYSQL_SCENARIO = Scenario(
    "mysql", "the first 10 rows of a table",
    "the same servers, each with its client of MySQL, on tables of three sizes; here ab -n 10000 each, on MariaDB",
    tuple(Variant(f"{rows}-{name}", f"{rows:,} rows, " + (f"ab -c {connections}" if processes == 1 else
                                                         f"{processes} at once of ab -c {connections}"),
                  Load("ab", connections, requests=10_000, processes=processes, keep_alive=False, rate_expected=7_000),
                  (*MYSQL_SERVERS, "cherrypy-mysql") if processes == 1 else MYSQL_SERVERS,
                  path=f"/items/{rows}", body=None)
          for rows in (1_000, 100_000, 1_000_000) for name, connections, processes in MYSQL_LOADS),
    historical=True, services=("mariadb",))

TCP_SCENARIO = Scenario(
    "tcp", "4,096-byte packets from server to client",
    "a raw TCP source in C++, Go and Python, and one C++ client built -O0 for all",
    (Variant("packets", "one connection, one client built -O0", Load("tcp", 1, 1, 5), body=None, figure="mb_per_second",
             unit="MB/s", servers=("tcp-fastserve", "tcp-fastserve-batch", "tcp-cpp-o0", "tcp-cpp-o2", "tcp-go-1",
                                   "tcp-python")),),
    historical=True)

VERSIONS_SCENARIO = Scenario(
    "versions", "old against new",
    "does a newer release of a server serve more than an old one",
    (Variant("node", "Node 0.10.3, 6.9.5 and this one, a process each", Load("wrk", 100, 2, 3),
             ("node-0.10.3", "node-6.9.5", "node-1")),
     Variant("fastserve", "another build of fastserve, and this one", Load("wrk", 100, 2, 3),
             ("fastserve-old", "fastserve-auto"))))

FOOTPRINT_LOAD = Load("footprint", 10_000)
FOOTPRINT_SCENARIO = Scenario(
    "footprint", "what a server weighs",
    "size on disk, memory at rest, memory an idle connection, and memory after all have left",
    (Variant("idle", "10,000 idle connections, after one request each", FOOTPRINT_LOAD, ALL,
             figure="bytes_a_connection", unit="bytes a connection", higher_is_better=False),
     Variant("start", "resident after the start and one request", FOOTPRINT_LOAD, ALL, figure="start_kib",
             unit="KiB", higher_is_better=False, with_variant="idle"),
     Variant("after", "resident 3 s after 10,000 connections have left", FOOTPRINT_LOAD, ALL, figure="after_kib",
             unit="KiB", higher_is_better=False, with_variant="idle"),
     Variant("size", "the program, stripped; libraries by ldd", Load("size"), ALL, figure="stripped_kib", unit="KiB",
             higher_is_better=False)))

PLACEMENT_SERVERS = ("fastserve-auto", "fastserve-bpf", "fastserve-least-loaded", "fastserve-round-robin", "limit",
                     "fasthttp", "fasthttp-per-cpu", "nginx")
PLACEMENT_SCENARIO = Scenario(
    "placement", "which worker gets a connection",
    "hello world at each placement, with the generator on the server's CPUs and on others; fasthttp also as its README "
    "advises, one process with GOMAXPROCS=1 a CPU",
    (Variant("shared", "server and generator on all CPUs", Load("wrk", 100, 2, 3), PLACEMENT_SERVERS),
     Variant("disjoint", "server and generator on CPUs of their own", Load("wrk", 100, 2, 3), PLACEMENT_SERVERS,
             placement=DISJOINT)))

PIPELINE_SCENARIO = Scenario(
    "pipeline", "16 requests at once", "hello world, 16 pipelined on each of 100 connections",
    (Variant("wrk-head", "wrk's own head", Load("wrk", 100, 2, 3, pipeline=16), ALL, quick=True),
     Variant("browser-head", "a browser's head", Load("wrk", 100, 2, 3, pipeline=16, head="browser"), ALL, quick=True)))

CHURN_SCENARIO = Scenario(
    "churn", "connections that do not stay", "hello world, 100 connections at a time that are closed again",
    (Variant("close", "Connection: close with each request", Load("wrk", 100, 2, 3, requests_per_connection=1), ALL,
             quick=True),
     Variant("ten", "10 requests a connection", Load("wrk", 100, 2, 3, requests_per_connection=10), ALL, quick=True)))

UPLOAD_SCENARIO = Scenario(
    "upload", "20 MiB bodies, counted by the handler", "32 connections that send bodies of 20 MiB",
    (Variant("c32", "h2load --h1 -c32 -n160, 20 MiB each",
             Load("h2load", 32, 2, 3, requests=160, upload_mib=UPLOAD_MIB),
             ("fastserve-body", "recv-loop", "go", "fasthttp-streaming"), path="/upload", body=str(UPLOAD_MIB << 20),
             figure="mb_per_second", unit="MB/s"),))

LATENCY_SERVERS = ("fastserve-auto", "fasthttp", "nginx", "h2o", "limit")
LATENCY_SCENARIO = Scenario(
    "latency", "latency at a rate that does not depend on the answers",
    "an open loop, latency from the moment a request was due, at shares of nginx's saturation; the generator has CPUs of "
    "its own, or its delays would be measured",
    tuple(Variant(f"{percent}", f"at {percent} % of nginx's saturation",
                  Load("fastserve-load", 100, 2, 3, share=percent / 100), LATENCY_SERVERS, figure="p99_ms",
                  unit="ms p99", higher_is_better=False, placement=DISJOINT, quick=percent == 50)
          for percent in (10, 25, 50, 75, 90))
    + tuple(Variant(f"cpu-{rate // 1000}k", f"CPU a request at {rate:,} requests/s",
                    Load("fastserve-load", 100, 2, 3, rate=rate), LATENCY_SERVERS, figure="server_cpu_us",
                    unit="CPU us a request", higher_is_better=False)
            for rate in (10_000, 50_000)))

# The quick set first, then the order of the table; --quick takes the variants marked so.
SCENARIOS = (HELLO_SCENARIO, ONE_CORE_SCENARIO, AB_SCENARIO, CLUSTER_SCENARIO, JSON_SCENARIO, MYSQL_SCENARIO,
             TCP_SCENARIO, VERSIONS_SCENARIO, FOOTPRINT_SCENARIO, PLACEMENT_SCENARIO, PIPELINE_SCENARIO, CHURN_SCENARIO,
             UPLOAD_SCENARIO, LATENCY_SCENARIO)
