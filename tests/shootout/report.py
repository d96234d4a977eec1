#!/usr/bin/env python3
"""A record as one page of HTML that needs no network and no script.

    report.py RECORD.json [OUT.html]       beside the record, if no other place is named
"""

import sys
from pathlib import Path
from typing import Iterable

import findings
import opening
import sections
import wording
from markup import Markup, details, tag

STYLE = Path(__file__).with_name("page.css")
# The page may load nothing at all, wherever it is opened.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
PARTS = (("tally", "Ahead, tie, behind"), ("then", "Then and now"), ("ratios", "Every ratio"),
         ("machine", "The machine"))


def share(percent: float | None) -> str | None:
    return None if percent is None else f"{wording.compact(percent)} % of the CPU time"


def listed(facts: Iterable[tuple[str, object]]) -> Markup:
    pairs = (tag("div", tag("dt", name), tag("dd", wording.NOTHING if fact is None else fact)) for name, fact in facts)
    return tag("dl", *pairs, class_="facts")


def machine(record: dict) -> Markup:
    of = record["machine"]
    noise = of.get("noise") or {}
    facts = (("CPU", of.get("cpu")), ("CPUs", of.get("cpus")),
             ("memory", f"{wording.number(of.get('memory_mib'))} MiB"), ("kernel", of.get("kernel")),
             ("congestion control", of.get("congestion_control")),
             ("noise: stolen", share(noise.get("steal_percent"))),
             ("noise: others", share(noise.get("other_cpu_percent"))))
    holes = of.get("mitigations") or {}
    mitigations = details(f"Mitigations ({len(holes)})", listed(sorted(holes.items()))) if holes else None
    return tag("section", tag("h2", "The machine"), listed(facts), mitigations, id="machine")


def navigation(record: dict, parts: set[str]) -> Markup:
    links = [(name, title) for name, title in PARTS if name in parts]
    links += [(each["name"], each["name"]) for each in record["scenarios"]]
    items = (tag("li", tag("a", title, href=f"#{name}")) for name, title in links)
    return tag("nav", tag("ul", *items), aria_label="Parts of this report")


def page(record: dict) -> str:
    history = opening.then_and_now(record)
    body = [opening.opening(record), opening.wins_and_losses(record), history, opening.matrix(record), machine(record),
            sections.all_sections(record),
            tag("footer", tag("p", "All of it again: ", tag("code", record["run"]["command"])))]
    parts = {name for name, _ in PARTS} - (set() if history else {"then"})
    title = f"fastserve shoot-out, {record['run']['date'][:10]}"
    head = [Markup('<meta charset="utf-8">'), Markup(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
            Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
            Markup('<meta name="color-scheme" content="light dark">'), tag("title", title),
            tag("style", Markup(STYLE.read_text(encoding="utf-8")))]
    content = tag("div", navigation(record, parts), tag("main", *body), class_="page")
    return "<!doctype html>\n" + tag("html", tag("head", *head), tag("body", content), lang="en") + "\n"


def write(record_path: Path, out: Path | None = None) -> Path:
    """Writes the page of a record; returns where."""
    target = out or record_path.with_suffix(".html")
    target.write_text(page(findings.load(record_path)), encoding="utf-8")
    return target


def main() -> int:
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    print(write(*map(Path, sys.argv[1:])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
