"""Processes that the harness starts: pinned, measured as a whole tree, and ended, whatever becomes of the harness.

Only what was started here is ever signalled. A daemon that one of them leaves behind comes back as a child of the
harness (it is a subreaper), and counts as started here.
"""

import ctypes
import os
import re
import resource
import selectors
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
FIRST_PORT, LAST_PORT = 18_000, 30_000  # below the ports that connections are made from

_libc = ctypes.CDLL(None, use_errno=True)
_started: list["Process"] = []
_next_port = FIRST_PORT


class Failed(Exception):
    """A process that did not do what it was started for; the text says which and why."""


def prepare() -> None:
    """For the harness as a whole: as many descriptors as are allowed, and orphans come back."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def cpus() -> list[int]:
    return sorted(os.sched_getaffinity(0))


def free_port() -> int:
    """A loopback port that nobody listens on, another one each time."""
    global _next_port
    for _ in range(LAST_PORT - FIRST_PORT):
        port = _next_port
        _next_port = port + 1 if port + 1 < LAST_PORT else FIRST_PORT
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise Failed("no free port")


def children(pid: int) -> list[int]:
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            found += [int(child) for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split()]
    except OSError:
        pass
    return found


def tree(pid: int) -> list[int]:
    found = [pid]
    for child in children(pid):
        found += tree(child)
    return found


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the third one, the state; empty when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []


def _identity(pid: int) -> tuple[int, str]:
    """A pid with its start time: what must not be mistaken for a later process of the same number."""
    fields = _stat(pid)
    return pid, fields[19] if fields and fields[0] != "Z" else ""


def _cpu_ns(pid: int) -> int:
    """The scheduler's nanoseconds of the threads that live; where threads have ended, the process's ticks."""
    live = 0
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            live += int(Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split()[0])
    except OSError:
        pass
    fields = _stat(pid)
    whole = (int(fields[11]) + int(fields[12])) * TICK_NS if fields else 0
    return whole if whole > live + 3 * TICK_NS else live


def _status(pid: int, *names: str) -> int:
    """The sum of some lines of /proc/PID/status."""
    total = 0
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name in names:
                total += int(value.split()[0])
    except OSError:
        pass
    return total


def _switches(pid: int) -> int:
    total = 0
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            total += _status(int(task), "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")
    except OSError:
        pass
    return total


def _proportional_kib(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


@dataclass(frozen=True)
class Use:
    """What a finished process has used."""

    user: float
    system: float
    seconds: float
    status: int
    output: str
    errors: str
    switches: int = 0


class Process:
    """One started command with all that it starts in turn."""

    def __init__(self, command: list[str], *, on: list[int] | None = None, env: dict[str, str] | None = None,
                 log: Path | None = None, cwd: Path | None = None, pipes: bool = False):
        def pin() -> None:  # in the child
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if on:
                os.sched_setaffinity(0, on)

        self.command, self.log = command, log
        self.began = time.monotonic()
        output = subprocess.PIPE if pipes else open(log, "wb") if log else subprocess.DEVNULL
        try:
            self._popen = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, cwd=cwd, env={**os.environ, **(env or {})},
                stderr=subprocess.PIPE if pipes else subprocess.STDOUT, start_new_session=True, preexec_fn=pin)
        except OSError as error:
            raise Failed(f"{command[0]}: {error.strerror}") from None
        finally:
            if not pipes and log:
                output.close()
        self.pid = self._popen.pid
        _started.append(self)

    def alive(self) -> bool:
        return self._popen.poll() is None

    def wait_until_listening(self, port: int, seconds: float = 20) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if not self.alive():
                raise Failed(f"it ended by itself{self.last_words()}")
            try:
                socket.create_connection(("127.0.0.1", port), 0.5).close()
                return
            except OSError:
                time.sleep(0.02)
        raise Failed(f"it did not listen within {seconds:g} s{self.last_words()}")

    def last_words(self) -> str:
        text = self.log.read_text(errors="replace").strip() if self.log and self.log.exists() else ""
        plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
        return f": {plain.splitlines()[-1][:200]}" if plain else ""

    def cpu_us(self) -> float:
        return sum(_cpu_ns(pid) for pid in tree(self.pid)) / 1000

    def resident_kib(self) -> int:
        return sum(_status(pid, "VmRSS") for pid in tree(self.pid))

    def proportional_kib(self) -> int:
        """As resident_kib, but what processes share is counted once."""
        return sum(_proportional_kib(pid) for pid in tree(self.pid))

    def switches(self) -> int:
        return sum(_switches(pid) for pid in tree(self.pid))

    def finish(self, seconds: float) -> Use:
        """Waits for the end of a process that was started with pipes."""
        try:
            output, errors = _drain(self._popen, seconds)
            _, status, used = os.wait4(self.pid, 0)
        except subprocess.TimeoutExpired:
            self.stop()
            raise Failed(f"{self.command[0]} did not end within {seconds:g} s") from None
        self._popen.returncode = os.waitstatus_to_exitcode(status)
        _started.remove(self)
        return Use(used.ru_utime, used.ru_stime, time.monotonic() - self.began, self._popen.returncode, output, errors,
                   used.ru_nvcsw + used.ru_nivcsw)

    def stop(self, patience: float = 3) -> None:
        """SIGTERM to the root, then SIGKILL to whatever of the tree is left. Does nothing the second time."""
        if self not in _started:
            return
        members = {_identity(pid) for pid in tree(self.pid)}
        self._signal(self.pid, signal.SIGTERM)
        _wait_for(lambda: not self.alive(), patience)
        for pid, began in members:
            if began and _identity(pid) == (pid, began):
                self._signal(pid, signal.SIGKILL)
        self._popen.wait()
        _started.remove(self)
        for pipe in (self._popen.stdout, self._popen.stderr):
            if pipe:
                pipe.close()
        _end_orphans(patience)

    @staticmethod
    def _signal(pid: int, number: int) -> None:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def _drain(popen: subprocess.Popen, seconds: float) -> tuple[str, str]:
    """Both pipes to their ends; the process is left to be waited for, with what it used."""
    deadline = time.monotonic() + seconds
    parts: dict[object, list[bytes]] = {popen.stdout: [], popen.stderr: []}
    with selectors.DefaultSelector() as selector:
        for pipe in parts:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired(popen.args, seconds)
            for key, _ in selector.select(left):
                piece = os.read(key.fd, 65536)
                if piece:
                    parts[key.fileobj].append(piece)
                else:
                    selector.unregister(key.fileobj)
    texts = [b"".join(pieces).decode(errors="replace") for pieces in parts.values()]
    for pipe in parts:
        pipe.close()
    return texts[0], texts[1]


def _wait_for(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.005)


def _end_orphans(patience: float) -> None:
    """Ends what came back to us because its parent has ended, and waits for it."""
    def orphans() -> list[int]:
        ours = {process.pid for process in _started}
        return [pid for pid in children(os.getpid()) if pid not in ours]

    def gone() -> bool:
        for pid in orphans():
            for member in tree(pid):
                Process._signal(member, signal.SIGKILL)
            os.waitpid(pid, os.WNOHANG)
        return not orphans()

    _wait_for(gone, patience)


def stop_all() -> None:
    """Everything that was started, in the reverse order."""
    for process in reversed(list(_started)):
        process.stop()
    _end_orphans(3)
