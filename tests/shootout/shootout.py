"""script/shootout: repeats the comparisons that fastserve was born from, and writes a record and a report of them."""

import argparse
import datetime
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable

import machine
import plan
import processes
import record as records
import runner
from scenarios import SCENARIOS, Scenario
from workshop import ROOT, Workshop, say

HERE = Path(__file__).parent
VARIABLES = """environment, all optional: a row whose variable is not set says so
  SHOOTOUT_UWEBSOCKETS   a checkout of uWebSockets with uSockets in its folder uSockets
  SHOOTOUT_FASTHTTP      a GOPATH with a newer fasthttp and what it requires, for hello
  SHOOTOUT_MARTINI       a GOPATH with go-martini/martini and codegangsta/inject, for json-api and mysql
  SHOOTOUT_RESTY_MYSQL   a folder with resty/mysql.lua and what it requires, for mysql
  SHOOTOUT_OLD           the program of another build of fastserve, for versions"""


class Stopped(BaseException):
    """SIGTERM or SIGHUP: ends like Ctrl-C."""


def arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="script/shootout", description=__doc__, epilog=VARIABLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="3 rounds of 1 s of a part of it, in less than 8 minutes")
    parser.add_argument("--resume", action="store_true", help="go on with the unfinished record of this commit")
    parser.add_argument("--plan", action="store_true", help="print what would be done, and how long it takes")
    parser.add_argument("--compare", nargs=2, metavar=("A.json", "B.json"),
                        help="print what changed between two records")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "shootout", metavar="FOLDER",
                        help="where record and report go (default: docs/shootout)")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="of " + ", ".join(s.name for s in SCENARIOS))
    given = parser.parse_args(words)
    if unknown := set(given.scenarios) - {scenario.name for scenario in SCENARIOS}:
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(s.name for s in SCENARIOS)}")
    return given


def chosen(names: list[str], quick: bool) -> tuple[Scenario, ...]:
    wanted = tuple(scenario for scenario in SCENARIOS if not names or scenario.name in names)
    return tuple(scenario for scenario in wanted if scenario.in_quick()) if quick and not names else wanted


def git(*words: str) -> str:
    run = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return run.stdout.strip() if run.returncode == 0 else ""


def command_of(given: argparse.Namespace) -> str:
    return " ".join(["script/shootout", *(["--quick"] if given.quick else []), *given.scenarios])


def suffix_of(given: argparse.Namespace) -> str:
    """Kinds of runs do not overwrite one another."""
    return (".quick" if given.quick else "") + ("." + "+".join(sorted(given.scenarios)) if given.scenarios else "")


def new_record(given: argparse.Namespace, commit: str) -> tuple[Path, dict]:
    now = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
    name = f"{now:%Y-%m-%d}.{commit[:7]}.{machine.short_cpu_name()}{suffix_of(given)}.json"
    dirty = bool(git("status", "--porcelain", "--untracked-files=no"))
    return given.output / name, {
        "format": records.FORMAT,
        "run": {"date": now.isoformat().replace("+00:00", "Z"), "commit": commit, "dirty": dirty,
                "command": command_of(given), "quick": given.quick, "seconds": None, "seconds_so_far": 0.0},
        "machine": machine.describe(), "servers": {}, "scenarios": []}


def open_record(given: argparse.Namespace) -> tuple[Path, dict]:
    commit = git("rev-parse", "HEAD") or "unknown"
    if given.resume:
        path = records.unfinished_of(given.output, command_of(given), commit)
        if path:
            say(f"going on with {path.name}")
            return path, records.read(path)
        say("no unfinished record of this commit; beginning one")
    return new_record(given, commit)


def run(given: argparse.Namespace) -> int:
    steps = plan.make(chosen(given.scenarios, given.quick), given.quick)
    if not steps:
        say("--quick has nothing of these scenarios")
        return 2
    say("the plan")
    print("\n".join(plan.told(steps)), flush=True)
    if given.plan:
        return 0
    subprocess.run([ROOT / "script" / "setup"], check=True)
    processes.prepare()
    shop = Workshop()
    runner.prepare(shop, steps)
    path, record = open_record(given)
    before, began = record["run"]["seconds_so_far"], time.monotonic()

    def save() -> None:
        record["run"]["seconds_so_far"] = round(before + time.monotonic() - began, 1)
        records.write(path, record)

    left = plan.minutes(steps)
    work = runner.Runner(shop, record, given.quick, save)
    for step in steps:
        say(f"{step.scenario.name}/{step.variant.id}: {len(step.variant.servers)} servers, {step.rounds} rounds, about "
            f"{step.seconds / 60:.1f} of the {left:.0f} min left")
        work.run(step)
        left -= step.seconds / 60
    work.stop_database()
    save()
    record["run"]["seconds"] = round(record["run"].pop("seconds_so_far"))
    records.write(path, record)
    say(f"wrote {path}")
    write_report(path)
    return 0


def write_report(path: Path) -> None:
    import report

    say(f"wrote {report.write(path)}")


def interrupted(number: int, frame) -> None:
    raise Stopped(signal.Signals(number).name)


def guarded(work: Callable[[], int]) -> int:
    """The work's exit status. Whatever ends it, nothing that was started is left."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    try:
        return work()
    except (KeyboardInterrupt, Stopped) as why:
        say(f"stopped ({str(why) or 'Ctrl-C'}); script/shootout --resume goes on")
        return 130
    except subprocess.CalledProcessError:
        return 1
    finally:
        # A second Ctrl-C must not leave servers behind.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        processes.stop_all()


def main(words: list[str]) -> int:
    given = arguments(words)
    if given.compare:
        return subprocess.run([sys.executable, HERE / "compare.py", *given.compare]).returncode
    return guarded(lambda: run(given))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
