"""Servers that misbehave on purpose, and in exactly one way."""

import socket
import threading
import time

GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


class Fake:
    """Answers each request with what `answer(self, number)` returns: bytes; None to say nothing and wait; b"" to close.

    Requests are counted from 0 over all connections. The threads of all connections end with stop().
    """

    def __init__(self, answer=lambda fake, number: GOOD, at_once=True):
        self.answer = answer
        self.at_once = at_once  # else an answer leaves in two parts, cut at any place
        self.requests = 0
        self.peers: list[str] = []
        self.lock = threading.Lock()
        self.began: float | None = None  # the first request
        self.stalled = False
        self.stopping = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/"
        self.threads = [threading.Thread(target=self._accept, daemon=True)]
        self.threads[0].start()

    def _accept(self):
        while True:
            try:
                peer, address = self.listener.accept()
            except OSError:
                return
            self.peers.append(address[0])
            thread = threading.Thread(target=self._serve, args=(peer,), daemon=True)
            self.threads.append(thread)
            thread.start()

    def _serve(self, peer: socket.socket):
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer.settimeout(0.05)
        rest = b""
        with peer:
            while not self.stopping.is_set():
                try:
                    part = peer.recv(65536)
                except TimeoutError:
                    continue
                except OSError:
                    return
                if not part:
                    return
                rest += part
                while b"\r\n\r\n" in rest:
                    _, rest = rest.split(b"\r\n\r\n", 1)
                    if not self._reply(peer):
                        return

    def _reply(self, peer: socket.socket) -> bool:
        with self.lock:
            number = self.requests
            self.requests += 1
            self.began = self.began or time.monotonic()
        reply = self.answer(self, number)
        if reply is None:
            self.stopping.wait()
        if not reply:
            return False
        cut = 0 if self.at_once else number % len(reply)
        try:
            for piece in (reply[:cut], reply[cut:]):
                peer.sendall(piece)
        except OSError:
            return False
        return True

    def stop(self):
        self.stopping.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self.threads:
            thread.join(10)


def delays(seconds: float):
    """Every answer comes so late, whatever else is going on."""
    def answer(fake: Fake, number: int) -> bytes:
        time.sleep(seconds)
        return GOOD
    return answer


def stalls_once(after: float, seconds: float):
    """Nobody is answered for so long, once; before and after at once."""
    def answer(fake: Fake, number: int) -> bytes:
        with fake.lock:
            if not fake.stalled and time.monotonic() - fake.began >= after:
                fake.stalled = True
                time.sleep(seconds)
        return GOOD
    return answer


def every(nth: int, other: bytes | None):
    """Each `nth` answer is another one."""
    return lambda fake, number: other if number % nth == nth - 1 else GOOD
