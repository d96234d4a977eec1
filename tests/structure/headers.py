#!/usr/bin/env python3
"""What a public header costs whoever includes it.

    headers.py --compiler CXX [--system DIR]... INCLUDE_DIR...

Each compiles as the first thing of a file, and none costs more than twice BASELINE.

Every INCLUDE_DIR is on the path of every header. Warnings are errors. Exits 1 if a header fails, or if there is none.
"""

import argparse
import resource
import statistics
import subprocess
import sys
from pathlib import Path

# The standard headers that the signatures of the library are written with; a program that uses it has most of them.
BASELINE = (
    "atomic", "chrono", "coroutine", "cstdint", "filesystem", "functional", "memory", "optional", "span",
    "stop_token", "string", "string_view", "system_error", "vector",
)
FACTOR = 2.0
PAIRS = 7
WARNINGS = ("-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror")


class Compiler:
    def __init__(self, path: str, include_dirs: list[str], system_dirs: list[str] = []):
        self.command = [path, "-std=c++20", *WARNINGS, "-fsyntax-only", "-x", "c++", "-"]
        for folder in include_dirs:
            self.command += ["-I", folder]
        for folder in system_dirs:
            self.command += ["-isystem", folder]

    def check(self, text: str) -> str:
        """The compiler's words about `text`; empty if it compiles."""
        done = subprocess.run(self.command, input=text, text=True, capture_output=True)
        return done.stderr or ("the compiler failed without a word" if done.returncode else "")

    def seconds(self, text: str) -> float:
        """User CPU time to compile `text` once. Not for several threads: it is the growth of all our children's."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        fault = self.check(text)
        if fault:
            raise RuntimeError(fault)
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def headers_of(include_dirs: list[str]) -> list[str]:
    found = []
    for folder in include_dirs:
        found += [str(path.relative_to(folder)) for path in sorted(Path(folder).rglob("*.hpp"))]
    return found


def including(*names: str) -> str:
    return "".join(f"#include <{name}>\n" for name in names)


def check(compiler: Compiler, headers: list[str], baseline: tuple[str, ...] = BASELINE, factor: float = FACTOR,
          report=lambda line: None) -> list[str]:
    """What is wrong with each header that does not compile alone, or costs more than `factor` times the baseline.

    Each is included twice: its guard is tested with it.

    Other programs on the machine can only make a run slower. The least of several is nearest to the truth, but a machine
    that is busy all along has no quiet moment for a header after one for the baseline: what looks too dear is judged by
    the median of pairs, each of both right after each other.
    """
    base_text = including(*baseline)
    base = min(compiler.seconds(base_text) for _ in range(3))
    least = {}
    faults = []
    for index, name in enumerate(headers):
        try:
            least[name] = compiler.seconds(including(name, name))
        except RuntimeError as fault:
            faults.append(f"<{name}> does not compile alone:\n{fault}")
        if index % 4 == 3:
            base = min(base, compiler.seconds(base_text))
    ratios = {name: seconds / base for name, seconds in least.items()}
    for name in [name for name in ratios if ratios[name] > factor]:
        ratios[name] = statistics.median(compiler.seconds(including(name)) / compiler.seconds(base_text)
                                         for _ in range(PAIRS))
    report(f"baseline {base:.3f} s, at most {factor:.2f} times that")
    for name in sorted(ratios, key=ratios.get, reverse=True):
        report(f"{least[name]:.3f} s  {ratios[name]:4.2f} x  <{name}>")
    return faults + [f"<{name}> costs {ratio:.2f} times the standard headers" for name, ratio in ratios.items()
                     if ratio > factor]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--system", action="append", default=[])
    parser.add_argument("include_dirs", nargs="+")
    arguments = parser.parse_args()
    compiler = Compiler(arguments.compiler, arguments.include_dirs, arguments.system)
    headers = headers_of(arguments.include_dirs)
    if not headers:
        print("no header found")
        return 1
    faults = check(compiler, headers, report=print)
    print("\n".join(faults) if faults else f"{len(headers)} headers are as they should be")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
