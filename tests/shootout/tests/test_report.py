#!/usr/bin/env python3
"""The page of a record: what stands in it, that it needs nothing else, and that it can be read."""

import re
import sys
import unittest
from html.parser import HTMLParser
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import charts
import figures
import findings
import opening
import report
import sample
import wording
from figures import Spread
from markup import Markup, tag

VOID = {"meta", "br"}


class Reader(HTMLParser):
    """The elements of a page; fails where tags do not nest."""

    def __init__(self, page: str):
        super().__init__(convert_charrefs=True)
        self.open: list[tuple[str, dict]] = []
        self.elements: list[tuple[str, dict, str]] = []  # with the classes of what they stand in
        self.texts: list[tuple[str, str]] = []  # an element's name, and text in it
        self.feed(page)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, name, attributes):
        given = dict(attributes)
        self.elements.append((name, given, " ".join(about.get("class") or "" for _, about in self.open)))
        if name not in VOID:
            self.open.append((name, given))

    def handle_endtag(self, name):
        assert self.open and self.open[-1][0] == name, f"{name} ends within {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        if data.strip() and self.open:
            self.texts.append((self.open[-1][0], data.strip()))

    def named(self, name: str) -> list[dict]:
        return [given for found, given, _ in self.elements if found == name]

    def words(self) -> str:
        return " ".join(text for name, text in self.texts if name not in ("style", "title"))


def words(markup: str) -> str:
    return Reader(f"<p>{markup}</p>").words()


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.record = sample.record()
        cls.page = report.page(cls.record)
        cls.reader = Reader(cls.page)

    def test_it_needs_no_network_and_no_script(self):
        names = {name for name, _, _ in self.reader.elements}
        self.assertEqual(names & {"script", "link", "img", "iframe", "object"}, set())
        for _, given, _ in self.reader.elements:
            self.assertEqual(given.keys() & {"src", "srcset", "onclick", "style"}, set())
            self.assertTrue(given.get("href", "#").startswith("#"), given)
        style = report.STYLE.read_text()
        self.assertNotRegex(style, r"@import|url\(|@font-face")
        self.assertIn("default-src 'none'", self.reader.named("meta")[1]["content"])

    def test_links_lead_to_parts_and_ids_are_unique(self):
        ids = [given["id"] for _, given, _ in self.reader.elements if "id" in given]
        self.assertEqual(len(ids), len(set(ids)))
        links = {given["href"][1:] for given in self.reader.named("a")}
        self.assertEqual(links - set(ids), set())
        self.assertGreaterEqual(links, {each["name"] for each in self.record["scenarios"]})

    def test_every_round_has_a_dot(self):
        charted = ("value", findings.CPU)
        expected = 0
        for variant in (variant for scenario in self.record["scenarios"] for variant in scenario["variants"]):
            for path in charted:
                found = [figures.figures(row, path) for row in variant["rows"]]
                if path == "value" or found != [figures.figures(row) for row in variant["rows"]]:
                    expected += sum(value is not None for values in found for value in values)
        dots = [1 for name, _, around in self.reader.elements if name == "circle" and "track" in around]
        self.assertEqual(len(dots), expected)
        self.assertGreater(expected, 1000)

    def test_every_mark_has_a_title(self):
        marks = re.findall(r'<(circle|rect|path)\b[^>]*>(?!<title>)', self.page)
        self.assertEqual(marks, [])
        for given in self.reader.named("svg"):
            self.assertTrue(given.get("aria-label") or given.get("aria-hidden") or "overflow" in given, given)

    def test_every_table_scrolls_within_itself(self):
        around = [around for name, _, around in self.reader.elements if name == "table"]
        self.assertGreater(len(around), 40)
        self.assertEqual([each for each in around if not each.endswith("scroll")], [])
        for given in self.reader.named("div"):
            if given.get("class") == "scroll":
                self.assertEqual((given["tabindex"], given["role"]), ("0", "region"))
                self.assertTrue(given["aria-label"])

    def test_who_is_absent_says_why(self):
        self.assertIn("not measured: no checkout is named: set SHOOTOUT_UWEBSOCKETS to one", self.reader.words())

    def test_what_ran_and_how_to_repeat_it(self):
        text = self.reader.words()
        for part in ("1.31.0, Go 1.19.8", "nginx --listen 127.0.0.1:{port} --threads 2", "access_log off", "Repeat it:",
                     "script/shootout hello", "Server, Date, Content-Type, Content-Length", "Linux 6.18.5", "bbr",
                     "Enhanced / Automatic IBRS", "0.1 % of the CPU time", "wrk latency avg ms", "c0921380f2c1"):
            self.assertIn(part, text)

    def test_answers(self):
        text = self.reader.words()
        self.assertIn("All 7 answers are equal: status 200, 11 bytes, SHA-256 b94d27b9934d3e08", text)
        self.assertEqual(text.count("The answers differ"), 1)
        self.assertIn("CherryPy: status 200", text)
        self.assertIn("this load reads none", text)

    def test_remarks(self):
        text = self.reader.words()
        for part in ("37 errors", "only 1 round", "the generator was the limit in 1 round", "held against fastserve",
                     "counted for 10 s"):
            self.assertIn(part, text)

    def test_headings_do_not_skip_a_level(self):
        levels = [int(name[1]) for name, _, _ in self.reader.elements if re.fullmatch("h[1-6]", name)]
        self.assertEqual(levels[0], 1)
        self.assertTrue(all(after <= before + 1 for before, after in zip(levels, levels[1:])), levels)


class Opening(unittest.TestCase):
    def setUp(self):
        self.record = sample.record()
        self.hello = findings.scenario(self.record, "hello")

    def multiply(self, server: str, factor: float, variant: int = 0):
        for row in self.hello["variants"][variant]["rows"]:
            if row["server"] == server:
                for measured in row["rounds"]:
                    measured["value"] *= factor

    def test_the_sentence_has_interval_placement_and_the_disjoint_ratio(self):
        found = findings.headline(self.record)
        shared, apart = found.shared.ratio, found.disjoint.ratio
        self.assertEqual(words(opening.sentence(self.record)), (
            f"fastserve --workers 8 answered {wording.times(shared.median)} times as many requests a second as "
            f"fasthttp 1.31.0 ({wording.interval(shared)} in 3 rounds: indicative ahead) with server and generator on "
            f"the same CPUs (0, 1); on disjoint CPUs (server 0, generator 1) fastserve --workers 1 answered "
            f"{wording.times(apart.median)} times as many ({wording.interval(apart)} in 5 rounds: ahead)."))

    def test_a_loss_is_said_as_loudly(self):
        self.multiply("fastserve-w8", 0.1)
        said = opening.sentence(self.record)
        self.assertRegex(said, r'<b class="behind">0\.\d+ times</b>')
        self.assertIn("indicative behind", said)

    def test_without_disjoint_cpus_or_without_a_rival(self):
        self.record["scenarios"] = [self.hello]
        del self.hello["variants"][1]
        self.assertIn("disjoint CPUs are not in this record.", words(opening.sentence(self.record)))
        del self.hello["variants"][0]["rows"][2]
        self.assertIn("no ratio to quote", opening.sentence(self.record))

    def test_400953_was_exceeded_only_by_the_cards_own_command(self):
        claim = re.compile(r"more than 400,953|exceeded")
        self.record["scenarios"] = [self.hello]
        self.assertIn("400,953", report.page(self.record))
        self.assertNotRegex(report.page(self.record), claim)
        self.multiply("fastserve-w8", 2)
        self.assertRegex(words(opening.both_machines(self.record)), claim)
        self.hello["variants"][0]["load"] = "wrk -t4 -c100 -d1 http://127.0.0.1:1/"
        self.assertNotRegex(report.page(self.record), claim)

    def test_both_machines_are_named(self):
        said = words(opening.both_machines(self.record))
        self.assertIn("on an i7", said)
        self.assertIn("on 2 CPUs of Intel(R) Xeon(R) Processor @ 2.10GHz", said)

    def test_wins_and_losses_are_counted_alike(self):
        tile = r'<li class="tile (\w+)"><strong class="count">(\d+)</strong><span class="verdict">(\w+)</span>'
        tiles = re.findall(tile, opening.wins_and_losses(self.record))
        found = [each.verdict.split()[-1] for each in findings.comparisons(self.record)]
        self.assertEqual(tiles, [(name, str(found.count(name)), name) for name in ("ahead", "tie", "behind")])
        self.assertGreater(found.count("behind"), 10)

    def test_every_comparison_is_in_the_table(self):
        found = list(findings.comparisons(self.record))
        self.assertEqual(opening.matrix(self.record).count('<div title="'), len(found))

    def test_every_historical_test_has_a_line(self):
        names = [each["name"] for each in self.record["scenarios"] if each["historical"]]
        self.assertEqual(re.findall(r'<h3><a href="#([\w-]+)">', opening.then_and_now(self.record)), names)
        said = words(opening.then_and_now(self.record))
        self.assertIn("go-martini and fastserve did not both run", said)
        self.assertIn("no figure of it is at hand", said)

    def test_a_quick_run_and_a_dirty_tree_say_so(self):
        self.record["run"].update(quick=True, dirty=True, seconds=None)
        said = words(opening.opening(self.record))
        for part in ("a hint, not a result", "with uncommitted changes", "not finished"):
            self.assertIn(part, said)


class Odd(unittest.TestCase):
    """Records that are begun, empty or hostile."""

    def test_names_cannot_break_the_page(self):
        record = sample.record()
        evil = '<script>alert("1")</script>&amp;'
        record["servers"]["nginx"].update(label=evil, version=evil, command=evil, fields=[evil])
        hello = findings.scenario(record, "hello")
        hello.update(title=evil, origin=evil)
        record["scenarios"] = [hello]
        hello["variants"][0].update(title=evil, load=evil)
        reader = Reader(report.page(record))
        self.assertEqual(reader.named("script"), [])
        self.assertIn(evil, reader.words())

    def test_begun(self):
        record = sample.record()
        for scenario in record["scenarios"]:
            for variant in scenario["variants"]:
                for row in variant["rows"]:
                    row["rounds"] = []
        self.assertIn("no round of it has been measured", Reader(report.page(record)).words())
        record["scenarios"] = []
        self.assertIn("no ratio to quote", Reader(report.page(record)).words())

    def test_zeros_and_holes(self):
        record = sample.record()
        for variant in (variant for scenario in record["scenarios"] for variant in scenario["variants"]):
            for number, row in enumerate(variant["rows"]):
                for index, measured in enumerate(row["rounds"]):
                    if (number + index) % 2:
                        row["rounds"][index] = None
                    else:
                        measured.update(value=0.0, p99_ms=0.0, server_cpu_us=None, load_cpu_seconds=None, extra=None)
        record["machine"].update(noise=None, mitigations=None)
        Reader(report.page(record))


class Charts(unittest.TestCase):
    def test_an_axis_holds_what_is_on_it(self):
        for most in (0.0003, 0.9, 1, 7, 99.9, 345_000, 3.2e6):
            for steps in (2, 4):
                axis = charts.axis(most, steps)
                self.assertGreater(axis.end, most)
                self.assertEqual(axis.ticks[0], 0)
                self.assertTrue(2 <= len(axis.ticks) <= steps + 1, (most, axis.ticks))
                self.assertLessEqual(axis.ticks[-1], axis.end)
        self.assertEqual(charts.axis(345_000, 4).ticks, (0, 1e5, 2e5, 3e5))
        self.assertEqual(charts.axis(0, 4).ticks, (0,))

    def test_a_bar_is_as_long_as_its_median(self):
        axis = charts.Axis(200, (0, 100))
        drawn = charts.bar(axis, "ours", "all", Spread(100, 90, 110, 3), [90, None, 110], "x")
        self.assertEqual(re.search(r'<rect class="bar" width="([\d.]+)%"', drawn)[1], "50.00")
        self.assertEqual(re.findall(r'<circle cx="([\d.]+)%"', drawn), ["45.00", "55.00"])
        self.assertEqual(re.findall(r"<title>(round.*?)</title>", drawn), ["round 1: 90 x", "round 3: 110 x"])

    def series(self, *medians: float | None) -> charts.Series:
        points = [(10.0 * (index + 1), median and Spread(median, median / 2, median * 2, 5))
                  for index, median in enumerate(medians)]
        return charts.Series("a", "peer s0", tuple(points))

    def test_a_curve_breaks_where_nothing_was_measured(self):
        for medians, pieces in (((1, 2, 3, 4), 3), ((1, 2, None, 4), 1), ((1, None, 3, None), 0), ((None, 2, 3, 4), 2)):
            drawn = charts.curves("p99", "ms", [self.series(*medians)], "requests/s", {})
            self.assertEqual(drawn.count('class="curve"'), pieces)
            self.assertEqual(drawn.count('class="marker"'), sum(median is not None for median in medians))
        both = charts.curves("p99", "ms", [self.series(1, 2), self.series(1, 2)], "requests/s", {})
        self.assertEqual(both.count('class="curve"'), 2)
        self.assertIsNone(charts.curves("p99", "ms", [self.series(None, None)], "requests/s", {}))

    def test_a_logarithmic_axis_holds_every_round(self):
        for medians in ((0.02, 30), (1, 1.1), (5,), (0.0004, 900)):
            of = charts.logarithmic([self.series(*medians)])
            self.assertLessEqual(of.least, min(medians) / 2)
            self.assertGreaterEqual(of.most, max(medians) * 2)
            self.assertGreaterEqual(len(of.ticks()), 2)
            self.assertAlmostEqual(of.y(of.most), charts.MARGIN)
            self.assertAlmostEqual(of.y(of.least), charts.MARGIN + charts.CURVE_HEIGHT)

    def test_labels_do_not_overlap(self):
        for wanted in ([10, 11, 12], [200, 201, 202], [0, 100, 101, 205], [50]):
            placed = charts.spaced(wanted, 15, 205)
            self.assertTrue(all(after - before >= 15 for before, after in zip(placed, placed[1:])), placed)
            self.assertLessEqual(placed[-1], 205)
        self.assertEqual(charts.spaced([10, 100], 15, 205), [10, 100])


class Text(unittest.TestCase):
    def test_markup_escapes_what_is_not_markup(self):
        self.assertEqual(tag("p", "<b>", tag("b", "&"), None, class_='"x"', title=None),
                         '<p class="&quot;x&quot;">&lt;b&gt;<b>&amp;</b></p>')
        self.assertEqual(tag("i", Markup("<b>"), aria_label="a"), '<i aria-label="a"><b></i>')

    def colours(self) -> list[dict[str, str]]:
        light, dark = re.findall(r":root \{(.*?)\}", report.STYLE.read_text(), re.DOTALL)
        return [dict(re.findall(r"--(\w+): (#\w{6})", each)) for each in (light, dark)]

    @staticmethod
    def contrast(one: str, other: str) -> float:
        def luminance(colour: str) -> float:
            parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
            red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
            return 0.2126 * red + 0.7152 * green + 0.0722 * blue

        bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
        return (bright + 0.05) / (dim + 0.05)

    def test_text_and_marks_have_enough_contrast(self):
        self.assertAlmostEqual(self.contrast("#000000", "#ffffff"), 21)
        texts = ["ink", "soft", "link", "ahead", "behind", "tie", "ours", "ceiling"]
        texts += [f"s{index}" for index in range(charts.SERIES)]
        for scheme in self.colours():
            for name in texts:
                for ground in ("paper", "raised"):
                    self.assertGreaterEqual(self.contrast(scheme[name], scheme[ground]), 4.5, (name, ground))
            for mark in ("peer", "dot", "ours", "ceiling"):
                self.assertGreaterEqual(self.contrast(scheme[mark], scheme["paper"]), 3, mark)
            self.assertGreaterEqual(self.contrast(scheme["dot"], scheme["peer"]), 3)

    def test_both_schemes_have_the_same_colours(self):
        light, dark = self.colours()
        self.assertEqual(light.keys(), dark.keys())
        used = set(re.findall(r"var\(--(\w+)\)", report.STYLE.read_text())) - {"columns", "series"}
        self.assertEqual(used - light.keys(), set())


if __name__ == "__main__":
    unittest.main()
