"""A scenario of the report: curves, bars, figures, answers, servers, and the command that repeats it."""

from collections import Counter

import charts
import figures
import findings
import tables
import wording
from charts import Axis, Series
from markup import Markup, details, join, tag

PERCENTILES = (("p50_ms", "p50"), ("p99_ms", "p99"), ("p999_ms", "p99.9"), ("max_ms", "Maximum"))


def kind(record: dict, row: dict) -> str:
    name = findings.server_name(record, row)
    return {findings.OURS: "ours", findings.CEILING: "ceiling"}.get(name, "peer")


def most(variant: dict, path: str) -> float | None:
    known = [value for row in variant["rows"] for value in figures.figures(row, path) if value is not None]
    return max(known, default=None)


def usual_base(record: dict, variant: dict) -> dict | None:
    """The row that most others are held against."""
    bases = [findings.counterpart(record, variant, row) for row in variant["rows"] if findings.is_measured(row)]
    bases = [base for base in bases if base]
    if not bases:
        return None
    name = Counter(base["server"] for base in bases).most_common(1)[0][0]
    return next(base for base in bases if base["server"] == name)


def described(record: dict, row: dict, path: str, unit: str) -> str:
    return f"{findings.server_label(record, row)}: {wording.described(figures.row_spread(row, path), unit)}"


def track(record: dict, row: dict, path: str, unit: str, along: Axis) -> Markup:
    of = figures.row_spread(row, path)
    if of is None:
        return Markup()
    words = described(record, row, path, unit)
    return charts.bar(along, kind(record, row), words, of, figures.figures(row, path), unit)


def remarks(record: dict, row: dict, base: dict | None, usual: dict | None) -> Markup:
    """What one should know before one believes the bar."""
    found = []
    if count := tables.errors(row):
        found.append(f"{count:,} {'error' if count == 1 else 'errors'}")
    if limited := tables.rounds_at_limit(row):
        found.append(f"the generator was the limit in {wording.rounds(limited)}")
    measured = figures.row_spread(row).rounds
    if measured < figures.INDICATIVE:
        found.append(f"only {wording.rounds(measured)}")
    warning = tag("small", "; ".join(found), class_="warning") if found else None
    other = base is not None and base is not row and base is not usual
    notes = [row.get("note"), f"held against {findings.server_label(record, base)}" if other else None]
    return join([warning, *(tag("small", note) for note in notes if note)])


def bar_row(record: dict, variant: dict, row: dict, usual: dict | None, along: Axis, cpu: Axis | None,
            tail: bool) -> Markup:
    label = tag("b" if kind(record, row) == "ours" else "span", findings.server_label(record, row))
    if why := findings.absence(record, row):
        return tag("li", tag("div", label, class_="who"), tag("div", f"not measured: {why}", class_="absent"))
    base = findings.counterpart(record, variant, row)
    if kind(record, row) == "ours":
        base = usual
    against = tag("span", "reference", class_="unknown")
    if base is not row and base is not None:
        found = findings.compare({}, variant, base, row)
        # That one worker is slower than two is no loss.
        neutral = "unknown" if kind(record, row) == kind(record, base) == "ours" else None
        against = tables.verdict_text(found.verdict, found.ratio, neutral)
    cells = [tag("div", label, remarks(record, row, base, usual), class_="who"),
             tag("div", track(record, row, "value", variant["unit"], along), class_="over"),
             tag("div", wording.short(figures.row_spread(row).median), class_="value")]
    if cpu:
        spent = figures.row_spread(row, findings.CPU)
        cells += [tag("div", track(record, row, findings.CPU, "µs", cpu), class_="cost"),
                  tag("div", f"{wording.number(spent.median)} µs" if spent else wording.NOTHING, class_="cpu")]
    if tail:
        p99 = figures.row_spread(row, "p99_ms")
        cells.append(tag("div", f"{wording.number(p99.median)} ms" if p99 else wording.NOTHING, class_="tail"))
    return tag("li", *cells, tag("div", against, class_="against"))


def beside(variant: dict, path: str) -> float | None:
    """The greatest of a figure that is shown beside the value; None where there is none, or it is the value."""
    if all(figures.figures(row, path) == figures.figures(row) for row in variant["rows"]):
        return None
    return most(variant, path)


def bars(record: dict, variant: dict) -> Markup:
    greatest, cpu_most, tail = most(variant, "value"), beside(variant, findings.CPU), beside(variant, "p99_ms")
    if greatest is None:
        absent = (bar_row(record, variant, row, None, charts.axis(0, 1), None, False) for row in variant["rows"])
        return tag("ol", *absent, class_="bars")
    along = charts.axis(greatest, 4)
    cpu = charts.axis(cpu_most, 2) if cpu_most else None
    usual = usual_base(record, variant)
    better = "more" if variant["higher_is_better"] else "less"
    head = [tag("div", "", class_="who"), tag("div", f"{variant['unit']}, {better} is better", class_="over"),
            tag("div", "median", class_="value")]
    foot = [tag("div", "", class_="who"), tag("div", charts.ticks(along), class_="over"),
            tag("div", "", class_="value")]
    if cpu:
        head += [tag("div", "server CPU a request", class_="cost"), tag("div", "median", class_="cpu")]
        foot += [tag("div", charts.ticks(cpu), class_="cost"), tag("div", "", class_="cpu")]
    if tail is not None:
        head.append(tag("div", "p99", class_="tail"))
        foot.append(tag("div", "", class_="tail"))
    head.append(tag("div", findings.server_label(record, usual) + " ÷ this", class_="against"))
    columns = " ".join(["bars", *(["with-cpu"] if cpu else []), *(["with-tail"] if tail is not None else [])])
    return tag("ol", tag("li", *head, class_="head"),
               *(bar_row(record, variant, row, usual, along, cpu, tail is not None) for row in variant["rows"]),
               tag("li", *foot, class_="foot", aria_hidden="true"), class_=columns)


def series_kind(record: dict, row: dict, others: list[str]) -> str:
    known = kind(record, row)
    return known if known != "peer" else f"peer s{others.index(row['server']) % charts.SERIES}"


def latency(record: dict, scenario: dict) -> Markup | None:
    """Percentiles over the load, one chart each, where variants are points of a load."""
    points = [each for each in scenario["variants"] if each.get("point")]
    points.sort(key=lambda each: each["point"]["rate"])
    if len(points) < 2:
        return None
    some = {row["server"]: row for variant in points for row in variant["rows"] if findings.is_measured(row)}
    order = list(some)
    if not order:
        return None
    others = [server for server in order if kind(record, some[server]) == "peer"]
    names = Counter(findings.server_name(record, some[server]) for server in order)
    drawn = []
    for path, title in PERCENTILES:
        all_series = []
        for server in order:
            found = {variant["point"]["rate"]: figures.row_spread(row, path)
                     for variant in points for row in variant["rows"] if row["server"] == server}
            name = findings.server_name(record, some[server])
            all_series.append(Series(name if names[name] == 1 else server, series_kind(record, some[server], others),
                                     tuple((variant["point"]["rate"], found.get(variant["point"]["rate"]))
                                           for variant in points)))
        ours_last = sorted(all_series, key=lambda each: each.kind != "ours")
        named = {each["point"]["rate"]: f"{100 * each['point']['share_of_nginx']:.0f} %" for each in points
                 if each["point"].get("share_of_nginx")}
        drawn.append(charts.curves(title, "ms", ours_last, "requests/s", named))
    shares = " The percentages below are shares of nginx's saturation." if named else ""
    words = ("Latency from the intended send time over requests/s; both ends of a stroke are rounds, the mark is the "
             f"median.{shares}")
    return tag("div", tag("p", words, class_="note"), tag("div", *drawn, class_="charts"))


def variant_section(record: dict, scenario: dict, variant: dict) -> Markup:
    name = f"{scenario['name']}-{variant['id']}"
    return tag("section", tag("h3", variant["title"]),
               tag("p", tag("code", variant["load"]), " ", wording.placement(variant["placement"]), class_="load"),
               bars(record, variant), tables.answers(record, variant),
               details("All figures", tables.summary(record, variant), tables.every_round(record, variant)),
               class_="variant", id=name)


def then_line(record: dict, scenario: dict) -> Markup | None:
    """Then / now here / ratio to the same peer."""
    found = findings.then_and_now(record, scenario)
    if not found:
        return None
    parts = [tag("dt", "then"), tag("dd", found.then["text"] if found.then else "no figure of it is at hand")]
    if found.variant is None:
        who = found.then["server"] if found.then else "a peer"
        parts += [tag("dt", "now here"), tag("dd", f"{who} and fastserve did not both run")]
        return tag("dl", *parts, class_="then")
    peer, ours, unit = figures.row_spread(found.peer), figures.row_spread(found.row), found.variant["unit"]
    since = f", {wording.times(peer.median / found.then['value'])} of then" if found.then else ""
    now = [f"{findings.server_label(record, found.peer)} {wording.number(peer.median)} {unit}{since}; ",
           tag("b", f"{findings.server_label(record, found.row)} {wording.number(ours.median)} {unit}"),
           f" ({found.variant['title']})"]
    parts += [tag("dt", "now here"), tag("dd", *now), tag("dt", "ratio to the same peer"),
              tag("dd", tables.verdict_text(found.verdict, found.ratio),
                  f" in {wording.rounds(found.ratio.rounds)}" if found.ratio else "")]
    if found.exceeded:
        parts += [tag("dt", "the card's own command"),
                  tag("dd", f"exceeded {wording.number(found.then['value'])} in each of its "
                            f"{wording.rounds(ours.rounds)}: the least is {wording.number(ours.least)}")]
    return tag("dl", *parts, class_="then")


def scenario_section(record: dict, scenario: dict) -> Markup:
    historical = tag("span", "historical", class_="badge") if scenario.get("historical") else None
    return tag("section", tag("h2", scenario["name"], " ", historical),
               tag("p", scenario["title"], class_="title"), tag("p", scenario["origin"], class_="origin"),
               then_line(record, scenario), latency(record, scenario),
               *(variant_section(record, scenario, variant) for variant in scenario["variants"]),
               tables.servers(record, scenario),
               tag("p", "Repeat it: ", tag("code", scenario["command"]), class_="repeat"), class_="scenario",
               id=scenario["name"])


def all_sections(record: dict) -> Markup:
    return join(scenario_section(record, each) for each in record["scenarios"])
