#!/usr/bin/env python3
"""What the program serves, and where."""

import json
import os
import socket
import tempfile
import unittest
from pathlib import Path

from harness import ProgramTest


class Pages(ProgramTest):
    def setUp(self):
        self.program = self.serve("--workers", "2")
        self.client = self.connect(self.program.port())

    def assert_page(self, target: str, type_: str):
        reply = self.client.get(target)
        self.assertEqual((reply.version, reply.status, reply.reason), ("HTTP/1.1", 200, "OK"))
        self.assertEqual(reply.field("Content-Type"), type_)
        self.assertEqual(reply.field("Server"), "fastserve")
        self.assertRegex(reply.field("Date"), r"^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$")
        self.assertIsNone(reply.field("Connection"))
        head = self.client.get(target, method="HEAD")
        self.assertEqual((head.status, head.field("Content-Length"), head.field("Content-Type")),
                         (200, str(len(reply.body)), type_))
        return reply.body

    def test_text(self):
        self.assertEqual(self.assert_page("/", "text/plain"), b"hello world")
        self.assertEqual(self.assert_page("/plaintext", "text/plain"), b"Hello, World!")

    def test_json(self):
        self.assertEqual(json.loads(self.assert_page("/json", "application/json")), {"message": "Hello, World!"})
        found = json.loads(self.assert_page("/api/v3/json?x=1", "application/json"))
        self.assertEqual((found["status"], found["version"], found["path"]), ("ok", 3, "/api/v3/json"))

    def test_echo_gives_back_body_and_type(self):
        for method in ("POST", "PUT", "PATCH"):
            self.client.send(f"{method} /echo HTTP/1.1\r\nHost: a\r\nContent-Type: text/x-mine\r\n"
                             "Content-Length: 5\r\n\r\na\0\r\nb".encode())
            reply = self.client.read()
            self.assertEqual((reply.status, reply.field("Content-Type"), reply.body), (200, "text/x-mine", b"a\0\r\nb"))
        self.client.send(b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
        reply = self.client.read()
        self.assertEqual((reply.field("Content-Type"), reply.body), ("application/octet-stream", b"abc"))

    def test_a_large_echo(self):
        body = os.urandom(3_000_000)
        self.client.send(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        self.assertEqual(self.client.read().body, body)

    def test_what_is_not_there(self):
        self.assertEqual(self.client.get("/nothing").status, 404)
        reply = self.client.get("/json", method="DELETE")
        self.assertEqual(reply.status, 405)
        self.assertEqual({m.strip() for m in reply.field("Allow").split(",")}, {"GET", "HEAD", "OPTIONS"})

    def test_pipelined_answers_come_in_order(self):
        self.client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /json HTTP/1.1\r\nHost: a\r\n\r\n"
                         b"GET /plaintext HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        self.assertEqual([self.client.read().body for _ in range(3)],
                         [b"hello world", b'{"message":"Hello, World!"}', b"Hello, World!"])
        self.assertTrue(self.client.at_end())

    def test_http_1_0(self):
        self.client.send(b"GET / HTTP/1.0\r\n\r\n")
        self.assertEqual(self.client.read().body, b"hello world")
        self.assertTrue(self.client.at_end())

    def test_limits_are_on(self):
        self.client.send(b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 20_000 + b"\r\n\r\n")
        self.assertEqual(self.client.read().status, 431)


class Flags(ProgramTest):
    def test_a_limit_that_was_set_is_kept(self):
        program = self.serve("--body-bytes", "1k", "--max-connections=2", "--workers", "1")
        first = self.connect(program.port())
        first.send(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1024\r\n\r\n" + b"x" * 1024)
        self.assertEqual(first.read().status, 200)
        second = self.connect(program.port())
        self.assertEqual(second.get().status, 200)
        third = self.connect(program.port())
        self.assertEqual(third.read().status, 503)
        first.send(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1025\r\n\r\n")
        self.assertEqual(first.read().status, 413)

    def test_a_deadline_that_was_set_is_kept(self):
        program = self.serve("--head-timeout", "300ms")
        client = self.connect(program.port())
        client.send(b"GET / HTTP/1.1\r\nHo")
        self.assertEqual(client.read().status, 408)
        self.assertTrue(client.at_end())

    def test_every_placement_serves(self):
        for placement in ("incoming-cpu", "bpf", "least-loaded", "round-robin"):
            for pin in ("auto", "on", "off"):
                with self.subTest(placement=placement, pin=pin):
                    program = self.serve("--workers", "3", "--placement", placement, "--pin", pin)
                    self.assertEqual(program.urls(), [f"http://127.0.0.1:{program.port()}"])
                    self.assertIn("with 3 workers", program.said())
                    for _ in range(8):
                        self.assertEqual(self.connect(program.port()).get().body, b"hello world")
                    self.assert_stops(program)

    def test_the_last_one_counts(self):
        program = self.serve("--workers", "2", "--workers=1")
        self.assertIn("with 1 worker", program.lines[-1])


class Folder(ProgramTest):
    def folder(self, **files: str) -> str:
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        for name, content in files.items():
            Path(made.name, name.replace("_", ".")).write_text(content)
        return made.name

    def test_its_files_are_served_and_the_pages_are_not(self):
        client = self.connect(self.serve(self.folder(index_html="<p>home", a_txt="text")).port())
        home = client.get("/")
        self.assertEqual((home.status, home.body), (200, b"<p>home"))
        self.assertEqual(client.get("/a.txt").body, b"text")
        self.assertEqual(client.get("/plaintext").status, 404)
        self.assertEqual(client.get("/a.txt", "Range: bytes=1-2").body, b"ex")

    def test_listing_and_fallback(self):
        client = self.connect(self.serve("--listing", "on", "--fallback", "a.txt", self.folder(a_txt="text")).port())
        self.assertIn(b"a.txt", client.get("/").body)
        self.assertEqual(client.get("/no/such/route").body, b"text")
        plain = self.connect(self.serve(self.folder(a_txt="text")).port())
        self.assertEqual(plain.get("/").status, 403)


class Listening(ProgramTest):
    def test_a_url_can_be_clicked_wherever_it_listens(self):
        for where, url in (("127.0.0.1:0", r"http://127\.0\.0\.1:\d+"), ("0.0.0.0:0", r"http://127\.0\.0\.1:\d+"),
                           ("localhost:0", r"http://127\.0\.0\.1:\d+"),
                           (":0", r"http://(localhost|127\.0\.0\.1):\d+"),
                           ("[::]:0", r"http://(localhost|127\.0\.0\.1):\d+")):
            with self.subTest(where):
                program = self.start("--listen", where)
                self.assertRegex(program.urls()[0], f"^{url}$")
                self.assertNotEqual(program.port(), 0)
                self.assertEqual(self.connect(program.port()).get().body, b"hello world")
                self.assert_stops(program)

    def test_ipv6(self):
        try:
            with socket.socket(socket.AF_INET6) as probe:
                probe.bind(("::1", 0))
        except OSError:  # a machine without: then that is what it says
            done = self.run_program("--listen", "[::1]:0")
            self.assertEqual(done.returncode, 1)
            self.assertIn("cannot listen on [::1]:0", done.stderr)
            return
        program = self.start("--listen", "[::1]:0")
        self.assertRegex(program.urls()[0], r"^http://\[::1\]:\d+$")
        client = self.connect(("::1", program.port()), socket.AF_INET6)
        self.assertEqual(client.get().body, b"hello world")
        self.assert_stops(program)

    def test_a_unix_socket(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.sock")
            with socket.socket(socket.AF_UNIX) as stale:
                stale.bind(path)  # and nobody answers there any more
            program = self.start("--listen", f"unix:{path}")
            self.assertEqual(program.urls(), [f"unix:{path}"])
            self.assertEqual(self.connect(path, socket.AF_UNIX).get().body, b"hello world")

            second = self.run_program("--listen", f"unix:{path}")
            self.assertEqual(second.returncode, 1)
            self.assertIn("address in use", second.stderr)
            self.assert_stops(program)
            self.assertFalse(os.path.exists(path))

    def test_an_abstract_name(self):
        name = f"fastserve-test-{os.getpid()}"
        program = self.start("--listen", f"unix:@{name}")
        self.assertEqual(program.urls(), [f"unix:@{name}"])
        self.assertEqual(self.connect(f"\0{name}", socket.AF_UNIX).get().body, b"hello world")
        self.assert_stops(program)

    def test_an_inherited_socket_outlives_the_program(self):
        with socket.socket() as parent:
            parent.bind(("127.0.0.1", 0))
            parent.listen(16)
            port = parent.getsockname()[1]
            for _ in range(2):  # the second takes over where the first left
                program = self.start("--listen", f"fd:{parent.fileno()}", pass_fds=[parent.fileno()])
                self.assertEqual(program.port(), port)
                self.assertEqual(self.connect(port).get().body, b"hello world")
                self.assert_stops(program)

    def test_several_listeners(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.sock")
            program = self.start("--listen", "127.0.0.1:0", "--listen", f"unix:{path}", "--listen", "127.0.0.1:0")
            first, second, third = program.urls(3)
            self.assertEqual(second, f"unix:{path}")
            self.assertNotEqual(first, third)
            for url in (first, third):
                self.assertEqual(self.connect(int(url.rsplit(":", 1)[1])).get().body, b"hello world")
            self.assertEqual(self.connect(path, socket.AF_UNIX).get().body, b"hello world")
            self.assert_stops(program)


if __name__ == "__main__":
    unittest.main()
