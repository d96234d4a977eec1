"""Reading one answer, and who is thrown out for it."""

import socket
import threading
import unittest

import answers


class Answer(unittest.TestCase):
    def ask(self, *pieces: bytes, upload: int = 0) -> answers.Answer:
        """The answer that a peer gives in these pieces before it closes."""
        listener = socket.create_server(("127.0.0.1", 0))

        def serve() -> None:
            with listener, listener.accept()[0] as peer:
                got = b""
                while b"\r\n\r\n" not in got or len(got.partition(b"\r\n\r\n")[2]) < upload:
                    got += peer.recv(65536)
                for piece in pieces:
                    peer.sendall(piece)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            return answers.ask(listener.getsockname()[1], "/", upload=upload)
        finally:
            thread.join()

    def test_with_a_length(self):
        answer = self.ask(b"HTTP/1.1 200 OK\r\nServer: x\r\nContent-", b"Length: 5\r\n\r\nhe", b"llo")
        self.assertEqual((answer.status, answer.body, answer.fields), (200, b"hello", ("Server", "Content-Length")))
        self.assertEqual(answer.response_bytes, len("HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 5\r\n\r\nhello"))

    def test_chunked(self):
        wire = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n"
        answer = self.ask(*(wire[i:i + 1] for i in range(len(wire))))
        self.assertEqual((answer.body, answer.response_bytes), (b"hello", len(wire)))

    def test_an_upload(self):
        self.assertEqual(self.ask(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", upload=1000).body, b"ok")

    def test_what_is_no_answer(self):
        for wire in (b"", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", b"nonsense\r\n\r\n",
                     b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokay"):
            with self.subTest(wire), self.assertRaises(answers.NoAnswer):
                self.ask(wire)

    def test_faults(self):
        right = answers.Answer(200, b"hello", (), 0)
        self.assertIsNone(answers.fault(right, b"hello", "bytes"))
        self.assertIn("503", answers.fault(answers.Answer(503, b"hello", (), 0), b"hello", "bytes"))
        self.assertIn("hello", answers.fault(right, b"hello world", "bytes"))

    def test_json_is_compared_by_its_value(self):
        one, other = b'{"a":1,"b":"/"}', b'{"b":"\\/","a":1}'
        self.assertIsNone(answers.fault(answers.Answer(200, other, (), 0), one, "json"))
        self.assertIsNotNone(answers.fault(answers.Answer(200, other, (), 0), one, "bytes"))
        self.assertIsNotNone(answers.fault(answers.Answer(200, b'{"a":2,"b":"/"}', (), 0), one, "json"))


if __name__ == "__main__":
    unittest.main()
