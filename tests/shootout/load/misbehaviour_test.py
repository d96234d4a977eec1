#!/usr/bin/env python3
"""fastserve-load against servers that misbehave in a known way: what it says of them must be just that.

The runs of a class are started together, for they wait much more than they work.
"""

import signal
import socket
import subprocess
import time
import unittest

import fake
from fake import Fake, GOOD
from generator import LOAD, Run


def answer(status: str = "200 OK", body: bytes = b"hello", length: int | None = None) -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body) if length is None else length}\r\n\r\n".encode() + body


class Together(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fakes, cls.runs = {}, {}
        for name, (server, arguments) in cls.scenarios().items():
            cls.addClassCleanup(server.stop)
            cls.fakes[name] = server
            expected = "" if "--expect" in arguments else " --expect-body hello"
            cls.runs[name] = Run(*(arguments + expected).split(), server.url)
            cls.addClassCleanup(cls.runs[name].kill)
        cls.started()

    @classmethod
    def scenarios(cls) -> dict[str, tuple[Fake, str]]:
        """The server and the arguments of each run."""
        raise NotImplementedError

    @classmethod
    def started(cls):
        """For what is to happen to the runs meanwhile."""

    def report(self, name: str, status: int = 0) -> dict:
        return self.runs[name].report(status)

    def assert_errors(self, report: dict, **wanted: int):
        self.assertEqual({kind: n for kind, n in report["errors"].items() if n}, wanted, report)
        self.assertEqual(report["errors_total"], sum(wanted.values()))


class Latency(Together):
    @classmethod
    def scenarios(cls):
        return {
            "delay": (Fake(fake.delays(0.05)), "-c 8 -r 80 -d 500ms"),
            "stall": (Fake(fake.stalls_once(0.2, 0.2)), "-c 4 -r 500 -d 700ms"),
            "poisson stall": (Fake(fake.stalls_once(0.2, 0.2)), "-c 4 -t 2 -r 500 --poisson -d 700ms"),
            "closed stall": (Fake(fake.stalls_once(0.2, 0.2)), "-c 4 -d 700ms"),
            "overload": (Fake(fake.delays(0.4)), "-c 1 -r 100 -d 300ms"),
            "stopped": (Fake(), "-c 4 -r 200 -d 700ms"),
        }

    @classmethod
    def started(cls):
        # 0.3 s in which not the server but the generator does nothing.
        server = cls.fakes["stopped"]
        while server.requests < 20 and cls.runs["stopped"].process.poll() is None:
            time.sleep(0.005)
        cls.runs["stopped"].send(signal.SIGSTOP)
        time.sleep(0.3)
        cls.runs["stopped"].send(signal.SIGCONT)

    def test_a_delay_is_in_every_quantile(self):
        report = self.report("delay")
        self.assertEqual(report["requests"] + report["unsent"], 40)
        for quantile in ("p50_us", "p90_us", "p99_us", "p999_us", "max_us", "mean_us"):
            self.assertGreaterEqual(report[quantile], 50e3 * (1 - 1 / 256))
        self.assertLess(report["p50_us"], 150e3 + report["lateness_max_us"])

    def test_a_stall_is_charged_for_all_who_would_have_come(self):
        # Two of seven requests are due within the stall of 0.2 s, at all distances from its end.
        for name in ("stall", "poisson stall"):
            with self.subTest(name):
                report = self.report(name)
                self.assertEqual(report["requests"], self.fakes[name].requests, report)
                due = report["requests"] + report["unsent"]
                self.assertAlmostEqual(due, 350, delta=0 if name == "stall" else 100)  # 5 standard deviations
                self.assertGreater(report["p90_us"], 100e3)
                self.assertGreater(report["p99_us"], 160e3)
                self.assertGreater(report["max_us"], 180e3)
                self.assert_errors(report)

    def test_a_closed_loop_sees_a_stall_once_a_connection(self):
        report = self.report("closed stall")
        self.assertGreater(report["max_us"], 190e3)
        self.assertLess(report["p90_us"], 100e3)  # which is why rates are what is compared
        self.assertIsNone(report["rate_wanted"])
        self.assertIsNone(report["lateness_max_us"])

    def test_what_waits_for_a_connection_grows_old(self):
        # The first takes 0.4 s, and 29 more are due in the first 0.3 s of them.
        report = self.report("overload")
        self.assertEqual((report["requests"], report["unsent"], report["rate_achieved"]), (1, 29, 0))
        self.assertEqual(self.fakes["overload"].requests, 1)
        self.assertGreater(report["max_us"], 399e3)
        self.assertAlmostEqual(report["p50_us"], report["max_us"] - 145e3, delta=15e3)
        self.assertEqual((report["rate_wanted"], report["errors_total"]), (100, 0))

    def test_a_generator_that_was_late_says_so(self):
        report = self.report("stopped")
        self.assertGreater(report["lateness_max_us"], 250e3)
        self.assertTrue(report["generator_was_limit"])
        self.assertEqual(report["requests"] + report["unsent"], 140)


class Answers(Together):
    @classmethod
    def scenarios(cls):
        return {
            "right": (Fake(at_once=False), "-c 3 -t 2 -n 300"),
            "pipelined": (Fake(at_once=False), "-c 2 -p 8 -n 200"),
            "body": (Fake(fake.every(3, answer(body=b"hellO"))), "-c 2 -n 30"),
            "length": (Fake(fake.every(3, answer(body=b"hello!"))), "-c 2 -n 30"),
            "status": (Fake(fake.every(5, answer("500 No"))), "-c 2 -n 30"),
            "malformed": (Fake(fake.every(5, b"hello\r\n")), "-c 1 -n 20"),
            "unasked": (Fake(lambda self, number: GOOD + (GOOD if number == 4 else b"")), "-c 1 -n 10"),
            "cut": (Fake(fake.every(5, b"")), "-c 2 -n 20"),
            "silent": (Fake(fake.every(10, None)), "-c 2 -n 10 --timeout 1s"),
            "close": (Fake(), "-c 4 -n 20 --close --sources 4"),
            "some": (Fake(), "-c 2 -n 20 -p 3 --per-connection 4"),
            "warm": (Fake(), "-c 2 -r 200 -w 200ms -d 300ms"),
            "slow": (Fake(lambda self, number: answer(body=b"hello" * 10000)),
                     "-c 1 -n 1 --read-rate 200k --expect-length 50000"),
            "interrupted": (Fake(), "-c 2 -r 100 -d 60s"),
        }

    @classmethod
    def started(cls):
        while cls.fakes["interrupted"].requests < 10 and cls.runs["interrupted"].process.poll() is None:
            time.sleep(0.005)
        cls.runs["interrupted"].send(signal.SIGINT)

    def test_right_answers(self):
        for name, count in (("right", 300), ("pipelined", 200)):
            report = self.report(name)
            self.assert_errors(report)
            self.assertEqual((report["requests"], self.fakes[name].requests), (count, count))
            self.assertEqual(report["bytes_in"], count * len(GOOD))
            self.assertEqual(report["connects"], report["connections"])
            self.assertIsNone(report["first_wrong_answer"])

    def test_wrong_answers(self):
        for name, wrong, first in (("body", 10, "another body (status 200)"),
                                   ("length", 10, "another body (status 200)"),
                                   ("status", 6, "another status (status 500)")):
            with self.subTest(name):
                report = self.report(name, 1)
                self.assert_errors(report, wrong_answer=wrong)
                self.assertEqual((report["requests"], report["connects"]), (30 - wrong, 2))
                self.assertEqual(report["first_wrong_answer"], first)

    def test_what_is_no_answer_ends_the_connection(self):
        report = self.report("malformed", 1)
        self.assert_errors(report, wrong_answer=4)
        self.assertEqual(report["requests"], 16)
        self.assertEqual(report["first_wrong_answer"], "no status line")
        report = self.report("unasked", 1)
        self.assertEqual(report["errors"]["wrong_answer"], 1, report)

    def test_connections_that_are_cut_or_say_nothing(self):
        report = self.report("cut", 1)
        self.assert_errors(report, early_close=4)
        self.assertEqual(report["requests"], 16)
        report = self.report("silent", 1)
        self.assert_errors(report, timeout=1)
        self.assertEqual(report["requests"], 9)
        self.assertGreaterEqual(report["max_us"], 999e3)

    def test_connections_that_are_replaced(self):
        report, server = self.report("close"), self.fakes["close"]
        self.assert_errors(report)
        # One more, which showed that there is a server, at most.
        self.assertIn(len(server.peers), (20, 21))
        self.assertEqual(set(server.peers), {f"127.0.0.{i}" for i in range(1, 5)})
        self.assertEqual((report["requests"], report["per_connection"]), (20, 1))
        report, server = self.report("some"), self.fakes["some"]
        self.assert_errors(report)
        self.assertEqual(report["requests"], 20)
        self.assertIn(len(server.peers), (5, 6, 7))

    def test_a_warm_up_is_not_measured(self):
        report = self.report("warm")
        self.assertEqual(report["requests"] + report["unsent"], 60)
        self.assertEqual(report["warmup_requests"] + report["requests"], self.fakes["warm"].requests)
        self.assertGreater(report["warmup_requests"], 0)
        self.assertAlmostEqual(report["seconds"], 0.3, 6)

    def test_a_slow_reader(self):
        report = self.report("slow")
        self.assertEqual(report["requests"], 1)
        self.assertGreater(report["seconds"], 0.2)  # 50,000 bytes at 204,800 a second

    def test_an_interrupted_run_prints_what_it_has(self):
        report = self.report("interrupted")
        self.assertTrue(report["interrupted"])
        self.assertGreaterEqual(report["requests"], 9)
        self.assertLess(report["seconds"], 30)


class CommandLine(unittest.TestCase):
    def ends(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([LOAD, *arguments], capture_output=True, text=True, timeout=30)

    def test_mistakes_are_one_line_and_status_2(self):
        url = "http://127.0.0.1:1/"
        for arguments, said in (
            ([], "which URL?"),
            (["http://192.168.0.1/"], "only loopback"),
            (["http://example.com/"], "must be an address"),
            ([url, url], "a second URL"),
            ([url, "--rat", "1"], "unknown option --rat"),
            ([url, "-q"], "unknown option -q"),
            ([url, "-c"], "--connections needs a value"),
            ([url, "-c", "0"], "--connections takes 1 to"),
            ([url, "-c1x"], "--connections takes"),
            ([url, "-n", "1.5"], "--requests takes"),
            ([url, "--rate=-5"], "--rate takes"),
            ([url, "-d", "soon"], "--duration takes a time"),
            ([url, "-t", "8", "-c", "4"], "a connection for each thread"),
            ([url, "--close=1"], "takes no value"),
            ([url, "--poisson"], "--poisson needs a --rate"),
            ([url, "-H", "no"], "--header takes 'Name: value'"),
            ([url, "-r", "1e7", "-d", "1000"], "more than 1e9 requests"),
            (["http://[::1]/", "--sources", "2"], "--sources"),
            ([url + "a" * 200, "--browser"], "no room"),
            ([url, "--expect-file", "/no/such"], "cannot be read"),
            ([url, "--expect-body", "a", "--expect-length", "2"], "--expect-length is not that"),
            ([url, "-c", "1000000", "-p", "1024"], "--pipeline"),
        ):
            with self.subTest(arguments):
                done = self.ends(*arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertRegex(done.stderr, r"\Afastserve-load: error: [^\n]+\n\Z")
                self.assertIn(said, done.stderr)

    def test_help_explains_every_key(self):
        said = self.ends("--help").stdout
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        report = Run("-c", "3", f"http://127.0.0.1:{port}/").report(1)  # nobody listens there any more
        for key in report:
            self.assertIn(key, said)
        self.assertEqual((report["errors"]["connect"], report["connects"], report["requests"]), (3, 0, 0))
        self.assertEqual((report["p50_us"], report["seconds"]), (None, 0))


if __name__ == "__main__":
    unittest.main()
