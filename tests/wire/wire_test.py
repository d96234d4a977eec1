#!/usr/bin/env python3
"""Every case over real sockets: whole, and cut into pieces of 1, 2 and 7 bytes and of random sizes.

    wire_test.py FIXTURE ROOT       the program of fixture.cpp, and the repository

WIRE_SEED in the environment repeats the random cuts of an earlier run.
"""

import asyncio
import contextlib
import json
import os
import random
import re
import resource
import subprocess
import sys
import unittest
from pathlib import Path

import judge
from answers import Malformed, Reader
from cases import load
from talk import known, talk

ROOT = Path(sys.argv.pop()) if len(sys.argv) > 2 else Path(__file__).parents[2]
FIXTURE = sys.argv.pop() if len(sys.argv) > 1 else ""
SEED = os.environ.get("WIRE_SEED") or str(random.SystemRandom().randrange(1 << 32))
CUTS = {"whole": 0, "1": 1, "2": 2, "7": 7, "random": SEED}
STRICT = 0.97


@contextlib.contextmanager
def fixture():
    """The port of a running fixture, which must end well when it is told to."""
    with subprocess.Popen([FIXTURE], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield int(process.stdout.readline())
            process.stdin.close()
            if process.wait(60) != 0:
                raise AssertionError(f"the fixture ended with {process.returncode}")
        finally:
            process.kill()


def exceptions() -> set[str]:
    """The cases that docs/http.md lists as not reacting as they should."""
    text = (ROOT / "docs/http.md").read_text(encoding="utf-8")
    section = re.search(r"^## Exceptions$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if not section:
        raise AssertionError("docs/http.md has no section Exceptions")
    return set(re.findall(r"^\| `([\w-]+)` \|", section.group(1), re.MULTILINE))


class Wire(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
        with fixture() as port:
            cls.cases = load(known(port))
            cls.outcomes = asyncio.run(talk(port, cls.cases, CUTS))
            cls.after = known(port)  # it still serves

    def faults(self, cut: str, outcome_of) -> list[str]:
        found = []
        for case in self.cases:
            outcome = self.outcomes[cut][case.id]
            faults = judge.judge(outcome, outcome_of(case))
            faults += judge.invariants(outcome, case.allow.get("unannounced", False))
            found += [f"{case.id} ({case.rule['rule']}): {'; '.join(faults)}"] if faults else []
        return found

    def test_there_are_cases(self):
        self.assertGreaterEqual(len(self.cases), 382)
        for case in self.cases:
            for outcome in (case.allow, case.rule.get("want", {}), case.allow.get("if_success", {})):
                self.assertLessEqual(outcome.keys(), judge.KEYS, case.id)
            self.assertIn(case.rule["level"], ("MUST", "SHOULD", "MAY", "SAFE"), case.id)
            self.assertRegex(case.rule["rfc"], r"^(9110|9112|3986) \d+(\.\d+)*$", case.id)

    def test_no_rule_is_broken(self):
        for cut in CUTS:
            with self.subTest(cut=cut, seed=SEED):
                faults = self.faults(cut, lambda case: case.allow)
                self.assertEqual(len(faults), 0, f"{len(faults)} of {len(self.cases)}:\n" + "\n".join(faults))

    def test_what_is_wanted_happens_but_for_the_exceptions(self):
        listed = exceptions()
        self.assertLessEqual(listed, {case.id for case in self.cases})
        self.assertLessEqual(len(listed), (1 - STRICT) * len(self.cases))
        for cut in CUTS:
            with self.subTest(cut=cut, seed=SEED):
                faults = self.faults(cut, lambda case: case.want)
                unlisted = [fault for fault in faults if fault.split(" ", 1)[0] not in listed]
                self.assertEqual(len(unlisted), 0, f"{len(faults)} of {len(self.cases)}:\n" + "\n".join(faults))
                self.assertEqual(len(faults), len(listed), "docs/http.md lists what is none")

    def test_cutting_changes_no_verdict(self):
        changed = [f"{case.id} in pieces of {cut}: {self.outcomes[cut][case.id].verdict()}, "
                   f"whole: {self.outcomes['whole'][case.id].verdict()}"[:400]
                   for cut in CUTS for case in self.cases
                   if self.outcomes[cut][case.id].verdict() != self.outcomes["whole"][case.id].verdict()]
        self.assertEqual(len(changed), 0, f"seed {SEED}\n" + "\n".join(changed))


def add_reports():
    """A test for each fault that was reported of another server: the cases that would show it."""
    def make(cases: list[str]):
        def test(self):
            known_cases = {case.id: case for case in self.cases}
            for name in cases:
                for cut in CUTS:
                    with self.subTest(case=name, cut=cut, seed=SEED):
                        outcome, case = self.outcomes[cut][name], known_cases[name]
                        self.assertEqual(judge.judge(outcome, case.want) + judge.invariants(outcome), [])
        return test

    reports = json.loads((Path(__file__).parent / "reports.json").read_text(encoding="utf-8"))
    for name, report in reports.items():
        test = make(report["cases"])
        test.__doc__ = report["fault"]
        setattr(Wire, f"test_report_{name.replace('-', '_')}", test)


add_reports()


class Judge(unittest.TestCase):
    """The judge finds what it is there to find."""

    OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
    CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-T: 1\r\n\r\n"
    CLOSING = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

    def outcome(self, data: bytes, closed=False, head=False) -> judge.Outcome:
        """However it is cut, the same is read."""
        results = []
        for step in (1, 3, len(data) + 1):
            reader = Reader([head])
            for at in range(0, len(data), step):
                reader.feed(data[at:at + step])
            if closed:
                reader.end()
            results.append(judge.Outcome(reader.answers, reader.size, closed=closed))
        self.assertEqual(results[0], results[1])
        self.assertEqual(results[0], results[2])
        return results[0]

    def test_good_ones(self):
        for data in (self.OK, self.CHUNKED, self.CONTINUE + self.OK):
            good = {"status": [200], "answers": 1, "closes": False, "body": "hi", "bodies": ["hi"], "each": [200],
                    "order": [[200]], "no_fields": ["x"], "never": [101], "at_most": 500,
                    "if_success": {"body": "hi"}}
            o = self.outcome(data)
            self.assertEqual(judge.judge(o, good) + judge.invariants(o), [])
        o = self.outcome(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 26\r\n\r\n" + self.CLOSING, closed=True)
        self.assertEqual(judge.judge(o, {"answers": 2, "order": [[304], [400]], "bodyless": True}), [])
        self.assertEqual(judge.invariants(o), [])
        o = self.outcome(b"", closed=True)
        self.assertEqual(judge.judge(o, {"status": [400], "answers": 1, "silent": True}), [])
        o = self.outcome(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhi", closed=True)
        self.assertEqual(judge.judge(o, {"body": "hi"}) + judge.invariants(o), [])

    def test_each_expectation_can_fail(self):
        o = self.outcome(self.CONTINUE + self.OK + self.OK)
        o.hidden = {"hi": False}
        for wrong in ({"status": [400]}, {"answers": 1}, {"closes": True}, {"each": [404]}, {"order": [[200], [404]]},
                      {"body": "ho"}, {"bodies": ["hi"]}, {"bodyless": True}, {"if_success": {"answers": 1}},
                      {"fields": ["date"]}, {"fields": {"content-length": "3"}}, {"no_fields": ["content-length"]},
                      {"interim": [103]}, {"never": [100]}, {"hides": ["hi"]}, {"at_most": 10}, {"says_close": True},
                      {"waits": True}):
            self.assertNotEqual(judge.judge(o, wrong), [], wrong)
        for nothing in ({"status": [400]}, {"status": [400], "silent": True}, {"answers": 1}):
            self.assertNotEqual(judge.judge(self.outcome(b""), nothing), [], nothing)

    def test_each_invariant_can_fail(self):
        for o in (self.outcome(self.OK[:-1]), self.outcome(self.CHUNKED[:-2]), self.outcome(self.CLOSING),
                  self.outcome(self.OK, closed=True), self.outcome(self.CLOSING + self.OK),
                  judge.Outcome(faults=["reset"])):
            self.assertNotEqual(judge.invariants(o), [], o)

    def test_what_is_no_answer(self):
        for data in (b"HTTP/1.0 200 OK\r\n\r\n", b"HTTP/1.1 200\r\n\r\n", b"HTTP/1.1 2000 OK\r\n\r\n",
                     b"HTTP/1.1 200 OK\nA: b\r\n\r\n", b"HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
                     b"HTTP/1.1 200 OK\r\n A: b\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n",
                     b"HTTP/1.1 200 OK\r\nA: \0\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n",
                     b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
                     b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                     b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
                     self.CHUNKED.replace(b"\r\n2\r\n", b"\r\n2;\r\n"), self.CHUNKED.replace(b"hi\r\n", b"hi!\r\n"),
                     self.CHUNKED.replace(b"X-T:", b"X-T "), self.OK + b"!" + self.OK):
            with self.assertRaises(Malformed, msg=data):
                self.outcome(data)
        with self.assertRaises(Malformed):
            self.outcome(self.OK + b"HTTP/1.1", closed=True)

    def test_an_answer_to_head_ends_with_its_fields(self):
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
        o = self.outcome(self.CONTINUE + head + self.OK, head=True)
        self.assertEqual(judge.judge(o, {"answers": 2, "bodies": ["", "hi"]}) + judge.invariants(o), [])


class Document(unittest.TestCase):
    """docs/http.md names rules, cases and tests that there are, and every rule."""

    def test_what_it_names_is_there(self):
        text = (ROOT / "docs/http.md").read_text(encoding="utf-8")
        cases = load({"etag": "", "lastmod": ""})
        rules = {case.rule["rule"] for case in cases}
        tests = set()
        for path in (ROOT / "tests").rglob("*.cpp"):
            found = re.findall(r"^TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", path.read_text(encoding="utf-8"), re.MULTILINE)
            tests |= {f"{suite}.{name}" for suite, name in found}
        sections = {}
        held = set()
        for line in re.findall(r"^\| \d{4} .*\|$", text, re.MULTILINE):
            section, _, by = (cell.strip() for cell in line.strip("|").split("|"))
            self.assertNotIn(section, sections)
            names = re.findall(r"`([^`]+)`", by)
            self.assertTrue(names, f"nothing holds {section}")
            for name in names:
                self.assertIn(name, tests if "." in name else rules, f"{section} is not held by {name}")
            sections[section] = names
            held |= set(names)
        self.assertGreater(len(sections), 40)
        self.assertEqual(rules - held, set(), "rules that docs/http.md does not name")
        self.assertIn(f"{len(rules)} rules with {len(cases)} cases", text)


if __name__ == "__main__":
    program = unittest.main(exit=False, verbosity=1)
    if program.result.wasSuccessful() and program.result.testsRun > 1:
        print(f"{len(Wire.cases)} cases, {', '.join(CUTS)} (seed {SEED})" if hasattr(Wire, "cases") else "")
    sys.exit(not program.result.wasSuccessful())
