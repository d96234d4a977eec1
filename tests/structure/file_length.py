#!/usr/bin/env python3
"""A file has one subject: about 400 lines, unless the subject is one.

    file_length.py ROOT

Names the files of more than WARN lines; exits 1 if one has more than FAIL.
"""

import sys
from pathlib import Path

from source import CPP, sources

WARN, FAIL = 400, 700
FOLDERS = ("pool", "server", "tests", "microbench", "cmake", "script", "examples")
SUFFIXES = CPP | {".py", ".cmake", ".txt", ".sh", ""}


def check(root: Path) -> tuple[list[tuple[int, str]], bool]:
    """The long files with their lengths, the longest first, and whether one is too long."""
    lengths = []
    for folder in FOLDERS:
        for path in sources(root / folder, SUFFIXES):
            with open(path, "rb") as file:
                lengths.append((sum(1 for _ in file), str(path.relative_to(root))))
    if not lengths:
        raise SystemExit(f"{root}: no source found")
    long = sorted((entry for entry in lengths if entry[0] > WARN), reverse=True)
    return long, any(length > FAIL for length, _ in long)


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    long, too_long = check(Path(sys.argv[1]))
    for length, name in long:
        print(f"{name}: {length} lines{', more than ' + str(FAIL) if length > FAIL else ''}")
    if not long:
        print(f"no file has more than {WARN} lines")
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main())
