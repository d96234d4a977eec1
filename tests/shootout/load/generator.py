"""fastserve-load as a process, for tests. The environment variable FASTSERVE_LOAD names the program."""

import json
import os
import signal
import subprocess

LOAD = os.environ.get("FASTSERVE_LOAD", "")
DEADLINE = 60.0


class Run:
    """A run that goes on until report() or stop() is asked for."""

    def __init__(self, *arguments: str):
        self.arguments = arguments
        self.process = subprocess.Popen([LOAD, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)

    def report(self, status: int = 0) -> dict:
        said, complained = self.process.communicate(timeout=DEADLINE)
        if self.process.returncode != status or complained:
            command = " ".join(self.arguments)
            raise AssertionError(f"{command}: ended with {self.process.returncode}\n{said}{complained}")
        return json.loads(said)

    def send(self, number: signal.Signals):
        self.process.send_signal(number)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
