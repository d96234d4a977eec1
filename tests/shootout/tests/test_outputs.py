"""What the generators print, as they printed it once, and what is made of it."""

import unittest
from pathlib import Path

import tools
from scenarios import Load

OUTPUTS = Path(__file__).parent / "outputs"


def output(name: str) -> str:
    return (OUTPUTS / f"{name}.txt").read_text()


class Wrk(unittest.TestCase):
    def test_its_report_and_what_the_script_adds(self):
        text = output("wrk")
        result = tools.parse_wrk(text)
        self.assertIn(f"{result.requests} requests in", text)
        self.assertAlmostEqual(result.rate, float(text.split("Requests/sec:")[1].split()[0]), delta=0.01 * result.rate)
        self.assertEqual(result.errors, 0)
        self.assertTrue(0 < result.p50_ms < result.p99_ms < result.p999_ms < result.max_ms)
        self.assertGreater(result.extra["wrk_latency_avg_ms"], 0)
        self.assertGreater(result.extra["wrk_latency_stdev_ms"], 0)

    def test_errors_of_every_kind_are_added(self):
        result = tools.parse_wrk(output("wrk_errors"))
        self.assertEqual(result.extra["wrk_read_errors"], 602)
        self.assertEqual((result.errors, result.wrong), (602 + 15200, 15200))

    def test_percentiles_that_wrk_got_wrong_are_unknown_and_not_0(self):
        result = tools.parse_wrk(output("wrk_pipelined"))
        self.assertIsNone(result.p50_ms)
        self.assertIsNone(result.p99_ms)
        self.assertGreater(result.max_ms, 0)

    def test_without_the_script(self):
        result = tools.parse_wrk(output("wrk_plain"))
        self.assertEqual(result.requests, 34696)
        self.assertAlmostEqual(result.seconds, 1.06)
        self.assertAlmostEqual(result.max_ms, 73.42)
        self.assertIsNone(result.p999_ms)

    def test_what_is_no_report(self):
        with self.assertRaisesRegex(tools.BadOutput, "unable to connect"):
            tools.parse_wrk("unable to connect to 127.0.0.1:1 Connection refused")

    def test_commands(self):
        words = " ".join(tools.wrk_command(Load("wrk", 100, 4, pipeline=16), "URL", 20))
        self.assertTrue(words.startswith("wrk -t4 -c100 -d20s "))
        self.assertTrue(words.endswith("URL -- pipeline 16"))
        self.assertIn("Connection: close", tools.wrk_command(Load("wrk", 1, 1, requests_per_connection=1), "URL", 1))
        self.assertEqual(tools.wrk_command(Load("wrk", 1, 1, requests_per_connection=10), "URL", 1)[-3:],
                         ["--", "every", "10"])


class Ab(unittest.TestCase):
    def test_its_report(self):
        result = tools.parse_ab(output("ab"))
        self.assertEqual((result.requests, result.errors), (3000, 0))
        self.assertAlmostEqual(result.seconds, float(output("ab").split("Time taken for tests:")[1].split()[0]))
        self.assertTrue(0 < result.p50_ms < result.p99_ms)
        self.assertGreaterEqual(result.max_ms, 1)

    def test_failures_of_every_kind_are_added(self):
        result = tools.parse_ab(output("ab_failed"))
        self.assertEqual((result.errors, result.wrong), (444 + 4, 4))

    def test_several_at_once(self):
        one, other = tools.parse_ab(output("ab")), tools.parse_ab(output("ab"))
        other.seconds, other.p50_ms, other.p99_ms = 2.0, 9.0, None
        both = tools.add_up([one, other])
        self.assertEqual((both.requests, both.seconds, both.p50_ms, both.p99_ms), (6000, 2.0, 9.0, one.p99_ms))


class Others(unittest.TestCase):
    def test_h2load(self):
        result = tools.parse_h2load(output("h2load"))
        self.assertGreater(result.requests, 0)
        self.assertAlmostEqual(result.seconds, 1.0, delta=0.5)
        self.assertEqual(result.errors, 0)
        self.assertGreater(result.max_ms, result.extra["h2load_mean_ms"])

    def test_fastserve_load(self):
        result = tools.parse_fastserve_load(output("fastserve_load"))
        self.assertEqual((result.errors, result.was_limit), (0, False))
        self.assertTrue(0 < result.p50_ms <= result.p99_ms <= result.p999_ms <= result.max_ms)
        self.assertAlmostEqual(result.rate, 5000, delta=500)
        with self.assertRaises(tools.BadOutput):
            tools.parse_fastserve_load('{"requests": 1}')

    def test_times(self):
        for text, milliseconds in {"583.19us": 0.58319, "1.21ms": 1.21, "2.00s": 2000, "1.50m": 90_000}.items():
            self.assertAlmostEqual(tools._ms(text), milliseconds)


if __name__ == "__main__":
    unittest.main()
