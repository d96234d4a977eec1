"""The program under test, and a client that sees every byte: what the tests of this folder share.

The program is named by the environment variable FASTSERVE_PROGRAM. Everything that waits has a deadline.
"""

import ctypes
import os
import re
import resource
import signal
import socket
import subprocess
import threading
import time
import unittest

PROGRAM = os.environ.get("FASTSERVE_PROGRAM", "")
# For whatever must happen, not for what must be quick: the machine may be busy, the build slow.
DEADLINE = 30.0

CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_SYS_RESOURCE = 1, 2, 24


def drop_capabilities(*numbers: int):
    """In the child before it becomes the program: takes from root what would let it through. Others have it not."""
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    for number in numbers:
        if libc.prctl(24, number, 0, 0, 0) != 0:  # PR_CAPBSET_DROP
            os._exit(97)


def limit_descriptors(soft: int, hard: int):
    """For Program(before=...): at most so many open descriptors, and no right to more."""
    def apply():
        drop_capabilities(CAP_SYS_RESOURCE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return apply


def eventually(condition, what: str, deadline: float = DEADLINE):
    """The first true value of `condition()`; fails if there is none in time."""
    end = time.monotonic() + deadline
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {deadline:g} s: {what}")
        time.sleep(0.01)


class Program:
    """A running program. Its log lines are read as they come; what it is stopped with is the test's business."""

    def __init__(self, *arguments: str, before=None, pass_fds=(), wrapper=()):
        if not PROGRAM:
            raise RuntimeError("FASTSERVE_PROGRAM names no program")
        self.lines: list[str] = []
        self._ended = False
        self._changed = threading.Condition()
        self.process = subprocess.Popen([*wrapper, PROGRAM, *arguments], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                        preexec_fn=before, pass_fds=pass_fds)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            with self._changed:
                self.lines.append(line.rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    @property
    def pid(self) -> int:
        return self.process.pid

    def said(self) -> str:
        with self._changed:
            return "\n".join(self.lines)

    def wait_for_lines(self, pattern: str, count: int = 1, deadline: float = DEADLINE) -> list[re.Match]:
        """The first `count` log lines that match."""
        end = time.monotonic() + deadline
        with self._changed:
            while True:
                found = [m for m in (re.search(pattern, line) for line in self.lines) if m]
                if len(found) >= count:
                    return found[:count]
                left = end - time.monotonic()
                if self._ended or left <= 0:
                    raise AssertionError(f"{pattern!r} was not said {count} times, but:\n" + "\n".join(self.lines))
                self._changed.wait(left)

    def urls(self, count: int = 1) -> list[str]:
        return [m.group(1) for m in self.wait_for_lines(r"^fastserve: serving on (\S+) with \d+ workers?$", count)]

    def port(self) -> int:
        return port_of(self.urls()[0])

    def admin_port(self) -> int:
        return port_of(self.wait_for_lines(r"^fastserve: admin on (\S+)$")[0].group(1))

    def send(self, number: int):
        self.process.send_signal(number)

    def wait(self, deadline: float = DEADLINE) -> int:
        """The exit status, and everything it said is in `lines`."""
        status = self.process.wait(deadline)
        self._reader.join(deadline)
        return status

    def stop(self) -> int:
        self.send(signal.SIGTERM)
        return self.wait()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join(DEADLINE)
        self.process.stderr.close()


def port_of(url: str) -> int:
    return int(url.rsplit(":", 1)[1])


class Reply:
    def __init__(self, status_line: bytes, lines: list[bytes], body: bytes):
        self.version, status, *reason = status_line.decode("ascii").split(" ", 2)
        self.status = int(status)
        self.reason = reason[0] if reason else ""
        self.fields = [tuple(part.strip() for part in line.decode("latin-1").split(":", 1)) for line in lines]
        self.body = body

    def field(self, name: str) -> str | None:
        found = [value for known, value in self.fields if known.lower() == name.lower()]
        if len(found) > 1:
            raise AssertionError(f"{name} is there {len(found)} times: {self.fields}")
        return found[0] if found else None


class Client:
    """One connection. `where` is a port of 127.0.0.1, or what socket.connect takes with its family."""

    def __init__(self, where, family: int = socket.AF_INET):
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.settimeout(DEADLINE)
        try:
            self.socket.connect(("127.0.0.1", where) if isinstance(where, int) else where)
        except OSError:
            self.socket.close()
            raise
        self.rest = b""

    def close(self):
        self.socket.close()

    def send(self, data: bytes):
        self.socket.sendall(data)

    def _more(self) -> bool:
        part = self.socket.recv(65536)
        self.rest += part
        return bool(part)

    def read(self, head: bool = False) -> Reply:
        """One response whose body has a Content-Length, as all of the program's have. `head`: it answers a HEAD."""
        while b"\r\n\r\n" not in self.rest:
            if not self._more():
                raise AssertionError(f"the connection ended within a head: {self.rest!r}")
        text, self.rest = self.rest.split(b"\r\n\r\n", 1)
        status_line, *lines = text.split(b"\r\n")
        reply = Reply(status_line, lines, b"")
        size = 0 if head or reply.status in (204, 304) else int(reply.field("Content-Length"))
        while len(self.rest) < size:
            if not self._more():
                raise AssertionError(f"the connection ended within a body: {self.rest!r}")
        reply.body, self.rest = self.rest[:size], self.rest[size:]
        return reply

    def get(self, target: str = "/", *lines: str, method: str = "GET") -> Reply:
        fields = "".join(line + "\r\n" for line in lines)
        self.send(f"{method} {target} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n".encode())
        return self.read(head=method == "HEAD")

    def at_end(self) -> bool:
        """Whether the peer has closed in order; waits for that, or for further bytes."""
        return not self.rest and self.socket.recv(1) == b""


class ProgramTest(unittest.TestCase):
    """A test that starts programs and connections, which end with it."""

    def start(self, *arguments: str, **how) -> Program:
        program = Program(*arguments, **how)
        self.addCleanup(program.kill)
        return program

    def serve(self, *arguments: str, **how) -> Program:
        """Started on a port the kernel chose, and ready."""
        program = self.start("--listen", "127.0.0.1:0", *arguments, **how)
        program.urls()
        return program

    def connect(self, where, family: int = socket.AF_INET) -> Client:
        client = Client(where, family)
        self.addCleanup(client.close)
        return client

    def run_program(self, *arguments: str, before=None) -> subprocess.CompletedProcess:
        """For what ends by itself."""
        return subprocess.run([PROGRAM, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=DEADLINE, preexec_fn=before)

    def assert_stops(self, program: Program, status: int = 0):
        self.assertEqual(program.stop(), status, program.said())
