#!/usr/bin/env python3
"""A source of raw TCP: 4,096-byte packets without end, one connection at a time.  tcp_source.py PORT"""
import socket
import sys

PACKET = b"x" * 4096

with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as listener:
    while True:
        peer, _ = listener.accept()
        with peer:
            try:
                while True:
                    peer.sendall(PACKET)
            except OSError:
                pass
