#!/usr/bin/env python3
"""What an idle keep-alive connection costs in resident memory, and that it is given back."""

import re
import resource
import time
import unittest

from harness import ProgramTest, eventually

CONNECTIONS = 10_000
AT_LEAST = 2_000  # where the hard limit of open descriptors is low
ALLOWED = 320  # bytes each
BACK_WITHIN = 2 << 20
SECONDS = 10


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

    def test_they_are_cheap_and_leave_nothing_behind(self):
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

        # All at once, after all have been idle for a while.
        for client in clients:
            client.close()

        def left() -> int:
            return resident(program.pid) - start

        try:
            eventually(lambda: left() <= BACK_WITHIN, f"within 2 MiB of {start >> 10} kB", SECONDS)
        finally:
            print(f"after they left: {(start + left()) >> 10} kB", flush=True)
        self.assert_stops(program)


if __name__ == "__main__":
    unittest.main()
