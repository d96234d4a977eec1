#!/usr/bin/env python3
"""System calls for a request, counted by strace while 64 connections go in lockstep: all send, then all read.

A bare epoll server needs 2.02: recv, send, and a share of one epoll_wait for 64 requests. Allowed are 0.06 more.

The count is that of a long run less that of a short one, so that what starts, connects and stops drops out. The client
shares one CPU with the worker, and the worker does not preempt it when it is woken (SCHED_BATCH): otherwise the
scheduler's mood, and not the server, decides how many requests one wake-up finds.
"""

import os
import re
import signal
import subprocess
import tempfile
import unittest

from harness import ProgramTest

CONNECTIONS = 64
SHORT, LONG = 20, 620
ALLOWED = 2.08

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
CPU = min(os.sched_getaffinity(0))


def share_a_cpu():
    os.sched_setaffinity(0, {CPU})
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


class SystemCalls(ProgramTest):
    def counts(self, rounds: int) -> dict[str, int]:
        with tempfile.NamedTemporaryFile("r") as table:
            program = self.start("--listen", "127.0.0.1:0", "--workers", "1", before=share_a_cpu,
                                 wrapper=("strace", "-f", "-c", "-U", "calls,name", "-o", table.name))
            try:
                port = program.port()
            except AssertionError as e:
                self.fail(f"strace cannot trace here (it needs ptrace, which a sandbox may forbid): {e}")
            clients = [self.connect(port) for _ in range(CONNECTIONS)]
            size = len(self.answer(clients[0]))
            for client in clients[1:]:
                self.assertEqual(len(self.answer(client)), size)
            for _ in range(rounds):
                for client in clients:
                    client.socket.sendall(REQUEST)
                for client in clients:
                    got = client.socket.recv(4096)
                    if len(got) != size or not got.startswith(b"HTTP/1.1 200 "):
                        self.fail(f"not one whole answer: {got!r}")
            for client in clients:
                client.close()
            with open(f"/proc/{program.pid}/task/{program.pid}/children", encoding="ascii") as children:
                os.kill(int(children.read().split()[0]), signal.SIGTERM)
            self.assertEqual(program.wait(), 0, program.said())
            rows = re.findall(r"^\s*(\d+)\s+(\w+)$", table.read(), re.MULTILINE)
        return {name: int(calls) for calls, name in rows if name != "total"}

    def answer(self, client) -> bytes:
        client.socket.sendall(REQUEST)
        return client.socket.recv(4096)

    def test_a_request_costs_two_and_a_share_of_the_wait(self):
        before = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, before)
        os.sched_setaffinity(0, {CPU})
        short, long = self.counts(SHORT), self.counts(LONG)
        requests = (LONG - SHORT) * CONNECTIONS
        each = {name: (count - short.get(name, 0)) / requests for name, count in long.items()}
        total = sum(each.values())
        print(f"{'call':16} a request")
        for name, count in sorted(each.items(), key=lambda item: -item[1]):
            if abs(count) >= 0.00005:
                print(f"{name:16} {count:9.4f}")
        print(f"{'all':16} {total:9.4f}  of {ALLOWED} allowed", flush=True)
        self.assertGreaterEqual(total, 2.0, "less than one recv and one send: the count is wrong")
        self.assertLessEqual(total, ALLOWED)

    def test_a_connection_of_one_request_is_accepted_with_it_and_ends_in_its_packet(self):
        with tempfile.NamedTemporaryFile("r") as trace:
            program = self.start("--listen", "127.0.0.1:0", "--workers", "1",
                                 wrapper=("strace", "-f", "-e", "trace=recvfrom,sendto", "-o", trace.name))
            port = program.port()
            other = self.connect(port)
            for _ in range(20):
                client = self.connect(port)
                self.assertEqual(other.get().status, 200)  # the worker has looked at its listener since
                client.socket.sendall(REQUEST.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
                self.assertEqual(client.read().status, 200)
                self.assertTrue(client.at_end())
            with open(f"/proc/{program.pid}/task/{program.pid}/children", encoding="ascii") as children:
                os.kill(int(children.read().split()[0]), signal.SIGTERM)
            self.assertEqual(program.wait(), 0, program.said())
            calls = trace.read()
        answers = re.findall(r'sendto\(\d+, "HTTP/1.1 200.*', calls)
        self.assertEqual(len(answers), 40, calls)
        # In every other one the end of the stream would follow in a packet of its own, or the answer wait for it.
        self.assertEqual(["MSG_MORE" in answer for answer in answers], [False, True] * 20, calls)
        # Behind the last answer the drain asks connections that wait for what may have come.
        serving = calls[:calls.rindex("sendto(")]
        self.assertNotIn("EAGAIN", serving, "a connection was accepted before its request had come")


if __name__ == "__main__":
    unittest.main()
