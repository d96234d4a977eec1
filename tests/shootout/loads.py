"""Loads a running server as a variant says, with the generator that it names."""

from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Callable

import peers
import plan
import processes
import tools
from contenders import Contender, placement_of
from scenarios import Load, Variant
from workshop import Absent, Workshop

SLOW_BELOW, SLOW_SECONDS = 5_000, 10  # requests/s; a peer below it gets a count of so many seconds
WARM_UP_SECONDS, WARM_UP_COUNT = 0.3, 50
PACKAGES = {"wrk": ("wrk",), "ab": ("apache2-utils",), "h2load": ("nghttp2-client",)}


class Loads:
    def __init__(self, shop: Workshop, quick: bool):
        self.shop, self.quick = shop, quick

    def have(self, tool: str) -> None:
        """Installs and builds the generator, or raises Absent."""
        self.shop.need(*PACKAGES.get(tool, ()))
        if tool == "fastserve-load":
            self.shop.cmake("shootout_load")
        if tool == "tcp":
            self.shop.compile("tcp_client.cpp", "tcp_client", "-O0")

    def run(self, variant: Variant, contender: Contender, seconds: float | None = None,
            during: Callable[[list[processes.Process]], None] | None = None) -> tools.Result:
        """Once; for the time that the variant says unless another is given. Raises BadOutput or Failed."""
        load = variant.load
        seconds = plan.run_seconds(load, self.quick) if seconds is None else seconds
        url = f"http://127.0.0.1:{contender.port}{contender.path(variant)}"
        command = self._command(variant, url, seconds, contender.count, contender.port)
        _, load_cpus = placement_of(variant, processes.cpus())
        return tools.run(load.tool, [command] * load.processes, load_cpus, load.threads, 60 + 20 * seconds, during)

    def warm_up(self, variant: Variant, contender: Contender) -> None:
        """What the first requests cost is not what the others cost. Of ab's, it also tells how many are how long."""
        try:
            if variant.load.tool == "ab":
                self._choose_count(variant, contender)
            else:
                contender.count = variant.load.connections
                self.run(variant, contender, WARM_UP_SECONDS)
                contender.count = variant.load.requests
        except (tools.BadOutput, processes.Failed) as error:
            contender.throw_out(f"thrown out: {error}")

    def _choose_count(self, variant: Variant, contender: Contender) -> None:
        load = variant.load
        contender.count = max(load.connections, WARM_UP_COUNT)
        rate = self.run(variant, contender, WARM_UP_SECONDS).rate
        if rate * WARM_UP_SECONDS > 2 * contender.count * load.processes:  # too short to go by
            contender.count = int(rate * WARM_UP_SECONDS / load.processes)
            rate = self.run(variant, contender, WARM_UP_SECONDS).rate
        seconds = plan.QUICK_SECONDS if self.quick else SLOW_SECONDS
        contender.count = load.requests
        if self.quick or rate < SLOW_BELOW:
            few = max(load.connections, int(rate * seconds / load.processes))
            contender.count = min(load.requests, few)
        if contender.count < load.requests and not self.quick:
            contender.row["note"] = (f"under {SLOW_BELOW:,} requests/s: {SLOW_SECONDS} s of requests "
                                     f"(-n {contender.count}) in place of {load.requests:,}")

    def saturation(self, variant: Variant) -> float:
        """The requests/s that nginx can do on the variant's connections, without a rate; 0 if it cannot be had."""
        closed = replace(variant, load=Load("wrk", variant.load.connections, variant.load.threads))
        nginx = Contender({"absent": None}, peers.SERVERS["nginx"])
        nginx.have(self.shop)
        if not nginx.takes_part:
            return 0.0
        try:
            self.have("wrk")
            nginx.process, nginx.port = nginx.launch(self.shop, closed)
            return round(median(self.run(closed, nginx, 1 if self.quick else 3).rate for _ in range(3)), 1)
        except (Absent, processes.Failed, tools.BadOutput):
            return 0.0
        finally:
            nginx.stop()

    def shown(self, variant: Variant) -> str:
        """The command as the record has it."""
        load = variant.load
        if load.tool == "footprint":
            return f"{load.connections} connections, one request each, then idle"
        if load.tool == "size":
            return "strip; ldd"
        command = self._command(variant, f"http://127.0.0.1:PORT{variant.path}", plan.run_seconds(load, self.quick),
                                load.requests, "PORT")
        words = " ".join(self.shop.shown(command))
        if self.quick and load.tool == "ab":
            words = words.replace(f"-n {load.requests}", "-n (so many as take 1 s)")
        return words if load.processes == 1 else f"{load.processes} at once of {words}"

    def _command(self, variant: Variant, url: str, seconds: float, count: int, port: int | str) -> list[str]:
        load = variant.load
        if load.tool == "wrk":
            return tools.wrk_command(load, url, seconds)
        if load.tool == "ab":
            return tools.ab_command(load, url, count)
        if load.tool == "h2load":
            return tools.h2load_command(load, url, count, self._upload_file(load))
        if load.tool == "fastserve-load":
            return tools.fastserve_load_command(self.shop.build / "bin" / "fastserve-load", load, url, seconds,
                                                variant.body or "")
        return [str(self.shop.bin / "tcp_client"), str(port), f"{seconds:g}"]

    def _upload_file(self, load: Load) -> Path:
        path = self.shop.run / f"upload-{load.upload_mib}-mib"
        if not path.exists() or path.stat().st_size != load.upload_mib << 20:
            path.write_bytes(b"x" * (load.upload_mib << 20))
        return path
