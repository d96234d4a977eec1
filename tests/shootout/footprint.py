"""What a server weighs: its program, its memory at rest, and its memory for connections that say nothing."""

import re
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Callable

import answers
import processes

SETTLE_SECONDS = 1.0  # until a server has done what it does after a request
LEAVE_SECONDS = 3.0  # until "after they have left"
CONNECTIONS_AN_ADDRESS = 20_000
IP_BIND_ADDRESS_NO_PORT = 24
EMPTY_ROUND = {"value": None, "server_cpu_us": None, "p50_ms": None, "p99_ms": None, "p999_ms": None, "max_ms": None,
               "errors": 0, "resident_kib": None, "load_cpu_seconds": None, "load_was_limit": False}


def size(program: Path) -> dict:
    """The program's size without symbols, and what it is linked with."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "program"
        shutil.copy(program, copy)
        subprocess.run(["strip", str(copy)], capture_output=True)
        stripped = copy.stat().st_size
    told = subprocess.run(["ldd", str(program)], capture_output=True, text=True).stdout
    libraries = sorted(set(re.findall(r"^\s*(?:.*/)?([\w.+-]+\.so[\w.]*)", told, re.MULTILINE)))
    return {**EMPTY_ROUND, "value": round(stripped / 1024, 1), "extra": {"libraries": libraries}}


def _connect(port: int, number: int, request: bytes) -> socket.socket:
    peer = socket.socket()
    try:
        peer.settimeout(10)
        peer.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
        peer.bind((f"127.0.{1 + number // CONNECTIONS_AN_ADDRESS}.1", 0))
        peer.connect(("127.0.0.1", port))
        peer.sendall(request)
        if not peer.recv(4096).startswith(b"HTTP/1.1 200"):
            raise answers.NoAnswer(f"connection {number + 1} was not answered 200")
    except BaseException:
        peer.close()
        raise
    return peer


def weigh(start: Callable[[], tuple[processes.Process, int]], connections: int, path: str,
          judge: Callable[[answers.Answer], None]) -> dict:
    """Of a server that was just started: resident memory with the connections and without them. `judge` raises NoAnswer
    for an answer that is not right."""
    process, port = start()
    peers: list[socket.socket] = []
    try:
        judge(answers.ask(port, path))
        time.sleep(SETTLE_SECONDS)
        begin, begin_proportional = process.resident_kib(), process.proportional_kib()
        request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
        for number in range(connections):
            peers.append(_connect(port, number, request))
        time.sleep(SETTLE_SECONDS)
        full = process.resident_kib()
        for peer in peers:
            peer.close()
        time.sleep(LEAVE_SECONDS)
        return {**EMPTY_ROUND, "resident_kib": full, "extra": {
            "start_kib": begin, "start_proportional_kib": begin_proportional, "full_kib": full,
            "after_kib": process.resident_kib(), "connections": connections,
            "bytes_a_connection": round((full - begin) * 1024 / connections, 1)}}
    finally:
        for peer in peers:
            peer.close()
        process.stop()
