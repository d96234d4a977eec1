#!/usr/bin/env python3
"""The program and the clients that everybody has: curl, ab, wrk."""

import json
import re
import subprocess
import unittest

from harness import ProgramTest

LIMIT = 100  # seconds


def run(*command: str, status: int = 0) -> subprocess.CompletedProcess:
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    if done.returncode != status:
        raise AssertionError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


class Curl(ProgramTest):
    def setUp(self):
        self.url = self.serve("--workers", "2", "--admin", "127.0.0.1:0").urls()[0]

    def curl(self, target: str, *arguments: str) -> tuple[list[str], str]:
        """The lines of the response's head, and the body."""
        done = run("curl", "-v", "-sS", "--max-time", str(LIMIT), *arguments, self.url + target)
        head = [line[2:] for line in done.stderr.splitlines() if line.startswith("< ") and line != "< "]
        self.assertRegex(done.stderr, r"Connection #0 to host 127\.0\.0\.1 left intact")
        return head, done.stdout

    def assert_head(self, head: list[str], type_: str, size: int, status: str = "200 OK"):
        self.assertEqual(head[0], f"HTTP/1.1 {status}")
        fields = dict(line.split(": ", 1) for line in head[1:])
        self.assertEqual(len(fields), len(head) - 1)
        self.assertRegex(fields.pop("Date"), r" GMT$")
        self.assertEqual(fields, {"Server": "fastserve", "Content-Type": type_, "Content-Length": str(size)})

    def test_every_route(self):
        for target, type_, body in (("/", "text/plain", "hello world"), ("/plaintext", "text/plain", "Hello, World!"),
                                    ("/json", "application/json", '{"message":"Hello, World!"}')):
            head, got = self.curl(target)
            self.assertEqual(got, body)
            self.assert_head(head, type_, len(body))
        head, got = self.curl("/api/v3/json")
        self.assertEqual(json.loads(got)["status"], "ok")
        self.assert_head(head, "application/json", len(got))
        head, got = self.curl("/echo", "-d", "a=b")
        self.assertEqual(got, "a=b")
        self.assert_head(head, "application/x-www-form-urlencoded", 3)
        head, got = self.curl("/echo", "-H", "Expect: 100-continue", "-H", "Content-Type: a/b", "-d", "x" * 2000)
        self.assertEqual(head.pop(0), "HTTP/1.1 100 Continue")
        self.assert_head(head, "a/b", 2000)
        head, got = self.curl("/", "-I")
        self.assert_head(head, "text/plain", 11)
        head, got = self.curl("/nothing")
        self.assert_head(head, "text/plain; charset=utf-8", len(got), "404 Not Found")


class Load(ProgramTest):
    def setUp(self):
        self.program = self.serve("--workers", "2")
        self.url = self.program.urls()[0] + "/"

    def assert_ab(self, *arguments: str):
        said = run("ab", "-q", *arguments, self.url).stdout
        numbers = dict(re.findall(r"^([\w -]+):\s+(\d+)", said, re.MULTILINE))
        self.assertEqual((numbers["Complete requests"], numbers["Failed requests"], numbers["Document Length"]),
                         ("2000", "0", "11"), said)
        self.assertNotIn("Non-2xx responses", numbers)
        return numbers

    def test_ab_with_a_connection_each(self):
        self.assertNotIn("Keep-Alive requests", self.assert_ab("-n", "2000", "-c", "50"))

    def test_ab_that_keeps_its_connections(self):
        self.assertEqual(self.assert_ab("-k", "-n", "2000", "-c", "50")["Keep-Alive requests"], "2000")

    def test_wrk(self):
        said = run("wrk", "-t2", "-c50", "-d1s", self.url).stdout
        self.assertNotIn("Socket errors", said)
        self.assertNotIn("Non-2xx", said)
        self.assertGreater(int(re.search(r"(\d+) requests in", said).group(1)), 100)
        self.assert_stops(self.program)


if __name__ == "__main__":
    unittest.main()
