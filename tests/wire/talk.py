"""Sends cases to a server on 127.0.0.1, many at once, and notes what comes back.

Whether a connection is kept, and whether more comes than should, is found out by asking once more: the answer to that
request is behind all others. So nothing but the cases that must not be answered takes time.
"""

import asyncio
import contextlib
import random
import socket

from answers import Malformed, Reader
from cases import Case
from judge import Outcome

PATIENCE = 20.0  # for what must happen; only failures take so long
QUIET = 0.5  # for what must not
AT_ONCE = 192
PIECES = 500  # at most, of the middle of one case
BEGINNING, ENDING = 200, 20

PROBE_BODY = b"is this connection still in use?"
PROBE = (b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(PROBE_BODY)) + PROBE_BODY


def pieces(data: bytes, cut) -> list[bytes]:
    """`cut`: bytes a piece, 0 for one piece, or a random.Random. The middle of what is long comes in larger ones."""
    least = len(data) // PIECES + 1
    result, at = [], 0
    while at < len(data):
        size = len(data)
        if cut:
            size = cut if isinstance(cut, int) else cut.choice((1, 1, 2, 3, 5, 8, 21, 60, 200))
        if cut and BEGINNING <= at < len(data) - ENDING:
            size = min(max(least, size), len(data) - ENDING - at)
        result.append(data[at:at + size])
        at += size
    return result


class Conversation:
    def __init__(self, port: int, case: Case, cut):
        self.port, self.case, self.cut = port, case, case.pieces or cut
        start = case.send.lstrip(b"\r\n")
        self.reader = Reader([start.startswith(b"HEAD ")])
        self.outcome = Outcome(half_closed=case.half_close)
        self.changed = asyncio.Event()

    async def run(self) -> Outcome:
        self.loop = asyncio.get_running_loop()
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self.socket:
            await self.loop.sock_connect(self.socket, ("127.0.0.1", self.port))
            receiving = asyncio.create_task(self.receive())
            try:
                await self.talk()
            finally:
                receiving.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await receiving
        return self.note()

    async def talk(self):
        case = self.case
        await self.send(case.send)
        if case.allow.get("waits"):
            return await self.until(lambda: self.reader.size or self.outcome.closed, patience=QUIET)
        if case.then is not None:
            if not await self.until(lambda: self.reader.size or self.outcome.closed):
                return self.outcome.faults.append("nothing came before the body")
            await self.send(case.then)
        if case.half_close:
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_WR)
        if case.half_close or case.want.get("closes"):
            await self.until(lambda: self.outcome.closed)
            return
        wanted = case.want.get("answers", 1)
        await self.until(lambda: self.outcome.closed or len(self.whole()) >= wanted)
        if not self.outcome.closed:
            await self.send(PROBE)
            if not await self.until(lambda: self.outcome.closed or self.probed()):
                self.outcome.faults.append("another request found no answer")

    def whole(self):
        return [answer for answer in self.reader.final() if answer.whole]

    def probed(self) -> bool:
        return any(answer.body == PROBE_BODY for answer in self.whole()[-1:])

    async def send(self, data: bytes):
        with contextlib.suppress(OSError):  # what it means shows in what is received
            for piece in pieces(data, self.cut):
                await self.send_one(piece)
                if self.cut:
                    await asyncio.sleep(0)
                if self.outcome.closed:
                    return

    async def send_one(self, piece: bytes):
        try:
            sent = self.socket.send(piece)
        except BlockingIOError:
            sent = 0
        if sent < len(piece):
            await asyncio.wait_for(self.loop.sock_sendall(self.socket, piece[sent:]), PATIENCE)

    async def receive(self):
        try:
            while data := await self.loop.sock_recv(self.socket, 256 * 1024):
                self.reader.feed(data)
                self.changed.set()
            self.reader.end()
        except Malformed as fault:
            self.outcome.faults.append(f"malformed: {fault}")
        except OSError as fault:
            self.outcome.faults.append(f"reset: {fault.strerror}")
        self.outcome.closed = True
        self.changed.set()

    async def until(self, condition, patience: float = PATIENCE) -> bool:
        end = self.loop.time() + patience
        while not condition():
            self.changed.clear()
            try:
                await asyncio.wait_for(self.changed.wait(), end - self.loop.time())
            except asyncio.TimeoutError:
                return False
        return True

    def note(self) -> Outcome:
        o, case = self.outcome, self.case
        o.answers, o.size = self.reader.answers, self.reader.size
        if self.probed():
            o.answers = o.answers[:-1]
        texts = case.allow.get("hides", []) + case.want.get("hides", [])
        o.hidden = {text: not self.reader.has(text.encode("latin-1")) for text in texts}
        return o


async def talk(port: int, cases: list[Case], cuts: dict) -> dict[str, dict[str, Outcome]]:
    """The outcome of each case by the name of each cut; random ones are seeds, so that each case has its own."""
    at_once = asyncio.Semaphore(AT_ONCE)

    async def one(case: Case, cut):
        if isinstance(cut, str):
            cut = random.Random(f"{cut} {case.id}")
        conversation = Conversation(port, case, cut)
        if case.allow.get("waits"):
            return await conversation.run()
        async with at_once:
            return await conversation.run()

    everything = [(case, name, cut) for name, cut in cuts.items() for case in cases]
    everything.sort(key=lambda item: "waits" not in item[0].allow)  # those take their time, and nothing else
    outcomes = await asyncio.gather(*(one(case, cut) for case, _, cut in everything))
    result: dict[str, dict[str, Outcome]] = {name: {} for name in cuts}
    for (case, name, _), outcome in zip(everything, outcomes):
        result[name][case.id] = outcome
    return result


def known(port: int) -> dict[str, str]:
    """The validators of /static/file.txt."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as s:
        s.sendall(b"HEAD /static/file.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        reader = Reader([True])
        while data := s.recv(65536):
            reader.feed(data)
    fields = reader.answers[0].fields
    return {"etag": fields["etag"][0], "lastmod": fields["last-modified"][0]}
