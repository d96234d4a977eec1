"""The figures behind the charts: a line for every server, a line for every round, and what each server was."""

import figures
import findings
import wording
from figures import Spread
from markup import Markup, details, join, table, tag

FIGURES = (("server_cpu_us", "server CPU, µs"), ("p50_ms", "p50, ms"), ("p99_ms", "p99, ms"), ("p999_ms", "p99.9, ms"),
           ("max_ms", "max, ms"), ("resident_kib", "resident, KiB"), ("load_cpu_seconds.user", "generator, user s"),
           ("load_cpu_seconds.system", "generator, system s"))
GLYPHS = {figures.AHEAD: "▲", figures.INDICATIVE_AHEAD: "△", figures.BEHIND: "▼", figures.INDICATIVE_BEHIND: "▽",
          figures.TIE: "="}


def verdict_class(verdict: str) -> str:
    return verdict.split()[-1] if verdict in GLYPHS else "unknown"


def verdict_text(verdict: str, of: Spread | None, kind: str | None = None) -> Markup:
    """▲ 2.05 (1.92 to 2.21), and in words; `kind` is a class instead of the verdict's."""
    if of is None:
        return tag("span", wording.NOTHING, class_="unknown")
    glyph = tag("span", GLYPHS[verdict], aria_hidden="true")
    return tag("span", glyph, " ", tag("b", wording.times(of.median)), f" ({wording.interval(of)}) ",
               tag("small", verdict), class_=kind or verdict_class(verdict))


def known_figures(variant: dict) -> list[tuple[str, str]]:
    return [(path, name) for path, name in FIGURES
            if any(value is not None for row in variant["rows"] for value in figures.figures(row, path))]


def errors(row: dict) -> int | None:
    known = [count for count in figures.figures(row, "errors") if count is not None]
    return int(sum(known)) if known else None


def rounds_at_limit(row: dict) -> int:
    """In how many rounds the generator was what limited the figure."""
    return sum(bool((measured or {}).get("load_was_limit")) for measured in row.get("rounds") or [])


def summary(record: dict, variant: dict) -> Markup:
    known = known_figures(variant)
    rows = []
    for row in variant["rows"]:
        label, why = findings.server_label(record, row), findings.absence(record, row)
        if why:
            rows.append([label, "not measured"] + [wording.NOTHING] * (len(known) + 6))
            continue
        value, base = figures.row_spread(row), findings.counterpart(record, variant, row)
        compared = None if base is row else findings.compare({}, variant, base, row)
        width = value.relative
        rows.append([label, wording.number(value.median),
                     f"{wording.number(value.least)} to {wording.number(value.most)}",
                     wording.NOTHING if width is None else f"{100 * width:.0f} %", value.rounds,
                     wording.NOTHING if not compared else wording.ratio(compared.ratio)]
                    + [wording.number(getattr(figures.row_spread(row, path), "median", None)) for path, _ in known]
                    + [wording.number(errors(row)), rounds_at_limit(row) or "no"])
    head = ["", variant["unit"], "least to most", "spread", "rounds", "fastserve ÷ this" if findings.rows_named(
        record, variant, findings.OURS) else "first ÷ this", *(name for _, name in known), "errors",
            "generator was the limit"]
    return table(f"Medians of {variant['title']}", head, rows)


def every_round(record: dict, variant: dict) -> Markup:
    known = known_figures(variant)
    extras = sorted({key for row in variant["rows"] for measured in row.get("rounds") or []
                     for key in (measured or {}).get("extra") or {}})
    rows = []
    for row in variant["rows"]:
        for index, measured in enumerate(row.get("rounds") or []):
            measured = measured or {}
            paths = ("value", *(path for path, _ in known), "errors")
            cells = [wording.number(figures.figure(measured, path)) for path in paths]
            limit = measured.get("load_was_limit")
            rows.append([findings.server_label(record, row), index + 1, *cells,
                         wording.NOTHING if limit is None else "yes" if limit else "no",
                         *(extra(measured, key) for key in extras)])
    head = ["", "round", variant["unit"], *(name for _, name in known), "errors", "generator was the limit",
            *(key.replace("_", " ") for key in extras)]
    return table(f"Every round of {variant['title']}", head, rows)


def extra(measured: dict, key: str) -> str:
    """What only some tools say: a number, a text, or a list of them."""
    found = (measured.get("extra") or {}).get(key)
    number = figures.figure(measured, f"extra.{key}")
    return wording.number(number) if number is not None else wording.NOTHING if found is None else str(found)


def servers(record: dict, scenario: dict) -> Markup:
    """What each server of a scenario was."""
    rows, seen = [], set()
    for row in (row for variant in scenario["variants"] for row in variant["rows"]):
        if row["server"] in seen:
            continue
        seen.add(row["server"])
        what = record["servers"].get(row["server"], {})
        absent = what.get("absent")
        rows.append([findings.server_label(record, row), what.get("version") or wording.NOTHING,
                     wording.number(what.get("threads")), what.get("log") or wording.NOTHING,
                     tag("code", what["command"]) if what.get("command") else wording.NOTHING,
                     what.get("build") or wording.NOTHING, wording.number(what.get("response_bytes")),
                     ", ".join(what.get("fields") or []) or wording.NOTHING,
                     f"not run: {absent}" if absent else what.get("note") or ""])
    head = ["", "version", "threads", "log", "command", "build", "bytes of a response", "its fields", "note"]
    return details("What each server was", table(f"Servers of {scenario['title']}", head, rows))


def answers(record: dict, variant: dict) -> Markup:
    """The proof that all gave the same answer, or who gave another one."""
    groups: dict[tuple, list[str]] = {}
    for row in variant["rows"]:
        answer = row.get("answer")
        if answer:
            key = (answer.get("status"), answer.get("bytes"), answer.get("body_sha256"))
            groups.setdefault(key, []).append(findings.server_label(record, row))
    if not groups:
        return tag("p", "No answer to compare: this load reads none.", class_="answers")
    said = [join([", ".join(names) if len(groups) > 1 else "", ": " if len(groups) > 1 else "",
                  f"status {status}, {wording.number(size)} bytes, SHA-256 ", tag("code", digest, class_="hash")])
            for (status, size, digest), names in groups.items()]
    if len(groups) == 1:
        count = len(next(iter(groups.values())))
        opening = {1: "One answer: ", 2: "Both answers are equal: "}.get(count, f"All {count} answers are equal: ")
        return tag("p", opening, said[0], ".", class_="answers")
    same_size = len({size for _, size, _ in groups}) == 1
    words = "The answers differ in their bytes, not in their length." if same_size else "The answers differ."
    return tag("div", tag("p", tag("strong", words), class_="behind"),
               tag("ul", *(tag("li", each) for each in said)), class_="answers")
