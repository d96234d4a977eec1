"""Bars with a dot for every round, and curves over the load, as SVG that fits whatever width it is given.

Lengths along x are shares of the width, so text keeps its size and nothing is scaled; heights are pixels.
"""

import math
from dataclasses import dataclass

import wording
from figures import Spread
from markup import Markup, join, tag

BAR_HEIGHT, BAR_MARGIN = 30, 7
CURVE_HEIGHT, MARGIN = 220, 8
LABEL_HEIGHT = 15
SERIES = 8  # colours in page.css besides fastserve's and limit's
ROOM = 1.03  # of an axis beyond the greatest figure, so that its dot is whole


@dataclass(frozen=True)
class Axis:
    end: float
    ticks: tuple[float, ...]

    def share(self, value: float) -> str:
        return f"{100 * value / self.end:.2f}%"


def axis(most: float, steps: int) -> Axis:
    """From 0 to a little more than `most`, with at most `steps` round ticks."""
    if most <= 0:
        return Axis(1, (0,))
    size = 10 ** math.floor(math.log10(most / steps))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if most / (size * factor) <= steps)
    end = most * ROOM
    return Axis(end, tuple(step * index for index in range(int(end / step) + 1)))


def lines(of: Axis) -> Markup:
    return join(tag("line", x1=of.share(tick), x2=of.share(tick), y1=0, y2="100%") for tick in of.ticks)


def bar(of: Axis, kind: str, described: str, measured: Spread, rounds: list[float | None], unit: str) -> Markup:
    """The median as a bar, over it a dot for every round, the first on top."""
    height = BAR_HEIGHT - 2 * BAR_MARGIN
    marks = [tag("rect", tag("title", described), class_="bar", width=of.share(measured.median), y=BAR_MARGIN,
                 height=height)]
    for index, value in enumerate(rounds):
        if value is not None:
            y = BAR_MARGIN + height * (index + 0.5) / len(rounds)
            words = f"round {index + 1}: {wording.number(value)} {unit}"
            marks.append(tag("circle", tag("title", words), cx=of.share(value), cy=f"{y:.1f}", r=2.5))
    return tag("svg", lines(of), *marks, class_=f"track {kind}", height=BAR_HEIGHT, role="img", aria_label=described)


def ticks(of: Axis) -> Markup:
    """The numbers below bars."""
    texts = (tag("text", wording.compact(tick), x=of.share(tick), y=12, text_anchor="middle") for tick in of.ticks)
    return tag("svg", *texts, class_="ticks", height=16, aria_hidden="true")


@dataclass(frozen=True)
class Series:
    """A server's figures over the load; a point without one breaks the line."""

    label: str
    kind: str  # the class that colours it
    points: tuple[tuple[float, Spread | None], ...]

    def shown(self) -> list[Spread]:
        """What has a place on a logarithmic axis."""
        return [measured for _, measured in self.points if measured and measured.least > 0]


@dataclass(frozen=True)
class Logarithmic:
    least: float
    most: float

    def y(self, value: float) -> float:
        return MARGIN + CURVE_HEIGHT * math.log(self.most / value) / math.log(self.most / self.least)

    def ticks(self) -> list[float]:
        wide = self.most / self.least > 300
        found = []
        for power in range(math.floor(math.log10(self.least)), math.ceil(math.log10(self.most)) + 1):
            found += [factor * 10.0**power for factor in ((1,) if wide else (1, 2, 5))]
        return [tick for tick in found if self.least * 0.999 <= tick <= self.most * 1.001]


def logarithmic(all_series: list[Series]) -> Logarithmic | None:
    """An axis that holds every round of every series; None without a figure above 0."""
    known = [measured for each in all_series for measured in each.shown()]
    if not known:
        return None
    steps = [factor * 10.0**power for power in range(-9, 12) for factor in (1, 2, 5)]
    least, most = min(each.least for each in known), max(each.most for each in known)
    bottom = max((step for step in steps if step <= least), default=steps[0])
    return Logarithmic(bottom, next((step for step in steps if step >= most and step > bottom), steps[-1]))


def marker(kind: str, x: str, y: float, words: str) -> Markup:
    """A circle for fastserve, a square for limit and a diamond for whoever else, so that colour is not needed."""
    title = tag("title", words)
    if kind == "ours":
        return tag("circle", title, class_="marker", cx=x, cy=f"{y:.1f}", r=4)
    # An SVG of its own, since a path knows no share of a width.
    shape = "M-3.5-3.5h7v7h-7z" if kind == "ceiling" else "M0-4.5L4.5 0L0 4.5L-4.5 0z"
    return tag("svg", tag("path", title, class_="marker", d=shape), x=x, y=f"{y:.1f}", overflow="visible")


def spaced(wanted: list[float], height: float, most: float) -> list[float]:
    """Places for labels near the wanted ones that are sorted, `height` apart, none below `most`."""
    placed: list[float] = []
    for y in wanted:
        placed.append(max(y, placed[-1] + height) if placed else y)
    limit = most
    for index in reversed(range(len(placed))):
        placed[index] = min(placed[index], limit)
        limit = placed[index] - height
    return placed


def line(of: Logarithmic, along: Axis, each: Series, unit: str, rate: str) -> Markup:
    marks, before = [], None
    for x, measured in each.points:
        if measured is None or measured.least <= 0:
            before = None
            continue
        here = (along.share(x), of.y(measured.median))
        if before:
            marks.append(tag("line", class_="curve", x1=before[0], y1=f"{before[1]:.1f}",
                             x2=here[0], y2=f"{here[1]:.1f}"))
        marks.append(tag("line", class_="range", x1=here[0], x2=here[0], y1=f"{of.y(measured.most):.1f}",
                         y2=f"{of.y(measured.least):.1f}"))
        words = f"{each.label} at {wording.number(x)} {rate}: {wording.described(measured, unit)}"
        marks.append(marker(each.kind, *here, words))
        before = here
    return tag("g", *marks, class_=each.kind)


def curves(title: str, unit: str, all_series: list[Series], rate: str, named: dict[float, str]) -> Markup | None:
    """Figures on a logarithmic axis over the load; `named` are the loads that get a tick, each with a word."""
    of = logarithmic(all_series)
    if of is None:
        return None
    along = axis(max(x for each in all_series for x, _ in each.points), 4)
    bottom = CURVE_HEIGHT + 2 * MARGIN
    grid = join(tag("line", x1=0, x2="100%", y1=f"{of.y(tick):.1f}", y2=f"{of.y(tick):.1f}") for tick in of.ticks())
    below = []
    for x, word in (named or {tick: "" for tick in along.ticks}).items():
        for row, content in enumerate(filter(None, (word, wording.compact(x)))):
            below.append(tag("text", content, x=along.share(x), y=bottom + 14 + 14 * row, text_anchor="middle"))
    drawn = (line(of, along, each, unit, rate) for each in reversed(all_series))
    plot = tag("svg", tag("g", grid, class_="grid"), *drawn, *below, class_="plot",
               height=bottom + (34 if named else 20), role="img",
               aria_label=f"{title} in {unit} over {rate}, logarithmic: {', '.join(each.label for each in all_series)}")
    left = tag("svg", *(tag("text", wording.compact(tick), x="100%", y=f"{of.y(tick) + 4:.1f}", text_anchor="end")
                        for tick in of.ticks()), class_="levels", height=bottom, aria_hidden="true")
    ends = [(of.y(known[-1].median), each) for each in all_series if (known := each.shown())]
    ends.sort(key=lambda end: end[0])
    places = spaced([y for y, _ in ends], LABEL_HEIGHT, bottom - MARGIN)
    right = tag("svg", *(tag("text", each.label, class_=each.kind, x=0, y=f"{y + 4:.1f}")
                         for y, (_, each) in zip(places, ends)), class_="names", height=bottom, aria_hidden="true")
    return tag("figure", tag("figcaption", f"{title}, {unit}"), tag("div", left, plot, right, class_="curves"))
