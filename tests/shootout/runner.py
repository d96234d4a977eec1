"""Runs a variant: its servers side by side, asked, warmed up, and loaded in turn, round after round."""

import time
from dataclasses import replace
from typing import Callable

import answers
import footprint
import machine
import mariadb
import peers
import plan
import processes
import record as records
import tools
from contenders import Contender, placement_of
from loads import Loads
from scenarios import Scenario, Variant
from workshop import Absent, Workshop, say

WRONG_ALLOWED = 0.001  # of the answers to a load: more throws a server out


def prepare(shop: Workshop, steps: list[plan.Step], progress: Callable[[str], None] = say) -> None:
    """Installs and builds for all steps, before the time is taken. What cannot be had is said now, and in its row."""
    for tool in dict.fromkeys(step.variant.load.tool for step in steps):
        try:
            Loads(shop, quick=False).have(tool)
        except Absent as why:
            progress(f"without {tool}: {why}")
    for server in dict.fromkeys(server for step in steps for server in step.variant.servers):
        try:
            peers.SERVERS[server].have(shop)
        except Absent as why:
            progress(f"without {server}: {why}")


class Runner:
    """`save` is called whenever the record is worth keeping. `progress` takes a line for whoever watches."""

    def __init__(self, shop: Workshop, record: dict, quick: bool, save: Callable[[], None],
                 progress: Callable[[str], None] = say):
        self.shop, self.record, self.quick, self.save, self.progress = shop, record, quick, save, progress
        self.loads = Loads(shop, quick)
        self.database: mariadb.Database | None = None

    # --- Rows.

    def run(self, step: plan.Step) -> None:
        scenario, variant = step.scenario, step.variant
        told = self._variant(scenario, variant)
        if variant.with_variant:
            return
        records.cut_to_whole_rounds(told)
        first = records.rounds_done(told)
        if first >= step.rounds:
            return
        if self.database and "mariadb" not in scenario.services:
            self.stop_database()
        self._followers(scenario, variant, first)
        if variant.load.share:
            variant = self._with_rate(scenario, variant, told)
        contenders = [Contender(row, peers.SERVERS[row["server"]]) for row in told["rows"]]
        try:
            self._get_ready(scenario, variant, contenders, first)
            self.save()
            for number in range(first, step.rounds):
                taking_part = [contender for contender in contenders if contender.takes_part]
                turn = number % max(1, len(taking_part))
                for contender in taking_part[turn:] + taking_part[:turn]:
                    self._run_once(scenario, variant, contender, number)
                self._say_round(scenario, variant, contenders, number, step.rounds)
                self.save()
        finally:
            for contender in contenders:
                contender.stop()

    def _variant(self, scenario: Scenario, variant: Variant) -> dict:
        """The variant's place in the record, as far as it is there."""
        told = records.part(self.record["scenarios"], "name", scenario.name, lambda: {
            "name": scenario.name, "title": scenario.title, "origin": scenario.origin,
            "historical": scenario.historical,
            "then": {"text": scenario.then.text, "server": scenario.then.server, "value": scenario.then.value,
                     "unit": scenario.then.unit} if scenario.then else None,
            "command": f"script/shootout {scenario.name}", "variants": []})
        server_cpus, load_cpus = placement_of(variant, processes.cpus())
        return records.part(told["variants"], "id", variant.id, lambda: {
            "id": variant.id, "title": variant.title, "unit": variant.unit,
            "higher_is_better": variant.higher_is_better, "load": self.loads.shown(variant), "placement": {
                "server_cpus": ",".join(map(str, server_cpus)), "load_cpus": ",".join(map(str, load_cpus))},
            "point": {"rate": variant.load.rate, "share_of_nginx": None} if variant.load.rate else None,
            "rows": [{"server": server, "absent": None, "answer": None, "note": "", "rounds": []}
                     for server in variant.servers]})

    def _followers(self, scenario: Scenario, variant: Variant, rounds: int) -> None:
        """Variants that are measured together with this one begin where it begins."""
        for other in scenario.variants:
            if other.with_variant == variant.id:
                for row in self._variant(scenario, other)["rows"]:
                    del row["rounds"][rounds:]

    # --- Getting ready.

    def _get_ready(self, scenario: Scenario, variant: Variant, contenders: list[Contender], first: int) -> None:
        """Installs, builds, starts, asks and warms up. Whoever was left out of earlier rounds stays out."""
        try:
            self.loads.have(variant.load.tool)
            if "mariadb" in scenario.services:
                self._start_database()
            if variant.load.share and not variant.load.rate:
                raise Absent("nginx's saturation is not known")
        except Absent as why:
            for contender in contenders:
                contender.throw_out(str(why))
        else:
            for contender in contenders:
                if not first or contender.takes_part:
                    contender.have(self.shop)
        for contender in contenders:
            contender.describe(self.record["servers"], self.shop, variant, self.database)
        if variant.load.tool in ("footprint", "size"):
            self._tell_followers(scenario, variant, contenders)
            return
        for contender in contenders:
            if contender.takes_part:
                contender.start(self.shop, variant, self.database)
        self._verify(variant, contenders)
        for contender in contenders:
            if contender.takes_part:
                self.loads.warm_up(variant, contender)

    def _start_database(self) -> None:
        if self.database is None:
            database = mariadb.Database(self.shop)
            database.start()
            self.database = database

    def stop_database(self) -> None:
        if self.database:
            self.database.stop()
            self.database = None

    def _verify(self, variant: Variant, contenders: list[Contender]) -> None:
        """All rows answer 200 with what is expected, else the row is out."""
        if variant.load.tool == "tcp":
            return
        expected = variant.body.encode() if variant.body is not None else None
        if expected is None and self.database:
            expected = self.database.body.encode()
        for contender in contenders:
            if not contender.takes_part:
                continue
            try:
                answer = answers.ask(contender.port, contender.path(variant), upload=variant.load.upload_mib << 20)
            except answers.NoAnswer as why:
                contender.throw_out(f"thrown out: {why}")
                continue
            if expected is None:
                expected = answer.body
            if why := self._judge(variant, contender, answer, expected):
                contender.throw_out(f"thrown out: {why}")

    def _judge(self, variant: Variant, contender: Contender, answer: answers.Answer, expected: bytes) -> str | None:
        """Notes what a server answered; why it is thrown out for that."""
        contender.row["answer"] = answer.recorded(variant.same)
        described = self.record["servers"][contender.server.id]
        if described["response_bytes"] is None:
            described["response_bytes"], described["fields"] = answer.response_bytes, list(answer.fields)
        return answers.fault(answer, expected, variant.same)

    # --- Loads.

    def _with_rate(self, scenario: Scenario, variant: Variant, told: dict) -> Variant:
        """The rate of an open loop that is a share of what nginx can do, which is measured once a run."""
        place = next(found for found in self.record["scenarios"] if found["name"] == scenario.name)
        if not place.get("saturation_of_nginx"):
            place["saturation_of_nginx"] = self.loads.saturation(variant)
        rate = int(variant.load.share * place["saturation_of_nginx"])
        told["point"] = {"rate": rate, "share_of_nginx": variant.load.share}
        variant = replace(variant, load=replace(variant.load, rate=rate))
        told["load"] = self.loads.shown(variant)
        return variant

    # --- Rounds.

    def _run_once(self, scenario: Scenario, variant: Variant, contender: Contender, number: int) -> None:
        try:
            if variant.load.tool == "footprint":
                self._weigh(scenario, variant, contender)
            elif variant.load.tool == "size":
                contender.row["rounds"].append(footprint.size(contender.server.program(self.shop)))
            else:
                contender.row["rounds"].append(self._measure(variant, contender))
        except (tools.BadOutput, processes.Failed, answers.NoAnswer, OSError) as error:
            why = f"it died{contender.process.last_words()}" if contender.died() else str(error)
            contender.throw_out(f"in round {number + 1}: {why}")
            self._tell_followers(scenario, variant, [contender])

    def _follower_rows(self, scenario: Scenario, variant: Variant, server: str):
        """The rows of one server in the variants that are measured together with this one, and their figures."""
        for other in scenario.variants:
            if other.with_variant == variant.id:
                for row in self._variant(scenario, other)["rows"]:
                    if row["server"] == server:
                        yield row, other.figure

    def _tell_followers(self, scenario: Scenario, variant: Variant, contenders: list[Contender]) -> None:
        for contender in contenders:
            for row, _ in self._follower_rows(scenario, variant, contender.server.id):
                row["absent"] = contender.row["absent"]

    def _weigh(self, scenario: Scenario, variant: Variant, contender: Contender) -> None:
        def judge(answer: answers.Answer) -> None:
            if why := self._judge(variant, contender, answer, variant.body.encode()):
                raise answers.NoAnswer(why)

        weighed = footprint.weigh(lambda: contender.launch(self.shop, variant), variant.load.connections,
                                  contender.path(variant), judge)
        contender.row["rounds"].append({**weighed, "value": weighed["extra"][variant.figure]})
        for row, figure in self._follower_rows(scenario, variant, contender.server.id):
            row["rounds"].append({**weighed, "value": weighed["extra"][figure]})

    def _measure(self, variant: Variant, contender: Contender) -> dict:
        seen: dict = {}

        def look(generators: list[processes.Process]) -> None:
            if not variant.load.seconds:
                return
            time.sleep(plan.run_seconds(variant.load, self.quick) / 2)
            seen["load_resident_kib"] = sum(generator.resident_kib() for generator in generators)
            if variant.counts_connections:
                seen["established_connections"] = machine.established(contender.port)

        process = contender.process
        database = self.database.process if self.database else None
        asked = database.cpu_us() if database else 0.0
        opened, times = machine.active_opens(), machine.Times.now()
        cpu, switches = process.cpu_us(), process.switches()
        result = self.loads.run(variant, contender, during=look)
        cpu, switches = process.cpu_us() - cpu, process.switches() - switches
        asked = database.cpu_us() - asked if database else 0.0
        opened = machine.active_opens() - opened
        if not process.alive():
            raise processes.Failed("the server died")
        machine.add_noise(self.record["machine"]["noise"], times, machine.Times.now(),
                          (cpu + asked) / 1e6 + result.user + result.system)
        if variant.counts_connections:
            seen["reconnects"] = max(0, opened - seen["established_connections"])
        if not result.requests:
            raise tools.BadOutput("not one request was answered")
        if result.wrong > WRONG_ALLOWED * result.requests:
            raise tools.BadOutput(f"thrown out: {result.wrong:,} of {result.requests:,} answers were wrong under load")
        if database:
            seen["database_cpu_us"] = _rounded(asked / result.requests)
        cpu_us = cpu / result.requests
        figures = {"rate": result.rate, "server_cpu_us": cpu_us, "p99_ms": result.p99_ms,
                   "mb_per_second": self._bytes(variant, result) / 1e6 / result.seconds}
        return {"value": _rounded(figures[variant.figure]), "server_cpu_us": _rounded(cpu_us),
                "p50_ms": _rounded(result.p50_ms), "p99_ms": _rounded(result.p99_ms),
                "p999_ms": _rounded(result.p999_ms), "max_ms": _rounded(result.max_ms), "errors": result.errors,
                "resident_kib": process.resident_kib(),
                "load_cpu_seconds": {"user": round(result.user, 3), "system": round(result.system, 3)},
                "load_was_limit": result.was_limit,
                "extra": {"requests": result.requests, "seconds": round(result.seconds, 4),
                          "server_cpu_share": round(cpu / 1e6 / result.seconds, 4),
                          "load_cpu_share": round((result.user + result.system) / result.seconds, 4),
                          "server_context_switches_per_second": round(switches / result.seconds, 1),
                          **result.extra, **seen}}

    @staticmethod
    def _bytes(variant: Variant, result: tools.Result) -> int:
        return result.extra.get("bytes", 0) or result.requests * (variant.load.upload_mib << 20)

    def _say_round(self, scenario: Scenario, variant: Variant, contenders: list[Contender], number: int,
                   of: int) -> None:
        words = []
        for contender in contenders:
            if contender.takes_part and contender.row["rounds"]:
                words.append(f"{contender.server.id} {_shown(contender.row['rounds'][-1]['value'])}")
            elif number == 0:
                words.append(f"{contender.server.id} absent ({contender.row['absent'][:80]})")
        self.progress(f"{scenario.name}/{variant.id} {number + 1}/{of} [{variant.unit}]: {', '.join(words)}")


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def _shown(value: float | None) -> str:
    return "?" if value is None else format(value, ",.4g" if value < 1000 else ",.0f")
