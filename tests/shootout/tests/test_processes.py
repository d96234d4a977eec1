"""Starting, measuring and ending: nothing is left, whatever ends the harness."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import processes

HERE = Path(__file__).parent


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"


class Cleanup(unittest.TestCase):
    def ended_by(self, end, *words: str) -> int:
        """The exit status of a harness that was ended so; of all that it had started nothing may be left."""
        with tempfile.TemporaryDirectory() as folder:
            harness = subprocess.Popen([sys.executable, HERE / "leaves_nothing.py", Path(folder) / "log", *words],
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            pids = [int(word) for word in harness.stdout.readline().split()]
            self.assertGreaterEqual(len(pids), 3)
            end(harness)
            status = harness.wait(20)
            harness.stdout.close()
        for pid in pids:
            self.assertTrue(gone(pid), f"{pid} of {pids}")
        return status

    def test_ctrl_c(self):
        self.assertEqual(self.ended_by(lambda harness: harness.send_signal(signal.SIGINT)), 130)

    def test_sigterm(self):
        self.assertEqual(self.ended_by(lambda harness: harness.send_signal(signal.SIGTERM)), 130)

    def test_a_failure(self):
        self.assertEqual(self.ended_by(lambda harness: None, "fail"), 1)


class Measuring(unittest.TestCase):
    def setUp(self):
        self.addCleanup(processes.stop_all)

    def test_what_a_finished_process_used(self):
        use = processes.Process([sys.executable, "-c", "print('out'); sum(range(3_000_000))"], pipes=True).finish(20)
        self.assertEqual((use.output, use.errors, use.status), ("out\n", "", 0))
        self.assertGreater(use.user + use.system, 0)

    def test_one_that_does_not_end_is_ended(self):
        process = processes.Process(["sleep", "1000"], pipes=True)
        with self.assertRaisesRegex(processes.Failed, "did not end"):
            process.finish(0.05)
        self.assertTrue(gone(process.pid))

    def test_the_tree_is_measured_and_not_the_root_alone(self):
        burn = ("import time\nwhile time.process_time() < 0.2: pass\n"
                "print('done', flush=True)\ntime.sleep(1000)")
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log"
            process = processes.Process(["bash", "-c", '"$0" -c "$1" & wait', sys.executable, burn], log=log)
            deadline = time.monotonic() + 20
            while "done" not in log.read_text() and time.monotonic() < deadline:
                os.sched_yield()
            self.assertEqual(len(processes.tree(process.pid)), 2)
            self.assertGreater(process.cpu_us(), 200_000)
            self.assertGreater(process.resident_kib(), 4_000)
            self.assertLessEqual(process.proportional_kib(), process.resident_kib())
            process.stop()

    def test_pinning(self):
        cpu = processes.cpus()[-1]
        use = processes.Process([sys.executable, "-c", "import os; print(os.sched_getaffinity(0))"], on=[cpu],
                                pipes=True).finish(20)
        self.assertEqual(use.output.strip(), f"{{{cpu}}}")

    def test_a_server_that_ends_by_itself_says_its_last_words(self):
        with tempfile.TemporaryDirectory() as folder:
            process = processes.Process(["bash", "-c", "echo no such port; exit 1"], log=Path(folder) / "log")
            with self.assertRaisesRegex(processes.Failed, "ended by itself: no such port"):
                process.wait_until_listening(processes.free_port())

    def test_a_program_that_is_not_there(self):
        with self.assertRaisesRegex(processes.Failed, "no-such-program"):
            processes.Process(["no-such-program"])

    def test_ports_differ(self):
        self.assertNotEqual(processes.free_port(), processes.free_port())


if __name__ == "__main__":
    unittest.main()
