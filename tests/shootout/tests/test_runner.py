"""A whole variant with servers that are made up: a slow one, one that answers wrongly, one that is not there."""

import contextlib
import sys
import tempfile
import unittest
from pathlib import Path
from statistics import median
from unittest import mock

import loads
import machine
import peers
import plan
import processes
import runner
from scenarios import Load, Scenario, Variant
from workshop import Absent, Workshop

FAKE = Path(__file__).parent / "fake_server.py"
BODY = "made up"


def fake(identity: str, delay_ms: float, body: str = BODY, *more: str, have=lambda shop: None) -> peers.Server:
    return peers.Server(identity, "fake", identity, have,
                        lambda launch: [sys.executable, str(FAKE), str(launch.port), str(delay_ms), body, *more],
                        lambda shop: "1", lambda shop: FAKE, 1)


def refuse(shop: Workshop) -> None:
    raise Absent("it is not to be had")


SERVERS = {server.id: server for server in (
    fake("fast", 0), fake("slow", 10), fake("wrong", 0, "made down"), fake("absent", 0, have=refuse),
    fake("turncoat", 0, BODY, "1"),
    peers.Server("broken", "fake", "broken", lambda shop: None, lambda launch: ["bash", "-c", "echo too bad; exit 1"],
                 lambda shop: "1", lambda shop: FAKE, 1))}


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(processes.stop_all)
        self.record = {"format": 1, "machine": machine.describe(), "servers": {}, "scenarios": []}
        self.saved: list[list[int]] = []
        self.said: list[str] = []
        with contextlib.ExitStack() as stack:
            stack.enter_context(mock.patch.dict(peers.SERVERS, SERVERS))
            stack.enter_context(mock.patch.object(plan, "QUICK_SECONDS", 0.05))
            stack.enter_context(mock.patch.multiple(loads, WARM_UP_SECONDS=0.02, WARM_UP_COUNT=5, PACKAGES={}))
            self.addCleanup(stack.pop_all().close)
        self.runner = runner.Runner(Workshop(Path(folder.name)), self.record, True, self.save, self.said.append)

    def save(self) -> None:
        self.saved.append([len(row["rounds"]) for row in self.rows()])

    def rows(self) -> list[dict]:
        return self.record["scenarios"][0]["variants"][0]["rows"]

    def step(self, *servers: str, rounds: int = 3) -> plan.Step:
        variant = Variant("v", "a variant", Load("ab", 1, requests=400), servers, body=BODY, quick=True)
        return plan.Step(Scenario("s", "a scenario", "made up", (variant,)), variant, rounds, 1)

    def test_the_slow_one_comes_out_slower_and_the_wrong_one_is_thrown_out(self):
        order = []
        measure = self.runner._measure

        def watched(variant, contender):
            order.append(contender.server.id)
            return measure(variant, contender)

        with mock.patch.object(self.runner, "_measure", watched):
            self.runner.run(self.step("fast", "slow", "wrong", "absent", "broken"))
        fast, slow, wrong, absent, broken = self.rows()
        self.assertEqual((len(fast["rounds"]), len(slow["rounds"])), (3, 3))
        self.assertGreater(median(found["value"] for found in fast["rounds"]),
                           median(found["value"] for found in slow["rounds"]))
        for found in slow["rounds"]:
            self.assertGreater(found["p50_ms"], 9)
            self.assertGreater(found["server_cpu_us"], 0)
        self.assertEqual([wrong["rounds"], absent["rounds"], broken["rounds"]], [[], [], []])
        self.assertEqual(wrong["absent"], "thrown out: it answers b'made down', not b'made up'")
        self.assertEqual(absent["absent"], "it is not to be had")
        self.assertIn("too bad", broken["absent"])
        self.assertIsNone(fast["absent"])
        self.assertEqual(fast["answer"], slow["answer"])
        # Interleaved, and each round begins with another one.
        self.assertEqual(order, ["fast", "slow", "slow", "fast", "fast", "slow"])
        self.assertEqual(self.saved[-1], [3, 3, 0, 0, 0])
        self.assertIn([1, 1, 0, 0, 0], self.saved)
        self.assertEqual(self.record["servers"]["fast"]["fields"], ["Connection", "Content-Length"])
        self.assertEqual(self.record["servers"]["absent"]["absent"], "it is not to be had")
        self.assertTrue(any("slow" in line for line in self.said))

    def test_who_answers_wrongly_under_load_alone_is_thrown_out_too(self):
        self.runner.run(self.step("fast", "turncoat", rounds=1))
        fast, turncoat = self.rows()
        self.assertEqual((len(fast["rounds"]), turncoat["rounds"]), (1, []))
        self.assertIn("answers were wrong under load", turncoat["absent"])

    def test_an_unfinished_variant_is_gone_on_with(self):
        self.runner.run(self.step("fast", "slow", rounds=1))
        kept = [row["rounds"][0] for row in self.rows()]
        self.rows()[0]["rounds"].append({"value": 1.0})  # of a round that was not finished
        self.runner.run(self.step("fast", "slow", rounds=2))
        self.assertEqual([len(row["rounds"]) for row in self.rows()], [2, 2])
        self.assertEqual([row["rounds"][0] for row in self.rows()], kept)
        self.assertNotEqual(self.rows()[0]["rounds"][1]["value"], 1.0)

    def test_what_cannot_be_had_is_said_before_anything_runs(self):
        runner.prepare(self.runner.shop, [self.step("fast", "absent")], self.said.append)
        self.assertEqual(self.said, ["without absent: it is not to be had"])
        self.assertEqual(self.record["scenarios"], [])

    def test_a_record_names_no_folder_of_this_machine(self):
        with tempfile.TemporaryDirectory() as folder:
            root, old = Path(folder, "root"), Path(folder, "old", "fastserve").resolve()
            shop = Workshop(root)
            with mock.patch.dict("os.environ", {"SHOOTOUT_OLD": str(old), "SHOOTOUT_MARTINI": ""}):
                self.assertEqual(shop.shown([str(root / "bin" / "x"), f"--with={old}/y", "plain"]),
                                 ["bin/x", "--with=$SHOOTOUT_OLD/y", "plain"])

    def test_no_server_is_left_behind(self):
        self.runner.run(self.step("fast", "wrong", rounds=1))
        self.assertEqual(processes.children(processes.os.getpid()), [])


if __name__ == "__main__":
    unittest.main()
