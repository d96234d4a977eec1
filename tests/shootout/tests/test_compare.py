#!/usr/bin/env python3
"""What is said of two records, and the README's table."""

import copy
import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import compare
import findings
import readme_table
import sample
from figures import Spread


def row(record: dict, scenario: str, index: int, server: str) -> dict:
    rows = findings.scenario(record, scenario)["variants"][index]["rows"]
    return next(each for each in rows if each["server"] == server)


def scale(of: dict, factor: float, name: str = "value"):
    for measured in of["rounds"]:
        measured[name] *= factor


class Changes(unittest.TestCase):
    def setUp(self):
        self.before = sample.record(rounds=5)
        self.after = copy.deepcopy(self.before)

    def found(self) -> dict[tuple, compare.Change]:
        return {(*change.key, change.name): change for change in compare.changes(self.before, self.after)}

    def beyond(self) -> list[tuple]:
        return [key for key, change in self.found().items() if change.beyond_spread]

    def test_nothing_changed(self):
        found = self.found()
        self.assertGreater(len(found), 200)
        self.assertEqual({change.of.median for change in found.values()}, {1})
        self.assertEqual(self.beyond(), [])
        self.assertNotIn("Not the same", compare.text(self.before, self.after))

    def test_the_interval_is_the_widest_that_the_rounds_allow(self):
        found = compare.over(Spread(20, 18, 24, 5), Spread(10, 8, 12, 3))
        self.assertEqual(found, Spread(2, 1.5, 3, 3))
        for nothing in ((None, found), (found, None), (found, Spread(1, 0, 2, 5))):
            self.assertIsNone(compare.over(*nothing))

    def test_a_change_beyond_the_spread_stands_first(self):
        scale(row(self.after, "churn", 0, "fastserve-auto"), 0.5)
        scale(row(self.after, "footprint", 0, "fastserve-auto"), 0.5)
        self.assertEqual(sorted(self.beyond()), [("churn", "close", "fastserve-auto", "requests/s"),
                                                 ("footprint", "idle", "fastserve-auto", "bytes")])
        lines = compare.text(self.before, self.after).splitlines()
        start = lines.index("Beyond the spread of the rounds: 2")
        worse = r"churn close fastserve-auto +requests/s .* 0\.50 \(.*\) +worse +beside limit 0\.50"
        self.assertRegex(lines[start + 1], worse)
        self.assertRegex(lines[start + 2], r"footprint idle fastserve-auto +bytes .* 0\.50 \(.*\) +better")
        self.assertRegex(lines[start + 4], r"^Within the spread: \d+$")

    def test_cpu_and_latency_are_better_when_less(self):
        scale(row(self.after, "hello", 0, "fasthttp"), 4, "server_cpu_us")
        found = self.found()["hello", "c100", "fasthttp", "server CPU, us"]
        self.assertTrue(found.beyond_spread and not found.better)
        self.assertEqual(found.verdict, "worse")

    def test_a_drift_of_the_machine_cancels_beside_limit(self):
        for server in ("fastserve-auto", "limit"):
            scale(row(self.after, "churn", 0, server), 0.5)
        found = self.found()["churn", "close", "fastserve-auto", "requests/s"]
        self.assertAlmostEqual(found.of.median, 0.5)
        self.assertAlmostEqual(found.beside_limit.median, 1)
        self.assertIsNone(self.found()["churn", "close", "limit", "requests/s"].beside_limit)

    def test_few_rounds_are_a_hint_and_two_are_nothing(self):
        of = row(self.after, "churn", 0, "fastserve-auto")
        scale(of, 0.5)
        key = ("churn", "close", "fastserve-auto", "requests/s")
        for rounds, verdict in ((5, "worse"), (4, "indicative worse"), (3, "indicative worse"), (2, "")):
            del of["rounds"][rounds:]
            self.assertEqual(self.found()[key].verdict, verdict)

    def test_rows_that_are_new_or_gone(self):
        row(self.after, "hello", 0, "nginx")["rounds"] = []
        self.before["scenarios"] = [each for each in self.before["scenarios"] if each["name"] != "tcp"]
        text = compare.text(self.before, self.after)
        self.assertIn("Measured only after\n  tcp 4096 cpp-O2\n", text)
        self.assertTrue(text.endswith("Measured only before\n  hello c100 nginx\n"), text)

    def test_what_else_was_not_the_same(self):
        self.after["machine"]["kernel"] = "Linux 7.0"
        self.after["servers"]["nginx"]["version"] = "1.28.0"
        self.after["servers"]["nginx"]["label"] = "nginx, newer"
        findings.scenario(self.after, "hello")["variants"][0]["placement"] = sample.APART
        text = compare.text(self.before, self.after)
        self.assertIn("  kernel: Linux 6.18.5 -> Linux 7.0\n", text)
        self.assertIn("  nginx, version: 1.22.1 with echo -> 1.28.0\n", text)
        self.assertIn("  hello c100: ", text)
        self.assertNotIn("newer", text)

    def test_missing_figures(self):
        for measured in row(self.after, "churn", 0, "fastserve-auto")["rounds"]:
            measured["server_cpu_us"] = None
        scale(row(self.before, "churn", 0, "go"), 0)
        found = self.found()
        self.assertNotIn(("churn", "close", "fastserve-auto", "server CPU, us"), found)
        self.assertIsNone(found["churn", "close", "go", "requests/s"].of)
        self.assertIn("churn close go", compare.text(self.before, self.after))


class Readme(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "docs/shootout").mkdir(parents=True)
        self.path = self.root / "docs/shootout/a.json"
        self.record = sample.record()
        self.save()
        self.readme = self.root / "README.md"
        self.readme.write_text("# Numbers\n\n<!-- numbers -->\n<!-- end of numbers -->\n\nMore.\n")

    def save(self):
        self.path.write_text(json.dumps(self.record))

    def test_what_was_written_is_up_to_date(self):
        readme_table.write(self.readme, self.path)
        text = self.readme.read_text()
        self.assertTrue(text.startswith("# Numbers\n\n<!-- numbers of docs/shootout/a.json -->\n`wrk "), text[:100])
        self.assertTrue(text.endswith("\n<!-- end of numbers -->\n\nMore.\n"))
        readme_table.check(self.readme)
        readme_table.write(self.readme, self.path)
        self.assertEqual(self.readme.read_text(), text)
        self.assertLessEqual(max(len(line) for line in text.splitlines() if not line.startswith("|")), 120)

    def test_a_table_that_differs_fails(self):
        with self.assertRaisesRegex(SystemExit, "names no record"):
            readme_table.check(self.readme)
        readme_table.write(self.readme, self.path)
        text = self.readme.read_text()
        self.readme.write_text(text.replace("| **355,175** |", "| **999,999** |"))
        self.assertNotEqual(self.readme.read_text(), text)
        with self.assertRaisesRegex(SystemExit, "not what docs/shootout/a.json says"):
            readme_table.check(self.readme)
        self.readme.write_text(text)
        row(self.record, "hello", 0, "nginx")["rounds"][0]["value"] *= 2
        self.save()
        with self.assertRaisesRegex(SystemExit, "not what"):
            readme_table.check(self.readme)
        self.path.unlink()
        with self.assertRaisesRegex(SystemExit, "there is no docs/shootout/a.json"):
            readme_table.check(self.readme)

    def test_a_readme_without_a_place_or_with_two(self):
        for text in ("nothing", "<!-- numbers -->\n<!-- end of numbers -->\n" * 2):
            self.readme.write_text(text)
            with self.assertRaisesRegex(SystemExit, "there must be one"):
                readme_table.write(self.readme, self.path)

    def test_all_that_were_measured_the_fastest_first(self):
        lines = readme_table.table(self.record).splitlines()
        rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")][1:]
        values = [float(cells[1].strip("*").replace(",", "")) for cells in rows]
        self.assertEqual(values, sorted(values, reverse=True))
        self.assertEqual(len(rows), 7)
        self.assertIn("limit", rows[0][0])
        self.assertTrue(rows[0][4].endswith("▽"), rows[0])
        self.assertEqual([cells[4] for cells in rows if "--workers 8" in cells[0]], ["1"])

    def test_a_bar_in_a_name_does_not_break_the_table(self):
        self.record["servers"]["nginx"]["label"] = "a|b"
        self.assertIn(r"| a\|b ", readme_table.table(self.record))


if __name__ == "__main__":
    unittest.main()
