#!/usr/bin/env python3
"""What the documents say of the code is what the code is.

    docs_test.py ROOT LIMITS_TABLE      the repository, and the program that writes the table of limits
"""

import re
import subprocess
import sys
import unittest
from pathlib import Path

LIMITS_TABLE = sys.argv.pop() if len(sys.argv) > 2 else ""
ROOT = Path(sys.argv.pop()) if len(sys.argv) > 1 else Path(__file__).parents[2]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


class Documents(unittest.TestCase):
    def test_the_table_of_limits_is_up_to_date(self):
        written = subprocess.run([LIMITS_TABLE], capture_output=True, text=True, check=True).stdout
        self.assertEqual(text_of("docs/limits.md"), written,
                         f"docs/limits.md is out of date: {Path(LIMITS_TABLE).name} > docs/limits.md")

    def test_the_example_of_the_readme_is_the_one_that_is_compiled(self):
        blocks = re.findall(r"^```cpp\n(.*?)^```$", text_of("README.md"), re.MULTILINE | re.DOTALL)
        self.assertEqual(blocks, [text_of("docs/examples/hello.cpp")])

    def test_the_example_of_testing_is_the_one_that_is_run(self):
        blocks = re.findall(r"^```cpp\n(.*?)^```$", text_of("docs/testing.md"), re.MULTILINE | re.DOTALL)
        self.assertEqual(blocks, [text_of("docs/examples/test_client.cpp")])

    def test_links_lead_somewhere(self):
        pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
        links = []
        for page in pages:
            prose = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
            links += [(page, link) for link in re.findall(r"\]\(([^)#]+)[^)]*\)", prose)]
        self.assertGreater(len(links), 3)
        for page, link in links:
            if not link.startswith("https://"):
                self.assertTrue((page.parent / link).exists(), f"{page.name} links to {link}")

    def test_scripts_and_sources_that_are_named_are_there(self):
        for page in ("README.md", "docs/ARCHITECTURE.md", "docs/security.md"):
            named = re.findall(r"`((?:script|\.ci|docs|pool|server|tests|microbench)/[\w./-]*)", text_of(page))
            self.assertGreater(len(named), 3)
            for name in named:
                self.assertTrue((ROOT / name).exists(), f"{page} names {name}")

    def test_security_names_every_soak_and_tests_that_there_are(self):
        text = text_of("docs/security.md")
        self.assertEqual(set(re.findall(r"`script/soak ([\w-]+)", text)), {p.name for p in (ROOT / "tests/soak").iterdir()})
        there = set()
        for path in (ROOT / "tests").rglob("*.cpp"):
            found = re.findall(r"^TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", path.read_text(encoding="utf-8"), re.MULTILINE)
            there |= {f"{suite}.{name}" for suite, name in found}
        named = set(re.findall(r"`(\w+\.\w+)`", text))
        self.assertGreater(len(named), 20)
        self.assertEqual(named - there, set())


if __name__ == "__main__":
    unittest.main()
