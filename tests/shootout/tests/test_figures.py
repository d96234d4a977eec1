#!/usr/bin/env python3
"""Statistics, the tie rule, and what is said of a record."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import figures
import findings
import sample
import wording
from figures import Spread


def row(*values, server: str = "a", **fields) -> dict:
    return {"server": server, "rounds": [{"value": value, **fields} for value in values]}


def between(least: float, most: float, rounds: int) -> Spread:
    return Spread((least + most) / 2, least, most, rounds)


class Statistics(unittest.TestCase):
    def test_median_and_spread(self):
        self.assertEqual(figures.row_spread(row(3, 1, 2)), Spread(2, 1, 3, 3))
        self.assertEqual(figures.row_spread(row(4, 1, 2, 3)), Spread(2.5, 1, 4, 4))
        self.assertEqual(figures.row_spread(row(4, 1, 2, 3)).relative, 1.2)

    def test_what_is_missing_is_left_out_and_is_not_0(self):
        self.assertEqual(figures.row_spread(row(None, 5, None, 7)), Spread(6, 5, 7, 2))
        self.assertEqual(figures.row_spread(row(0, 5, 7)), Spread(5, 0, 7, 3))
        for nothing in (row(), row(None, None), {"server": "a"}, {"server": "a", "rounds": None}):
            self.assertIsNone(figures.row_spread(nothing))

    def test_what_is_no_number_is_missing(self):
        found = figures.figures(row(float("nan"), float("inf"), "12", True, {}, 1))
        self.assertEqual(found, [None, None, None, None, None, 1])
        self.assertEqual(figures.figures({"rounds": [None, {}]}), [None, None])

    def test_nested_figures(self):
        nested = row(1, load_cpu_seconds={"user": 1.5}, extra=None)
        self.assertEqual(figures.figures(nested, "load_cpu_seconds.user"), [1.5])
        self.assertEqual(figures.figures(nested, "load_cpu_seconds.system"), [None])
        self.assertEqual(figures.figures(nested, "extra.anything"), [None])

    def test_ratios_are_of_the_same_round(self):
        # The machine halves its speed in round 2 for both: the medians' ratio would be the same, the interval not.
        self.assertEqual(figures.ratio(row(200, 100, 210), row(100, 50, 100)), Spread(2, 2, 2.1, 3))

    def test_ratios_of_rows_with_unequal_rounds(self):
        self.assertEqual(figures.ratios(row(2, None, 6, 8), row(1, 1, 2)), [2, None, 3])
        self.assertEqual(figures.ratios(row(2, 4), row(1, None, 2)), [2, None])
        self.assertIsNone(figures.ratio(row(None, 1), row(1, None)))

    def test_there_is_no_ratio_to_0(self):
        self.assertEqual(figures.ratio(row(1, 0, 4), row(0, 2, 2)), Spread(1, 0, 2, 2))


class Verdict(unittest.TestCase):
    def test_5_rounds_on_one_side(self):
        self.assertEqual(figures.verdict(between(1.01, 2, 5)), "ahead")
        self.assertEqual(figures.verdict(between(0.5, 0.99, 7)), "behind")

    def test_3_and_4_rounds_are_a_hint(self):
        for rounds in (3, 4):
            self.assertEqual(figures.verdict(between(1.5, 2, rounds)), "indicative ahead")
            self.assertEqual(figures.verdict(between(0.5, 0.6, rounds)), "indicative behind")

    def test_a_round_on_the_other_side_or_at_1_is_a_tie(self):
        for least, most in ((0.99, 3), (1, 3), (0.3, 1), (0.3, 1.001), (1, 1)):
            self.assertEqual(figures.verdict(between(least, most, 9)), "tie")

    def test_fewer_than_3_rounds_decide_nothing(self):
        for rounds in (1, 2):
            self.assertEqual(figures.verdict(between(2, 3, rounds)), "tie")
        self.assertEqual(figures.verdict(None), "not measured")

    def test_where_less_is_better(self):
        self.assertEqual(figures.verdict(between(0.4, 0.5, 5), higher_is_better=False), "ahead")
        self.assertEqual(figures.verdict(between(1.4, 1.5, 5), higher_is_better=False), "behind")
        self.assertEqual(figures.verdict(between(1.4, 1.5, 3), higher_is_better=False), "indicative behind")
        self.assertEqual(figures.verdict(between(0.4, 1.5, 5), higher_is_better=False), "tie")


class Words(unittest.TestCase):
    def test_numbers(self):
        for value, text in ((400953.0, "400,953"), (345.67, "346"), (12.345, "12.3"), (2.4, "2.40"), (0.334, "0.334"),
                            (0.0123, "0.0123"), (0, "0"), (0.0, "0"), (11, "11"), (None, "–"), (1e-9, "0"),
                            (9.996, "10.0"), (99.97, "100"), (0.9996, "1.00")):
            self.assertEqual(wording.number(value), text)
        for value, text in ((400_000, "400 k"), (2_500_000, "2.5 M"), (5_000, "5,000"), (0.5, "0.5"), (0, "0")):
            self.assertEqual(wording.compact(value), text)
        self.assertEqual((wording.short(99_999_999.0), wording.short(1.634e8)), ("99,999,999", "163 M"))
        self.assertEqual(wording.ratio(Spread(2.05, 1.9, 12.34, 5)), "2.05 (1.90 to 12.3)")
        self.assertEqual(wording.times(0.0041), "0.004")

    def test_cpus(self):
        self.assertEqual(wording.cpu_set("0,2-4"), {0, 2, 3, 4})
        for listed, text in (("0", "CPU 0"), ("0,1", "CPUs 0, 1"), ("0-3", "CPUs 0 to 3"), ("0,2,4", "CPUs 0, 2, 4"),
                             (None, "any CPU"), ("", "any CPU")):
            self.assertEqual(wording.cpus(listed), text)

    def test_disjoint_needs_two_lists_that_share_nothing(self):
        for server, load, apart in (("0", "1", True), ("0-1", "2,3", True), ("0,1", "0,1", False), ("0,1", "1", False),
                                    (None, "1", False), ("0", None, False)):
            self.assertEqual(wording.disjoint({"server_cpus": server, "load_cpus": load}), apart)
        self.assertFalse(wording.disjoint(None))


class Findings(unittest.TestCase):
    def setUp(self):
        self.record = sample.record()
        self.hello = findings.scenario(self.record, "hello")

    def rows(self, variant: dict) -> dict[str, dict]:
        return {each["server"]: each for each in variant["rows"]}

    def test_peers_are_held_against_as_many_threads(self):
        cluster = findings.scenario(self.record, "cluster")["variants"][0]
        rows = self.rows(cluster)
        for peer, ours in (("go-1", "fastserve-w1"), ("go", "fastserve-auto"), ("node-cluster", "fastserve-auto")):
            self.assertEqual(findings.counterpart(self.record, cluster, rows[peer])["server"], ours)
        self.record["servers"]["go"]["threads"] = 64
        self.assertEqual(findings.counterpart(self.record, cluster, rows["go"])["server"], "fastserve-w1")

    def test_a_variant_without_fastserve_has_a_reference_and_no_comparison(self):
        versions = findings.scenario(self.record, "versions")
        self.assertEqual(findings.reference(self.record, versions["variants"][0])["server"], "node")
        self.assertEqual([each for each in findings.comparisons(self.record) if each.scenario is versions], [])

    def test_absent_rows_are_compared_with_nothing_and_say_why(self):
        compared = {each.peer["server"] for each in findings.comparisons(self.record)}
        self.assertNotIn("uwebsockets", compared)
        self.assertNotIn("fastserve-w8", compared)
        absent = self.rows(self.hello["variants"][0])["uwebsockets"]
        self.assertIn("no checkout is named", findings.absence(self.record, absent))
        self.assertIn("no round", findings.absence(self.record, {"server": "go", "absent": None, "rounds": []}))

    def test_the_tally_counts_losses(self):
        verdicts = [each.verdict for each in findings.comparisons(self.record) if each.scenario["name"] == "upload"]
        self.assertEqual(sorted(verdicts), ["ahead", "behind"])
        self.assertEqual(findings.tally(iter([*verdicts, "indicative behind", "tie", "not measured"])),
                         {"ahead": 1, "behind": 2, "tie": 1})

    def test_the_headline_has_the_same_run_on_disjoint_cpus_beside_it(self):
        found = findings.headline(self.record)
        self.assertEqual((found.shared.row["server"], found.shared.peer["server"]), ("fastserve-w8", "fasthttp"))
        self.assertEqual(found.shared.verdict, "indicative ahead")
        self.assertEqual((found.disjoint.scenario["name"], found.disjoint.verdict), ("hello", "ahead"))
        del self.hello["variants"][1]
        self.assertEqual(findings.headline(self.record).disjoint.scenario["name"], "placement")
        del findings.scenario(self.record, "placement")["variants"][1]
        self.assertIsNone(findings.headline(self.record).disjoint)

    def test_without_the_rival_there_is_no_headline(self):
        self.rows(self.hello["variants"][0])["fasthttp"]["rounds"] = []
        self.assertIsNone(findings.headline(self.record))
        self.record["scenarios"].remove(self.hello)
        self.assertIsNone(findings.headline(self.record))

    def test_then_and_now(self):
        found = findings.then_and_now(self.record, findings.scenario(self.record, "one-core"))
        self.assertEqual((found.peer["server"], found.row["server"]), ("go-1", "fastserve-w1"))
        self.assertEqual(found.ratio, figures.ratio(found.row, found.peer))
        gone = findings.then_and_now(self.record, findings.scenario(self.record, "json-api"))
        self.assertEqual((gone.variant, gone.ratio, gone.verdict), (None, None, "not measured"))
        self.assertIsNone(findings.then_and_now(self.record, findings.scenario(self.record, "churn")))


class Card(unittest.TestCase):
    """400,953 was exceeded only where the card's own command says so, in every round."""

    def exceeded(self, *values: float, load: str = "wrk -c 100 -d 20 -t 4 http://127.0.0.1:8080/") -> bool:
        record = sample.record()
        hello = findings.scenario(record, "hello")
        variant = hello["variants"][0]
        variant["load"] = load
        for measured, value in zip(variant["rows"][0]["rounds"], values, strict=True):
            measured["value"] = value
        return findings.then_and_now(record, hello).exceeded

    def test_every_round(self):
        self.assertTrue(self.exceeded(400_954.0, 500_000.0, 410_000.0))
        self.assertFalse(self.exceeded(400_953.0, 500_000.0, 410_000.0))
        self.assertFalse(self.exceeded(1.0, 500_000.0, 410_000.0))

    def test_another_command(self):
        for load in ("wrk -c 100 -d 1 -t 4 http://h/", "wrk -c 200 -d 20 -t 4 http://h/",
                     "wrk -c 100 -d 20 -t 2 http://h/", "h2load -c 100 -d 20 -t 4 http://h/",
                     "wrk -t4 -c100 -d20m http://h/",
                     "wrk -c 100 -d 20 -t 4 -s pipeline.lua http://h/",
                     "wrk -t4 -c100 -d20s -s tests/shootout/wrk.lua http://h/ -- pipeline 16",
                     "wrk -t4 -c100 -d20s -H a:b http://h/", ""):
            self.assertFalse(self.exceeded(5e5, 5e5, 5e5, load=load), load)
        for load in ("wrk -t4 -c100 -d20s http://h/",
                     "wrk -t4 -c100 -d20s --latency -s tests/shootout/wrk.lua http://h/"):
            self.assertTrue(self.exceeded(5e5, 5e5, 5e5, load=load), load)

    def test_fasthttp_itself_does_not_count(self):
        record = sample.record()
        hello = findings.scenario(record, "hello")
        for each in hello["variants"][0]["rows"][2:]:
            for measured in each["rounds"]:
                measured["value"] = 9e5
        self.assertFalse(findings.then_and_now(record, hello).exceeded)


class Format(unittest.TestCase):
    def test_a_record_of_another_format_is_refused(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            for wrong in ({"format": 2}, {}, []):
                file.seek(0)
                file.truncate()
                json.dump(wrong, file)
                file.flush()
                with self.assertRaisesRegex(SystemExit, "format 1"):
                    findings.load(file.name)


if __name__ == "__main__":
    unittest.main()
