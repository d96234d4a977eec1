"""What a record says: which rows are held against each other, the sentence to quote, then and now.

Everything here is computed from the record alone.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

import figures
import wording
from figures import Spread

OURS = "fastserve"
CEILING = "limit"  # answers without parsing or routing: what is left of a request when nothing is done
RIVAL = "fasthttp"
CPU = "server_cpu_us"
# The card's own command, the only one that may say of its figure that it was exceeded.
CARD = {"t": 4, "c": 100, "d": 20}


def load(path: str | Path) -> dict:
    record = json.loads(Path(path).read_text(encoding="utf-8"))
    if not isinstance(record, dict) or record.get("format") != 1:
        raise SystemExit(f"{path}: not a record of format 1")
    return record


def server_name(record: dict, row: dict) -> str:
    """fastserve for fastserve-w8."""
    return record["servers"].get(row["server"], {}).get("name") or row["server"]


def server_label(record: dict, row: dict) -> str:
    return record["servers"].get(row["server"], {}).get("label") or row["server"]


def version(record: dict, row: dict) -> str:
    return record["servers"].get(row["server"], {}).get("version") or ""


def is_measured(row: dict) -> bool:
    return figures.row_spread(row) is not None


def absence(record: dict, row: dict) -> str | None:
    """Why there is nothing of a row."""
    why = row.get("absent") or record["servers"].get(row["server"], {}).get("absent")
    return why or (None if is_measured(row) else "no round of it has been measured")


def scenario(record: dict, name: str) -> dict | None:
    return next((each for each in record["scenarios"] if each["name"] == name), None)


def rows_named(record: dict, variant: dict, name: str) -> list[dict]:
    """The measured rows of a server, by its id or by its name, in the order of the record."""
    rows = [row for row in variant["rows"] if is_measured(row)]
    return [row for row in rows if row["server"] == name] or [row for row in rows if server_name(record, row) == name]


def reference(record: dict, variant: dict) -> dict | None:
    """The row that the others are held against: the first of fastserve; where it did not run, the first of all."""
    ours = rows_named(record, variant, OURS)
    return ours[0] if ours else next(filter(is_measured, variant["rows"]), None)


def counterpart(record: dict, variant: dict, peer: dict) -> dict | None:
    """The row that `peer` is held against: of fastserve's rows the first with as many threads, else the reference."""
    threads = record["servers"].get(peer["server"], {}).get("threads")
    for row in rows_named(record, variant, OURS):
        if threads is not None and record["servers"].get(row["server"], {}).get("threads") == threads:
            return row
    return reference(record, variant)


@dataclass(frozen=True)
class Comparison:
    """A row over a peer's, in the variant's figure and in CPU a request."""

    scenario: dict
    variant: dict
    row: dict
    peer: dict
    ratio: Spread | None
    verdict: str
    cpu: Spread | None
    cpu_verdict: str


def compare(scenario_: dict, variant: dict, row: dict, peer: dict) -> Comparison:
    ratio, cpu = figures.ratio(row, peer), figures.ratio(row, peer, CPU)
    return Comparison(scenario_, variant, row, peer, ratio, figures.verdict(ratio, variant["higher_is_better"]),
                      cpu, figures.verdict(cpu, higher_is_better=False))


def comparisons(record: dict) -> Iterator[Comparison]:
    """fastserve against every peer that was measured beside it."""
    for each in record["scenarios"]:
        for variant in each["variants"]:
            for peer in variant["rows"]:
                row = counterpart(record, variant, peer)
                if row and is_measured(peer) and server_name(record, row) == OURS != server_name(record, peer):
                    yield compare(each, variant, row, peer)


def tally(verdicts: Iterator[str]) -> Counter:
    """How often ahead, in a tie and behind, the indicative ones with the others."""
    return Counter(verdict.removeprefix("indicative ") for verdict in verdicts if verdict != figures.UNKNOWN)


def options(command: str) -> dict[str, int]:
    """The numbers that are given to wrk's or ab's one-letter options: "-t4 -d 20s" is t 4 and d 20."""
    return {letter: int(value) for letter, value in re.findall(r"(?<!\S)-([a-zA-Z])\s*(\d+)(?=s?(?:\s|$))", command)}


def is_card(variant: dict) -> bool:
    """Whether a load is the card's command: plain wrk. The harness's own script only counts unless it is told more."""
    words = (variant.get("load") or "").split()
    scripts = [Path(after).name for before, after in zip(words, words[1:]) if before in ("-s", "--script")]
    plain = words[:1] == ["wrk"] and not {"-H", "--header", "--"} & set(words) and set(scripts) <= {"wrk.lua"}
    given = options(" ".join(words))
    return plain and {key: given.get(key) for key in CARD} == CARD


@dataclass(frozen=True)
class ThenAndNow:
    """A historical test: its figure, and the same peer and fastserve in this run."""

    then: dict | None  # None: no figure of it is at hand; then the peer is the first that ran
    variant: dict | None  # None: the peer and fastserve did not both run
    peer: dict | None
    row: dict | None
    ratio: Spread | None
    verdict: str
    exceeded: bool  # the card's own command gave more than the figure in each of its rounds


def historical_peers(record: dict, variant: dict, then: dict | None) -> list[dict]:
    if then:
        return rows_named(record, variant, then["server"]) if variant["unit"] == then["unit"] else []
    return [row for row in variant["rows"] if is_measured(row) and server_name(record, row) not in (OURS, CEILING)]


def then_and_now(record: dict, of: dict) -> ThenAndNow | None:
    """None for a scenario that repeats no historical test."""
    then = of.get("then")
    if not then and not of.get("historical"):
        return None
    for variant in of["variants"]:
        peers, ours = historical_peers(record, variant, then), rows_named(record, variant, OURS)
        if peers and ours:
            # The card's command is quoted with the server that the card names first.
            row = ours[0] if is_card(variant) else counterpart(record, variant, peers[0])
            found = compare(of, variant, row, peers[0])
            exceeded = bool(then) and is_card(variant) and figures.row_spread(row).least > then["value"]
            return ThenAndNow(then, variant, peers[0], row, found.ratio, found.verdict, exceeded)
    return ThenAndNow(then, None, None, None, None, figures.UNKNOWN, False)


@dataclass(frozen=True)
class Headline:
    """What is quoted: hello against fasthttp, and the same with server and generator on different CPUs."""

    shared: Comparison
    disjoint: Comparison | None


def against_rival(record: dict, of: dict | None, apart: bool, prefer: str = "") -> Comparison | None:
    for variant in (of or {}).get("variants", []):
        ours, rivals = rows_named(record, variant, OURS), rows_named(record, variant, RIVAL)
        if wording.disjoint(variant.get("placement")) == apart and ours and rivals:
            row = next((each for each in ours if each["server"] == prefer), ours[0])
            return compare(of, variant, row, rivals[0])
    return None


def headline(record: dict) -> Headline | None:
    """None where hello has not been measured with both."""
    hello, placement = scenario(record, "hello"), scenario(record, "placement")
    shared = against_rival(record, hello, apart=False)
    if not shared:
        return None
    ours = shared.row["server"]
    apart = against_rival(record, hello, True, ours) or against_rival(record, placement, True, ours)
    return Headline(shared, apart)
