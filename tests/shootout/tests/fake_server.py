"""A server of one connection after another, as fast as it is told: fake_server.py PORT DELAY_MS BODY [RIGHT]

Where RIGHT is given, only so many answers are right; of those after them each second one is a byte too long.
"""
import socket
import sys
import time

port, delay, body = int(sys.argv[1]), float(sys.argv[2]) / 1000, sys.argv[3].encode()
right = int(sys.argv[4]) if len(sys.argv) > 4 else 1 << 60
answered = 0

with socket.create_server(("127.0.0.1", port), backlog=128) as listener:
    while True:
        peer, _ = listener.accept()
        with peer:
            try:
                while request := peer.recv(65536):
                    time.sleep(delay)
                    answered += 1
                    text = body + b"!" if answered > right and answered % 2 == 0 else body
                    peer.sendall(b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: %d\r\n\r\n%b"
                                 % (len(text), text))
            except OSError:
                pass
