"""What the rounds of a row say: median, spread, ratios round by round, and the verdict.

A figure that is missing is None, and is left out of everything; it is never taken for 0.
"""

import math
from dataclasses import dataclass
from statistics import median
from typing import Iterable

ENOUGH = 5  # rounds for a verdict
INDICATIVE = 3  # rounds for a hint

AHEAD, BEHIND, TIE = "ahead", "behind", "tie"
INDICATIVE_AHEAD, INDICATIVE_BEHIND = "indicative ahead", "indicative behind"
UNKNOWN = "not measured"


@dataclass(frozen=True)
class Spread:
    """The median of some rounds, the least and the greatest of them, and how many they were."""

    median: float
    least: float
    most: float
    rounds: int

    @property
    def relative(self) -> float | None:
        """The width of the spread as a share of the median."""
        return (self.most - self.least) / self.median if self.median else None


def spread(figures: Iterable[float | None]) -> Spread | None:
    known = [figure for figure in figures if figure is not None]
    return Spread(median(known), min(known), max(known), len(known)) if known else None


def figure(measured: dict | None, path: str) -> float | None:
    """One figure of one round; `path` leads into what is nested: "load_cpu_seconds.user"."""
    found = measured
    for key in path.split("."):
        if not isinstance(found, dict):
            return None
        found = found.get(key)
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not math.isfinite(found):
        return None
    return found


def figures(row: dict, path: str = "value") -> list[float | None]:
    """One figure of every round of a row, in the order of the rounds."""
    return [figure(measured, path) for measured in row.get("rounds") or []]


def row_spread(row: dict, path: str = "value") -> Spread | None:
    return spread(figures(row, path))


def ratios(row: dict, base: dict, path: str = "value") -> list[float | None]:
    """`row` over `base`, round by round: rounds of one index ran in turn. A round that only one of them has is left
    out, and there is no ratio to 0."""
    pairs = zip(figures(row, path), figures(base, path))
    return [None if above is None or not below else above / below for above, below in pairs]


def ratio(row: dict, base: dict, path: str = "value") -> Spread | None:
    return spread(ratios(row, base, path))


def verdict(of: Spread | None, higher_is_better: bool = True) -> str:
    """Where a row stands whose ratio to another one is `of`: on one side of 1 in every round, or in a tie."""
    if of is None:
        return UNKNOWN
    if of.rounds < INDICATIVE or of.least <= 1 <= of.most:
        return TIE
    enough = of.rounds >= ENOUGH
    if (of.least > 1) == higher_is_better:
        return AHEAD if enough else INDICATIVE_AHEAD
    return BEHIND if enough else INDICATIVE_BEHIND
