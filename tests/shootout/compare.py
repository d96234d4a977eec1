#!/usr/bin/env python3
"""What changed between two records, the changes beyond the spread first.

    compare.py BEFORE.json AFTER.json

A change is the ratio of the medians, after over before. Rounds of two runs did not run in turn, so the interval is the
widest that their rounds allow: the least after over the greatest before, to the greatest over the least. A change is
beyond the spread when that is on one side of 1, with 3 or 4 rounds an indicative one. Where limit ran beside a row in
both, the change of the row's ratio to limit stands beside it: a drift of the machine cancels in that one.
"""

import math
import sys
from dataclasses import dataclass
from typing import Iterator

import figures
import findings
import wording
from figures import Spread

FIGURES = (("value", None), (findings.CPU, "server CPU, us"), ("p99_ms", "p99, ms"))
SAME = ("name", "label", "absent")  # of a server: not what it was built or configured as


@dataclass(frozen=True)
class Change:
    key: tuple[str, str, str]  # scenario, variant, server
    name: str  # of the figure, with its unit
    before: Spread
    after: Spread
    of: Spread | None  # None: no ratio to 0
    beside_limit: Spread | None
    better: bool

    @property
    def beyond_spread(self) -> bool:
        enough = self.of is not None and self.of.rounds >= figures.INDICATIVE
        return enough and not self.of.least <= 1 <= self.of.most

    @property
    def verdict(self) -> str:
        if not self.beyond_spread:
            return ""
        return ("" if self.of.rounds >= figures.ENOUGH else "indicative ") + ("better" if self.better else "worse")

    @property
    def size(self) -> float:
        return abs(math.log(self.of.median)) if self.of and self.of.median > 0 else 0.0


def over(after: Spread | None, before: Spread | None) -> Spread | None:
    if after is None or before is None or before.least <= 0:
        return None
    return Spread(after.median / before.median, after.least / before.most, after.most / before.least,
                  min(after.rounds, before.rounds))


def rows(record: dict) -> dict[tuple[str, str, str], tuple[dict, dict]]:
    """Every measured row and its variant."""
    return {(scenario["name"], variant["id"], row["server"]): (variant, row) for scenario in record["scenarios"]
            for variant in scenario["variants"] for row in variant["rows"] if findings.is_measured(row)}


def beside_limit(record: dict, variant: dict, row: dict, path: str) -> Spread | None:
    limits = findings.rows_named(record, variant, findings.CEILING)
    return figures.ratio(row, limits[0], path) if limits and limits[0] is not row else None


def changes(before: dict, after: dict) -> Iterator[Change]:
    old, new = rows(before), rows(after)
    for key in old.keys() & new.keys():
        (variant_before, row_before), (variant_after, row_after) = old[key], new[key]
        for path, name in FIGURES:
            first, second = figures.row_spread(row_before, path), figures.row_spread(row_after, path)
            if not first or not second or (name and figures.figures(row_after, path) == figures.figures(row_after)):
                continue
            relative = over(beside_limit(after, variant_after, row_after, path),
                            beside_limit(before, variant_before, row_before, path))
            more = second.median > first.median
            yield Change(key, name or variant_after["unit"], first, second, over(second, first), relative,
                         more == (variant_after["higher_is_better"] if not name else False))


def differences(before: dict, after: dict) -> list[str]:
    """What else was not the same: without it the figures say something about the code."""
    found = []
    for name in ("cpu", "cpus", "kernel", "congestion_control", "mitigations"):
        one, other = before["machine"].get(name), after["machine"].get(name)
        if one != other:
            found.append(f"{name.replace('_', ' ')}: {one} -> {other}")
    for server in before["servers"].keys() & after["servers"].keys():
        one, other = before["servers"][server], after["servers"][server]
        found += [f"{server}, {name}: {one.get(name)} -> {other.get(name)}" for name in one.keys() | other.keys()
                  if name not in SAME and one.get(name) != other.get(name)]
    loads = ({(scenario["name"], variant["id"]): (variant["load"], variant["placement"])
              for scenario in record["scenarios"] for variant in scenario["variants"]} for record in (before, after))
    one, other = loads
    found += [f"{' '.join(key)}: {one[key]} -> {other[key]}"
              for key in one.keys() & other.keys() if one[key] != other[key]]
    return sorted(found)


def named(record: dict) -> str:
    run = record["run"]
    dirty = " with uncommitted changes" if run.get("dirty") else ""
    return f"{run['date']}, commit {run['commit'][:12]}{dirty}, {run['command']}"


def line(change: Change) -> list[str]:
    medians = f"{wording.number(change.before.median)} -> {wording.number(change.after.median)}"
    beside = f"beside limit {wording.ratio(change.beside_limit)}" if change.beside_limit else ""
    return [" ".join(change.key), change.name, medians, wording.ratio(change.of), change.verdict, beside]


def columns(lines: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*lines)]
    return ["  " + "  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip() for cells in lines]


def text(before: dict, after: dict) -> str:
    """The whole answer."""
    found = sorted(changes(before, after), key=lambda change: (-change.size, change.key, change.name))
    beyond, within = [each for each in found if each.beyond_spread], [each for each in found if not each.beyond_spread]
    within.sort(key=lambda change: (change.key, change.name))
    old, new = rows(before), rows(after)
    parts = [("", [f"before: {named(before)}", f"after:  {named(after)}"]),
             ("Not the same in both runs", [f"  {each}" for each in differences(before, after)]),
             (f"Beyond the spread of the rounds: {len(beyond)}", columns([line(each) for each in beyond])),
             (f"Within the spread: {len(within)}", columns([line(each) for each in within])),
             ("Measured only after", [f"  {' '.join(key)}" for key in sorted(new.keys() - old.keys())]),
             ("Measured only before", [f"  {' '.join(key)}" for key in sorted(old.keys() - new.keys())])]
    shown = ["\n".join(([title] if title else []) + lines) for title, lines in parts
             if lines or title.startswith(("Beyond", "Within"))]
    return "\n\n".join(shown) + "\n"


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    print(text(*map(findings.load, sys.argv[1:])), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
