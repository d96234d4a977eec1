"""Holds instructions a request against a file: budgets.py PROGRAM BUDGETS.json [--write]

PROGRAM is microbench_instructions. The file names the compiler that its figures were counted with.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SLACK = 0.02
# The C library chooses its memcpy by the machine: the one that all have, so that the figures are of the program.
ENVIRONMENT = os.environ | {
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-AVX_Fast_Unaligned_Load,-AVX512F,-AVX512VL,-ERMS,-FSRM"}


def compiler() -> str:
    first = subprocess.run(["g++", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[0]
    return re.sub(r"\s*\(.*?\)", "", first)


def cases(program: str) -> list[str]:
    """As the counting tool's processor has them, which is not always the machine's."""
    done = subprocess.run(["valgrind", "--tool=none", "-q", program], stdout=subprocess.PIPE, text=True, check=True,
                          env=ENVIRONMENT)
    return done.stdout.split()


def counted(program: str, case: str) -> float:
    """Instructions that one costs."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "callgrind.out")
        done = subprocess.run(["valgrind", "--tool=callgrind", "--toggle-collect=fastserve_counted*",
                               f"--callgrind-out-file={out}", program, case],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
        if done.returncode != 0:
            sys.exit(f"{case} ended with status {done.returncode}:\n{done.stderr}")
        totals = re.search(r"^(?:totals|summary): (\d+)", out.read_text(), re.MULTILINE)
    if not totals or int(totals[1]) == 0:
        sys.exit(f"{case}: nothing was counted; fastserve_counted() is not found by its name")
    return round(int(totals[1]) / int(done.stdout), 1)


def verdict(now: float | None, budget: float | None) -> str:
    if now is None:
        return "is not for this machine"
    if budget is None:
        return "has no budget"
    if now > budget * (1 + SLACK):
        return "is over its budget"
    if now < budget * (1 - SLACK):
        return "is so far below its budget that this should be lowered"
    return ""


def main() -> int:
    program, file, *options = sys.argv[1:]
    if options not in ([], ["--write"]):
        print(__doc__, file=sys.stderr)
        return 2
    path = Path(file)
    book = json.loads(path.read_text()) if path.exists() else {"compiler": compiler(), "instructions": {}}
    budgets = book["instructions"]
    found = {case: counted(program, case) for case in cases(program)}
    wrong = 0
    for case in [*found, *(case for case in budgets if case not in found)]:
        says = verdict(found.get(case), budgets.get(case))
        print(f"  {case:16s}  {found.get(case, '-'):>8}  budget {budgets.get(case, '-'):>8}  {says}".rstrip())
        wrong += bool(says) and case in found
    if options:
        kept = budgets if book["compiler"] == compiler() else {}
        path.write_text(json.dumps({"compiler": compiler(), "instructions": kept | found}, indent=2) + "\n")
        return 0
    if wrong and book["compiler"] != compiler():
        print(f"the budgets were counted with {book['compiler']}, and this is {compiler()}", file=sys.stderr)
    if wrong:
        print("script/budgets --write renews the file; the commit that raises a figure says why", file=sys.stderr)
    print(f"{len(found) - wrong} of {len(found)} keep {path.name}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
