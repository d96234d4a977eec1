"""Takes apart what a server sends, as it arrives. What is not an answer, to the letter, is an error."""

import re
from dataclasses import dataclass, field

STATUS_LINE = re.compile(rb"HTTP/1\.1 ([1-9]\d\d) [\t\x20-\x7e\x80-\xff]*")
FIELD_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*((?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*"
                        rb"[\x21-\x7e\x80-\xff])?)?)[ \t]*")
CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]+)")


class Malformed(Exception):
    pass


@dataclass
class Answer:
    status: int
    fields: dict[str, list[str]] = field(default_factory=dict)
    body: bytes = b""
    whole: bool = True

    def says(self, name: str, option: str) -> bool:
        return option in [part.strip().lower() for line in self.fields.get(name, []) for part in line.split(",")]


class Reader:
    """Feed it bytes; `answers` are those of which at least the head has come, interim ones included."""

    def __init__(self, heads: list[bool]):
        self.heads = heads  # whether the n-th request is HEAD; those behind are not
        self.answers: list[Answer] = []
        self.size = 0
        self._bytes = bytearray()
        self._begin = 0  # of the answer that is not whole yet
        self._wanted = 1  # bytes behind _begin without which there is no use in looking

    def feed(self, data: bytes):
        self._bytes += data
        self.size += len(data)
        while len(self._bytes) - self._begin >= self._wanted:
            if not self._read_one():
                return

    def final(self) -> list[Answer]:
        return [answer for answer in self.answers if answer.status >= 200]

    def has(self, text: bytes) -> bool:
        return text in self._bytes

    def end(self):
        """The connection has ended: what has no length ends with it, and everything else is cut short."""
        if self.answers and not self.answers[-1].whole and self._until_close(self.answers[-1]):
            self.answers[-1].body = bytes(self._bytes[self._body_at:])
            self.answers[-1].whole = True
        elif self._begin != len(self._bytes) and (not self.answers or self.answers[-1].whole):
            raise Malformed(f"ends within a head: {bytes(self._bytes[self._begin:][:80])!r}")

    @staticmethod
    def _until_close(answer: Answer) -> bool:
        return "content-length" not in answer.fields and "transfer-encoding" not in answer.fields

    def _read_one(self) -> bool:
        """Whether an answer became whole."""
        if self.answers and not self.answers[-1].whole:
            return self._read_body(self.answers[-1])
        at = self._bytes.find(b"\r\n\r\n", self._begin)
        if at < 0:
            self._wanted = len(self._bytes) - self._begin + 1
            return False
        answer = self._head(bytes(self._bytes[self._begin:at]))
        to_head = answer.status >= 200 and len(self.final()) < len(self.heads) and self.heads[len(self.final())]
        self.answers.append(answer)
        self._body_at = at + 4
        if to_head or answer.status < 200 or answer.status in (204, 304):
            return self._done(answer, b"", self._body_at)
        return self._read_body(answer)

    def _done(self, answer: Answer, body: bytes, end: int) -> bool:
        answer.body, answer.whole = body, True
        self._begin, self._wanted = end, 1
        return True

    def _read_body(self, answer: Answer) -> bool:
        answer.whole = False
        if "transfer-encoding" in answer.fields:
            return self._read_chunks(answer)
        if "content-length" in answer.fields:
            size = int(answer.fields["content-length"][0])
            if len(self._bytes) - self._body_at >= size:
                return self._done(answer, bytes(self._bytes[self._body_at:self._body_at + size]), self._body_at + size)
            self._wanted = self._body_at - self._begin + size
        else:
            self._wanted = len(self._bytes) - self._begin + 1
        return False

    def _read_chunks(self, answer: Answer) -> bool:
        at, body = self._body_at, bytearray()
        self._wanted = len(self._bytes) - self._begin + 1
        while True:
            line = self._bytes.find(b"\r\n", at)
            if line < 0:
                return False
            match = CHUNK_LINE.fullmatch(self._bytes, at, line)
            if not match:
                raise Malformed(f"chunk size {bytes(self._bytes[at:line])!r}")
            size, at = int(match.group(1), 16), line + 2
            if size == 0:
                break
            if len(self._bytes) < at + size + 2:
                return False
            body += self._bytes[at:at + size]
            if self._bytes[at + size:at + size + 2] != b"\r\n":
                raise Malformed("chunk data does not end in CRLF")
            at += size + 2
        end = self._bytes.find(b"\r\n", at)
        while end > at:
            if not FIELD_LINE.fullmatch(self._bytes, at, end):
                raise Malformed(f"trailer {bytes(self._bytes[at:end])!r}")
            at, end = end + 2, self._bytes.find(b"\r\n", end + 2)
        return end == at and self._done(answer, bytes(body), at + 2)

    @staticmethod
    def _head(text: bytes) -> Answer:
        first, *lines = text.split(b"\r\n")
        match = STATUS_LINE.fullmatch(first)
        if not match:
            raise Malformed(f"status line {first!r}")
        answer = Answer(int(match.group(1)))
        for line in lines:
            parts = FIELD_LINE.fullmatch(line)
            if not parts:
                raise Malformed(f"field line {line!r}")
            name = parts.group(1).decode().lower()
            answer.fields.setdefault(name, []).append(parts.group(2).decode("latin-1"))
        length = answer.fields.get("content-length", ["0"])
        if len(length) != 1 or not length[0].isdigit() or not length[0].isascii():
            raise Malformed(f"Content-Length {length}")
        if "transfer-encoding" in answer.fields:
            if "content-length" in answer.fields or answer.fields["transfer-encoding"] != ["chunked"]:
                raise Malformed("Transfer-Encoding is not chunked alone")
        return answer
