"""What a server answers, asked once before anything is timed: only those that answer alike are compared."""

import hashlib
import json
import socket
from dataclasses import dataclass


class NoAnswer(Exception):
    """What came is no whole HTTP answer; the text says what is wrong with it."""


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes
    fields: tuple[str, ...]  # the names, as they were sent
    response_bytes: int  # with the head

    def recorded(self, same: str) -> dict:
        return {"status": self.status, "body_sha256": hashlib.sha256(canonical(self.body, same)).hexdigest(),
                "bytes": len(self.body), "response_bytes": self.response_bytes}


def canonical(body: bytes, same: str) -> bytes:
    """What two bodies must have in common: their bytes, or, as JSON, their value."""
    if same != "json":
        return body
    try:
        return json.dumps(json.loads(body), sort_keys=True).encode()
    except ValueError:
        return body


def _receive(peer: socket.socket, got: bytearray) -> None:
    piece = peer.recv(65536)
    if not piece:
        raise NoAnswer(f"the connection was closed after {len(got)} bytes")
    got += piece


def _chunks(peer: socket.socket, got: bytearray, at: int) -> tuple[bytes, int]:
    """A chunked body that begins at `at`, and where it ends."""
    def line(start: int) -> int:
        while (end := got.find(b"\r\n", start)) < 0:
            _receive(peer, got)
        return end

    body = bytearray()
    while True:
        end = line(at)
        size = int(bytes(got[at:end]).split(b";")[0], 16)
        at = end + 2
        while len(got) < at + size + 2:
            _receive(peer, got)
        if size == 0:
            return bytes(body), line(at) + 2
        body += got[at:at + size]
        at += size + 2


def ask(port: int, path: str, *, upload: int = 0, seconds: float = 10) -> Answer:
    """GET, or POST with so many bytes of body, on a connection that may stay."""
    head = f"{'POST' if upload else 'GET'} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
    head += f"Content-Length: {upload}\r\n\r\n" if upload else "\r\n"
    got = bytearray()
    try:
        with socket.create_connection(("127.0.0.1", port), seconds) as peer:
            peer.sendall(head.encode())
            if upload:
                peer.sendall(b"x" * upload)
            while (end := got.find(b"\r\n\r\n")) < 0:
                _receive(peer, got)
            lines = bytes(got[:end]).decode("latin-1").split("\r\n")
            fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
            at = end + 4
            if fields.get("transfer-encoding", "").lower() == "chunked":
                body, end = _chunks(peer, got, at)
            else:
                end = at + int(fields.get("content-length", 0))
                while len(got) < end:
                    _receive(peer, got)
                body = bytes(got[at:end])
            if len(got) > end:
                raise NoAnswer(f"{len(got) - end} bytes followed the answer")
            status = int(lines[0].split()[1])
    except (OSError, ValueError, IndexError) as error:
        raise NoAnswer(f"{type(error).__name__}: {error}") from None
    return Answer(status, body, tuple(line.partition(":")[0] for line in lines[1:]), end)


def fault(answer: Answer, expected: bytes, same: str) -> str | None:
    """Why an answer throws its server out; None if it is right."""
    if answer.status != 200:
        return f"it answers {answer.status}"
    if canonical(answer.body, same) != canonical(expected, same):
        return f"it answers {answer.body[:60]!r}, not {expected[:60]!r}"
    return None
