"""What test_processes.py interrupts: starts a server with children and a daemon, prints their ids, and waits."""

import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import processes
import shootout

# A child that ignores SIGTERM, and a daemon that has left the session and lost its parent.
SCRIPT = """
(trap '' TERM; echo $BASHPID; while :; do sleep 1000; done) &
(setsid bash -c 'echo $$; exec sleep 1000' &)
wait
"""


def work() -> int:
    processes.prepare()
    log = Path(sys.argv[1])
    processes.Process(["bash", "-c", SCRIPT], log=log)
    while len(log.read_text().split()) < 2:
        time.sleep(0.01)
    print(*processes.children(processes.os.getpid()), *log.read_text().split(), flush=True)
    if sys.argv[2:] == ["fail"]:
        raise RuntimeError("as it was told")
    signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(shootout.guarded(work))
