#!/usr/bin/env python3
"""fastserve-load, wrk, h2load and the server itself on the same load: they must agree.

The machine may be busy, so rates are compared roughly, in rounds of one after the other, and disagree only if they do
in every round. Counts are exact.
"""

import re
import subprocess
import unittest

from generator import Run
from harness import ProgramTest, eventually

CONNECTIONS = 20


def run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def found(pattern: str, text: str) -> float:
    match = re.search(pattern, text)
    if not match:
        raise AssertionError(f"no {pattern!r} in\n{text}")
    return float(match.group(1))


class Agreement(ProgramTest):
    def setUp(self):
        self.program = self.serve("--workers", "1", "--admin", "127.0.0.1:0")
        self.url = self.program.urls()[0] + "/"
        self.admin = self.connect(self.program.admin_port())

    def stats(self) -> str:
        """What the server says once it has noticed that all clients are gone; before that nothing."""
        said = self.admin.get("/stats").body.decode()
        return said if said.startswith("connections 0\n") else ""

    def counted(self, name: str = "requests") -> int:
        return int(found(rf"(?m)^{name} (\d+)$", eventually(self.stats, "no connection is left")))

    def load(self, *arguments: str) -> dict:
        """A run, all of whose answers are right, and as many as the server counted.

        On a busy machine a few of an open loop's requests may be left at the end.
        """
        before = self.counted()
        report = Run(*arguments, "--expect-body", "hello world", self.url).report()
        self.assertEqual(report["errors_total"] + report["unfinished"], 0, report)
        self.assertEqual(report["requests"] + report["warmup_requests"], self.counted() - before, report)
        return report

    def test_a_closed_loop(self):
        ratios = []
        for _ in range(3):
            before = self.counted()
            said = run("wrk", "-t1", f"-c{CONNECTIONS}", "-d1s", self.url)
            total = found(r"(\d+) requests in", said)
            # wrk does not wait for the last answers.
            self.assertTrue(total <= self.counted() - before <= total + CONNECTIONS, said)
            theirs = found(r"Requests/sec:\s+([\d.]+)", said)
            report = self.load("-c", str(CONNECTIONS), "-w", "50ms", "-d", "200ms")
            self.assertGreater(report["warmup_requests"], 0)
            ratios.append(report["rate_achieved"] / theirs)
        self.assertTrue(min(ratios) < 2 and max(ratios) > 0.5, ratios)

    def test_a_fixed_rate(self):
        before = self.counted()
        said = run("h2load", "--h1", "-c4", "-n100", "--rps=100", self.url)
        self.assertIn("100 succeeded, 0 failed", said)
        self.assertEqual(self.counted() - before, 100)
        theirs = found(r"finished in [\d.]+m?s, ([\d.]+) req/s", said)
        report = self.load("-c", "4", "-r", "400", "-d", "250ms")
        self.assertEqual(report["requests"] + report["unsent"], 100)
        for rate in (theirs, report["rate_achieved"]):
            self.assertTrue(40 < rate < 800, (theirs, report))  # of 400, on a machine that may be busy elsewhere

    def test_every_way_to_ask(self):
        self.load("-c", "4", "-t", "2", "-p", "16", "-n", "5000")
        self.load("-c", "4", "-n", "500", "--browser", "-H", "A: b")
        report = self.load("-c", "4", "-n", "300", "--per-connection", "10", "-p", "3", "--sources", "7")
        self.assertGreaterEqual(report["connects"], 30)
        accepted = self.counted("worker_0_accepted")
        report = self.load("-c", "4", "-n", "300", "--close")
        self.assertEqual(report["connects"], self.counted("worker_0_accepted") - accepted)

    def test_large_bodies(self):
        url = self.url + "echo"
        report = Run("-c", "2", "-n", "6", "-b", "1M", "--expect-length", "1M", url).report()
        self.assertEqual((report["requests"], report["errors_total"]), (6, 0))
        self.assertGreater(report["bytes_in"], 6 << 20)
        self.assertGreater(report["bytes_out"], 6 << 20)


if __name__ == "__main__":
    unittest.main()
