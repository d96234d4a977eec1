#!/usr/bin/env python3
"""script/setup against a dpkg and an apt that are made up: setup_test.py ROOT"""

import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop()) if len(sys.argv) > 1 else Path(__file__).parents[2]

STUBS = {
    # Knows what stands in `installed`; like the real one it fails when asked for something else besides.
    "dpkg-query": """echo dpkg-query >>"$STATE/log"; status=0
shift 2 # -W and the format
for name in "$@"; do
    if grep -qx "$name" "$STATE/installed"; then echo "$name installed"; else status=1; fi
done
exit $status""",
    # Installs only with package lists, which only an update brings.
    "apt-get": """echo "apt-get $*" >>"$STATE/log"
for word in "$@"; do
    case $word in
    update) [ ! -e "$STATE/offline" ] || { echo "E: no network"; exit 100; }; touch "$STATE/lists"; exit 0 ;;
    install) [ -e "$STATE/lists" ] || { echo "E: Unable to locate package"; exit 100; } ;;
    -* | DPkg*) ;;
    *) echo "$word" >>"$STATE/installed" ;;
    esac
done""",
    "sudo": 'echo sudo >>"$STATE/log"; exec "$@"',
}


class Setup(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.state = Path(self.folder.name)
        (self.state / "bin").mkdir()
        for name, body in STUBS.items():
            stub = self.state / "bin" / name
            stub.write_text(f"#!/bin/bash\n{body}\n")
            stub.chmod(0o755)
        self.installed("")

    def installed(self, names: str):
        (self.state / "installed").write_text(names)

    def log(self) -> list[str]:
        """The programs called since the last time, an apt-get by what it was asked to do."""
        path = self.state / "log"
        lines = path.read_text().splitlines() if path.exists() else []
        path.write_text("")
        return [word for line in lines for word in [self.deed(line)] if word]

    @staticmethod
    def deed(line: str) -> str:
        for deed in ("install", "update"):
            if f" {deed}" in line:
                return deed
        return "" if line == "sudo" else line

    def run_setup(self, *arguments: str) -> subprocess.CompletedProcess:
        environment = {"PATH": f"{self.state}/bin:{os.environ['PATH']}", "STATE": str(self.state)}
        return subprocess.run([str(ROOT / "script/setup"), *arguments], env=environment, cwd="/", text=True,
                              stdin=subprocess.DEVNULL, capture_output=True)

    def all_packages(self) -> str:
        return self.run_setup("--check").stdout

    def test_nothing_missing_asks_dpkg_once_and_says_nothing(self):
        self.installed(self.all_packages())
        self.log()
        started = time.monotonic()
        done = self.run_setup()
        self.assertLess(time.monotonic() - started, 1.0)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(self.log(), ["dpkg-query"])

    def test_check_lists_what_is_missing_and_installs_nothing(self):
        names = self.all_packages().split()
        self.assertIn("libboost1.81-dev", names)
        self.installed("\n".join(name for name in names if name != "wrk"))
        self.log()
        done = self.run_setup("--check")
        self.assertEqual((done.returncode, done.stdout), (1, "wrk\n"))
        self.assertEqual(self.log(), ["dpkg-query"])

    def test_the_lists_are_fetched_only_when_needed(self):
        self.assertEqual(self.run_setup("program").returncode, 0)
        self.assertEqual(self.log(), ["dpkg-query", "install", "update", "install", "dpkg-query"])
        self.assertEqual(self.run_setup().returncode, 0)
        self.assertEqual(self.log(), ["dpkg-query", "install", "dpkg-query"])
        self.assertEqual(self.run_setup("--check").returncode, 0)

    def test_a_refusal_shows_what_apt_said(self):
        (self.state / "offline").touch()
        done = self.run_setup()
        self.assertEqual(done.returncode, 1)
        self.assertIn("E: no network", done.stderr)
        self.assertIn("apt-get update failed", done.stderr)

    def test_an_unknown_argument_is_a_usage_error(self):
        self.assertEqual(self.run_setup("everything").returncode, 2)


if __name__ == "__main__":
    unittest.main()
