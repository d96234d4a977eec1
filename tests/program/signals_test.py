#!/usr/bin/env python3
"""How the program ends, and what its admin listener says meanwhile."""

import os
import re
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from harness import DEADLINE, PROGRAM, ProgramTest, eventually

UNFINISHED = b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nfirst"


class Ending(ProgramTest):
    def test_term_and_int_stop_it(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            program = self.serve()
            self.assertEqual(self.connect(program.port()).get().status, 200)
            program.send(number)
            self.assertEqual(program.wait(), 0, program.said())
            self.assertEqual(program.lines[-1], "fastserve: stopped")
            with self.assertRaises(ConnectionRefusedError):
                self.connect(program.port())

    def test_hup_is_logged_and_ignored(self):
        program = self.serve()
        client = self.connect(program.port())
        for count in (1, 2):
            program.send(signal.SIGHUP)
            program.wait_for_lines("SIGHUP", count)
            self.assertEqual(client.get().status, 200)
        self.assert_stops(program)

    def test_one_that_comes_before_it_serves_cuts_nobody(self):
        """It listens on the first address, where a client has connected, and is about to on the others."""
        with tempfile.TemporaryDirectory() as folder:
            others = [word for _ in range(300) for word in ("--listen", "127.0.0.1:0")]
            program = self.start("--listen", f"unix:{folder}/first", *others)
            deadline = time.monotonic() + DEADLINE
            while True:
                try:
                    client = self.connect(f"{folder}/first", socket.AF_UNIX)
                    break
                except (FileNotFoundError, ConnectionRefusedError):
                    self.assertLess(time.monotonic(), deadline, program.said())
            program.send(signal.SIGHUP)
            self.assertEqual(client.get().status, 200)
            program.wait_for_lines("SIGHUP")
            client.close()
            self.assert_stops(program)

    def test_what_is_in_flight_finishes(self):
        program = self.serve("--grace", "1m")
        idle, busy = self.connect(program.port()), self.connect(program.port())
        self.assertEqual(idle.get().status, 200)
        self.assertEqual(busy.get().status, 200)
        busy.send(UNFINISHED)
        self.assertEqual(self.connect(program.port()).get().status, 200)  # all that was sent before has arrived
        program.send(signal.SIGTERM)
        self.assertTrue(idle.at_end())
        self.assertIsNone(program.process.poll())
        busy.send(b"after")
        reply = busy.read()
        self.assertEqual((reply.status, reply.body, reply.field("Connection")), (200, b"firstafter", "close"))
        self.assertTrue(busy.at_end())
        busy.close()  # or it is waited for, in case it still sends
        self.assertEqual(program.wait(), 0, program.said())

    def test_what_does_not_finish_is_cut_and_said(self):
        program = self.serve("--grace", "300ms")
        client = self.connect(program.port())
        client.send(UNFINISHED)
        self.assertEqual(self.connect(program.port()).get().status, 200)
        started = time.monotonic()
        self.assertEqual(program.stop(), 1)
        self.assertGreaterEqual(time.monotonic() - started, 0.3)
        self.assertRegex(program.lines[-1], r"^fastserve: warning: stopped; cut 1 connection")

    def test_a_second_signal_ends_at_once(self):
        for first, second in ((signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGINT)):
            program = self.serve("--drain-delay", "1h", "--grace", "1h")
            client = self.connect(program.port())
            client.send(UNFINISHED)
            self.assertEqual(self.connect(program.port()).get().status, 200)
            program.send(first)
            program.wait_for_lines("draining")
            self.assertIsNone(program.process.poll())
            program.send(second)
            self.assertEqual(program.wait(), 1, program.said())

    def test_a_closed_log_is_no_reason_to_end(self):
        """As in `fastserve 2>&1 | head -1`."""
        reading, writing = os.pipe()
        process = subprocess.Popen([PROGRAM, "--listen", "127.0.0.1:0"], stdin=subprocess.DEVNULL, stderr=writing)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        os.close(writing)
        with os.fdopen(reading) as log:
            port = None
            while port is None:
                found = re.search(r"serving on http://127\.0\.0\.1:(\d+) ", log.readline())
                port = int(found.group(1)) if found else None
        process.send_signal(signal.SIGHUP)
        self.assertEqual(self.connect(port).get().status, 200)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(DEADLINE), 0)


class DrainDelay(ProgramTest):
    def test_the_order_of_a_drain(self):
        program = self.serve("--admin", "127.0.0.1:0", "--drain-delay", "1h", "--grace", "1h", "--workers", "2")
        admin = self.connect(program.admin_port())
        self.assertEqual((admin.get("/readyz").status, admin.get("/livez").status), (200, 200))
        idle = self.connect(program.port())
        self.assertIsNone(idle.get().field("Connection"))

        program.send(signal.SIGTERM)
        eventually(lambda: admin.get("/readyz").status == 503, "/readyz answers 503")
        self.assertEqual(admin.get("/livez").status, 200)
        # An idle connection may send one more request, and accepting goes on, but answers say close: as soon as their
        # worker has heard of it, which is a moment later.
        eventually(lambda: idle.get().field("Connection") == "close", "an old connection is told to close")
        self.assertTrue(idle.at_end())
        late = []

        def closed_by_a_new_connection():
            late.append(self.connect(program.port()))
            return late[-1].get().field("Connection") == "close"

        eventually(closed_by_a_new_connection, "a new connection is told to close")
        self.assertTrue(late[-1].at_end())
        self.assertEqual(admin.get("/readyz", "Connection: close").status, 503)
        for client in (idle, *late):
            client.close()
        gone = lambda: b"\nconnections 0\n" in b"\n" + self.connect(program.admin_port()).get("/stats").body
        eventually(gone, "both have left")
        program.send(signal.SIGTERM)
        self.assertEqual(program.wait(), 0, program.said())  # nothing was cut

    def test_the_delay_ends(self):
        program = self.serve("--drain-delay", "300ms")
        started = time.monotonic()
        self.assert_stops(program)
        self.assertGreaterEqual(time.monotonic() - started, 0.3)

    def test_ready_is_said_no_more_while_requests_finish(self):
        program = self.serve("--admin", "127.0.0.1:0", "--grace", "1h")
        busy = self.connect(program.port())
        busy.send(UNFINISHED)
        self.assertEqual(self.connect(program.port()).get().status, 200)
        program.send(signal.SIGTERM)

        def refused():
            with socket.socket() as attempt:
                return attempt.connect_ex(("127.0.0.1", program.port())) != 0

        eventually(refused, "the listener is closed")
        self.assertEqual(self.connect(program.admin_port()).get("/readyz").status, 503)
        busy.send(b"after")
        self.assertEqual(busy.read().status, 200)
        busy.close()
        self.assertEqual(program.wait(), 0, program.said())


class Admin(ProgramTest):
    def setUp(self):
        self.program = self.serve("--admin", "127.0.0.1:0", "--workers", "2")
        self.admin = self.connect(self.program.admin_port())

    def stats(self) -> dict[str, int]:
        reply = self.admin.get("/stats")
        self.assertEqual((reply.status, reply.field("Content-Type")), (200, "text/plain; charset=utf-8"))
        lines = reply.body.decode().splitlines()
        for line in lines:
            self.assertRegex(line, r"^[a-z0-9_]+ \d+$")
        found = {name: int(value) for name, value in (line.split(" ") for line in lines)}
        self.assertEqual(len(found), len(lines))
        return found

    def test_counters(self):
        before = self.stats()
        for name in ("connections", "requests", "connection_pool_hits", "connection_pool_misses",
                     "exchange_pool_in_use", "buffer_pool_high_water", "buffer_pool_bytes_retained",
                     "worker_0_connections", "worker_1_requests"):
            self.assertIn(name, before)
        self.assertNotIn("worker_2_requests", before)
        self.assertEqual((before["connections"], before["requests"]), (0, 0))  # the admin listener's do not count
        clients = [self.connect(self.program.port()) for _ in range(10)]
        for client in clients:
            for _ in range(3):
                self.assertEqual(client.get().status, 200)
        now = self.stats()
        self.assertEqual((now["connections"], now["requests"]), (10, 30))
        self.assertEqual(now["worker_0_connections"] + now["worker_1_connections"], 10)
        self.assertEqual(now["worker_0_requests"] + now["worker_1_requests"], 30)
        for client in clients:
            client.close()
        eventually(lambda: self.stats()["connections"] == 0, "connections are counted out")
        now = self.stats()
        self.assertEqual(now["worker_0_closed"] + now["worker_1_closed"], 10)

    def test_it_serves_nothing_else(self):
        self.assertEqual(self.admin.get("/").body, b"/livez\n/readyz\n/stats\n")
        self.assertEqual(self.admin.get("/json").status, 404)
        self.assertEqual(self.connect(self.program.port()).get("/stats").status, 404)

    def test_a_unix_socket(self):
        program = self.serve("--admin", f"unix:@fastserve-admin-{os.getpid()}")
        client = self.connect(f"\0fastserve-admin-{os.getpid()}", socket.AF_UNIX)
        self.assertEqual(client.get("/livez").body, b"ok\n")
        self.assert_stops(program)


if __name__ == "__main__":
    unittest.main()
