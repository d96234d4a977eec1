#!/usr/bin/env python3
"""The README's table of numbers, from a record.

    readme_table.py README.md RECORD.json       writes it between the two markers, and names the record in the first
    readme_table.py --check README.md           fails when it is not what the named record says

The markers are comments, <!-- numbers of docs/shootout/X.json --> and <!-- end of numbers -->; the record's path is
relative to the README. At first "of ..." is not needed.
"""

import os
import re
import sys
import textwrap
from pathlib import Path

import figures
import findings
import tables
import wording

MARKED = re.compile(r"<!-- numbers(?: of (?P<record>\S+))? -->\n.*?<!-- end of numbers -->", re.DOTALL)
SCENARIO = "hello"


def median(row: dict, path: str) -> float | None:
    of = figures.row_spread(row, path)
    return of.median if of else None


def table(record: dict) -> str:
    """hello's first variant in Markdown, the fastest first, and what one must know to read it."""
    scenario = findings.scenario(record, SCENARIO)
    if not scenario:
        raise SystemExit(f"the record holds no scenario {SCENARIO}")
    variant, lines = scenario["variants"][0], []
    base = findings.reference(record, variant)
    for row in sorted(filter(findings.is_measured, variant["rows"]), key=lambda row: -median(row, "value")):
        ours = findings.server_name(record, row) == findings.OURS
        label = findings.server_label(record, row)
        version = "" if ours else findings.version(record, row)
        medians = (wording.number(median(row, path)) for path in ("value", findings.CPU, "p99_ms"))
        cells = [f"{label} {version}".strip(), *medians]
        found = findings.compare(scenario, variant, base, row)
        against = "1" if row is base else f"{wording.ratio(found.ratio)} {tables.GLYPHS.get(found.verdict, '')}".strip()
        cells = [f"**{cell}**" if ours else cell for cell in cells] + [against]
        lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    rounds = max(figures.row_spread(row).rounds for row in variant["rows"] if findings.is_measured(row))
    machine = record["machine"]
    how = (f"`{variant['load']}`, {wording.placement(variant['placement'])}: medians of {wording.rounds(rounds)} that "
           f"ran in turn, on {machine['cpus']} CPUs of {machine['cpu']}.")
    head = f"| | {variant['unit']} | CPU us a request | p99 ms | {findings.server_label(record, base)} ÷ this |"
    legend = ("The last column is the ratio round by round with its least and greatest; ▲ ahead, ▼ behind, △ ▽ the "
              "same of fewer than 5 rounds, = a tie.")
    return "\n".join([paragraph(how), "", head, "|---|---|---|---|---|", *lines, "", paragraph(legend)])


def paragraph(words: str) -> str:
    return textwrap.fill(words, 120, break_long_words=False, break_on_hyphens=False)


def marked(record_name: str, record: dict) -> str:
    return f"<!-- numbers of {record_name} -->\n{table(record)}\n<!-- end of numbers -->"


def place(readme: Path, text: str) -> re.Match:
    found = list(MARKED.finditer(text))
    if len(found) != 1:
        raise SystemExit(f"{readme}: {len(found)} places for the table; there must be one <!-- numbers -->")
    return found[0]


def write(readme: Path, record: Path) -> None:
    text = readme.read_text(encoding="utf-8")
    match = place(readme, text)
    name = Path(os.path.relpath(record, readme.resolve().parent)).as_posix()
    new = marked(name, findings.load(record))
    readme.write_text(text[:match.start()] + new + text[match.end():], encoding="utf-8")


def check(readme: Path) -> None:
    """Raises SystemExit, in words, when the table is not the record's."""
    match = place(readme, readme.read_text(encoding="utf-8"))
    if not match["record"]:
        raise SystemExit(f"{readme}: the table names no record")
    record = readme.resolve().parent / match["record"]
    if not record.is_file():
        raise SystemExit(f"{readme}: there is no {match['record']}")
    if match.group() != marked(match["record"], findings.load(record)):
        raise SystemExit(f"{readme}: the table is not what {match['record']} says: {sys.argv[0]} {readme} {record}")


def main() -> int:
    arguments = sys.argv[1:]
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    if arguments[0] == "--check":
        check(Path(arguments[1]))
    else:
        write(*map(Path, arguments))
    return 0


if __name__ == "__main__":
    sys.exit(main())
