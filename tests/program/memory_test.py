#!/usr/bin/env python3
"""What an idle keep-alive connection costs in resident memory."""

import re
import resource
import time
import unittest

from harness import ProgramTest

CONNECTIONS = 10_000
AT_LEAST = 2_000  # where the hard limit of open descriptors is low
ALLOWED = 1024  # bytes each


def resident(pid: int) -> int:
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(r"^VmRSS:\s+(\d+) kB", status.read(), re.MULTILINE).group(1)) << 10


class IdleConnections(ProgramTest):
    def many(self, port: int, count: int) -> list:
        clients = []
        for _ in range(count):
            client = self.connect(port)
            self.assertEqual(client.get().status, 200)
            clients.append(client)
        return clients

    def test_they_are_cheap(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        count = min(CONNECTIONS, hard - 500)
        self.assertGreaterEqual(count, AT_LEAST, f"only {hard} open descriptors are allowed")
        program = self.serve("--workers", "2")
        # Code and buffers that the first requests touch are no connection's.
        for client in self.many(program.port(), 100):
            client.close()
        time.sleep(1)
        start = resident(program.pid)

        clients = self.many(program.port(), count)
        peak = resident(program.pid)
        time.sleep(2)
        idle = resident(program.pid)
        each = (idle - start) / count
        print(f"start {start >> 10} kB; {count} connections {peak >> 10} kB, idle {idle >> 10} kB: "
              f"{each:.0f} bytes each", flush=True)
        self.assertLessEqual(each, ALLOWED)

        for client in clients:
            client.close()
        self.assert_stops(program)


if __name__ == "__main__":
    unittest.main()
