"""How a report opens: the sentence to quote, then and now, wins and losses, and every ratio in one table."""

import math
import re
from collections import Counter

import figures
import findings
import sections
import tables
import wording
from findings import Comparison
from markup import Markup, join, tag


def measured_times(found: Comparison) -> Markup:
    return tag("b", f"{wording.times(found.ratio.median)} times", class_=tables.verdict_class(found.verdict))


def within(found: Comparison) -> str:
    return f" ({wording.interval(found.ratio)} in {wording.rounds(found.ratio.rounds)}: {found.verdict})"


def label(record: dict, row: dict, more: str = "") -> Markup:
    return tag("span", f"{findings.server_label(record, row)} {more}".strip(), class_="whole")


def sentence(record: dict) -> Markup:
    """What a person can quote: ratio, interval, placement, and the ratio on disjoint CPUs beside it."""
    found = findings.headline(record)
    if not found or not found.shared.ratio:
        return Markup("This record holds no run of hello with both fastserve and fasthttp: there is no ratio to quote.")
    shared, apart = found.shared, found.disjoint
    version = re.split("[ ,]", findings.version(record, shared.peer))[0]
    parts = [label(record, shared.row), " answered ", measured_times(shared), " as many requests a second as ",
             label(record, shared.peer, version), within(shared), " ", wording.placement(shared.variant["placement"]),
             "; "]
    if apart and apart.ratio:
        who = "" if apart.row["server"] == shared.row["server"] else label(record, apart.row)
        parts += [wording.placement(apart.variant["placement"]), " ", who, " " if who else "it ", "answered ",
                  measured_times(apart), " as many", within(apart), "."]
    else:
        parts += ["disjoint CPUs are not in this record."]
    return join(parts)


def both_machines(record: dict) -> Markup | None:
    """The card's figure beside this run's: whether it was exceeded is said only of the card's own command."""
    hello = findings.scenario(record, "hello")
    found = findings.then_and_now(record, hello) if hello else None
    if not found or not found.then or not found.variant:
        return None
    unit, machine = found.variant["unit"], record["machine"]
    peer, ours = figures.row_spread(found.peer), figures.row_spread(found.row)
    here = (f"here, on {machine['cpus']} CPUs of {machine['cpu']}, {findings.server_label(record, found.peer)} makes "
            f"{wording.number(peer.median)} and {findings.server_label(record, found.row)} "
            f"{wording.number(ours.median)} {unit}")
    if found.exceeded:
        here += (f", in each of its {wording.rounds(ours.rounds)} of the card's own command more than "
                 f"{wording.number(found.then['value'])} (the least {wording.number(ours.least)})")
    return tag("p", f"Then: {found.then['text']}; {here}.")


def opening(record: dict) -> Markup:
    run, notes = record["run"], []
    found = findings.headline(record)
    if found:
        code = tag("code", found.shared.variant["load"])
        notes.append(tag("p", "The load: ", code, ". Ratios are taken round by round; the interval is their least and "
                         "greatest."))
        limited = max(map(tables.rounds_at_limit, (found.shared.row, found.shared.peer)))
        if limited:
            notes.append(tag("p", f"The generator was the limit in {wording.rounds(limited)}.", class_="behind"))
    notes.append(both_machines(record))
    if run.get("quick"):
        notes.append(tag("p", "A quick run of 3 short rounds: a hint, not a result."))
    facts = [run["date"].replace("T", " ").replace("Z", " UTC"), f"commit {run['commit'][:12]}"
             + (" with uncommitted changes" if run.get("dirty") else ""),
             "not finished" if run.get("seconds") is None else f"{run['seconds'] / 60:.0f} minutes"]
    return tag("header", tag("p", "fastserve shoot-out", class_="kicker"), tag("h1", sentence(record)), *notes,
               tag("p", " · ".join(facts), class_="facts"))


def furthest(record: dict, found: list[Comparison]) -> Markup:
    if not found:
        return tag("p", "nowhere")
    most = max(found, key=lambda each: abs(math.log(max(each.ratio.median, 1e-9))))
    where = f"{most.scenario['name']}, {most.variant['title']}"
    return tag("p", f"furthest: {wording.ratio(most.ratio)} to {findings.server_label(record, most.peer)} in ",
               tag("a", where, href=f"#{most.scenario['name']}-{most.variant['id']}"))


def wins_and_losses(record: dict) -> Markup:
    found = list(findings.comparisons(record))
    counts, cpu = findings.tally(each.verdict for each in found), findings.tally(each.cpu_verdict for each in found)
    tiles = []
    for verdict in (figures.AHEAD, figures.TIE, figures.BEHIND):
        those = [each for each in found if each.verdict.endswith(verdict)]
        ceiling = sum(findings.server_name(record, each.peer) == findings.CEILING for each in those)
        hints = sum(each.verdict.startswith("indicative") for each in those)
        about = [f"{hints} of them indicative" if hints else "", f"{ceiling} of them to limit" if ceiling else ""]
        tiles.append(tag("li", tag("strong", str(counts[verdict]), class_="count"),
                         tag("span", verdict, class_="verdict"), tag("p", "; ".join(filter(None, about))),
                         None if verdict == figures.TIE else furthest(record, those),
                         tag("p", f"{cpu[verdict]} by server CPU a request"), class_=f"tile {verdict}"))
    words = (f"{len(found)} comparisons of fastserve with a peer in the same rounds. limit answers without parsing or "
             "routing: it is what remains of a request when nothing is done for it.")
    return tag("section", tag("h2", "Ahead, tie, behind"), tag("p", words), tag("ul", *tiles, class_="tiles"),
               id="tally")


def then_and_now(record: dict) -> Markup | None:
    lines = [(each, sections.then_line(record, each)) for each in record["scenarios"]]
    shown = [tag("li", tag("h3", tag("a", each["name"], href=f"#{each['name']}")), line)
             for each, line in lines if line]
    return tag("section", tag("h2", "Then and now"), tag("ul", *shown, class_="history"), id="then") if shown else None


def matrix_cell(record: dict, found: list[Comparison], absent: str | None) -> Markup:
    if not found:
        return tag("span", "not run" if absent else wording.NOTHING, class_="unknown", title=absent)
    lines = []
    for each in found:
        cpu = [tag("small", f"CPU {tables.GLYPHS[each.cpu_verdict]} {wording.times(each.cpu.median)}",
                   class_=tables.verdict_class(each.cpu_verdict))] if each.cpu else []
        if not each.ratio:
            continue
        words = (f"{findings.server_label(record, each.row)} ÷ {findings.server_label(record, each.peer)}: "
                 f"{wording.ratio(each.ratio)} in {wording.rounds(each.ratio.rounds)}, {each.verdict}")
        which = tag("small", each.peer["server"]) if len(found) > 1 else None
        times = tag("span", tables.GLYPHS[each.verdict], " ", tag("b", wording.times(each.ratio.median)),
                    class_=tables.verdict_class(each.verdict))
        lines.append(tag("div", which, times, " ", *cpu, title=words))
    return join(lines)


def matrix(record: dict) -> Markup:
    """Every ratio: a line for each variant, a column for each peer."""
    found: dict[tuple[str, str, str], list[Comparison]] = {}
    for each in findings.comparisons(record):
        key = (each.scenario["name"], each.variant["id"], findings.server_name(record, each.peer))
        found.setdefault(key, []).append(each)
    often = Counter(peer for _, _, peer in found)
    peers = [peer for peer, _ in often.most_common()]
    bodies = []
    for scenario in record["scenarios"]:
        lines = []
        for variant in scenario["variants"]:
            names = {findings.server_name(record, row): findings.absence(record, row) for row in variant["rows"]}
            against = [found.get((scenario["name"], variant["id"], peer), []) for peer in peers]
            cells = [tag("td", matrix_cell(record, those, names.get(peer))) for peer, those in zip(peers, against)]
            if any(against):
                link = tag("a", variant["title"], href=f"#{scenario['name']}-{variant['id']}")
                less = None if variant["higher_is_better"] else tag("small", f"{variant['unit']}, less is better")
                lines.append(tag("tr", tag("th", link, less, scope="row"), *cells))
        if lines:
            group = tag("th", tag("a", scenario["name"], href=f"#{scenario['name']}"), scope="rowgroup",
                        colspan=len(peers) + 1)
            bodies.append(tag("tbody", tag("tr", group, class_="group"), *lines))
    head = tag("thead", tag("tr", tag("th", "", scope="col"), *(tag("th", peer, scope="col") for peer in peers)))
    inner = tag("table", tag("caption", "fastserve ÷ peer"), head, *bodies, class_="matrix")
    words = ("fastserve ÷ peer in each variant's figure, and below it in server CPU a request, where less is better. "
             "▲ ahead and ▼ behind: at least 5 rounds, all on one side of 1. △ and ▽: the same of 3 or 4 rounds, "
             "indicative. =: a tie.")
    return tag("section", tag("h2", "Every ratio"), tag("p", words),
               tag("div", inner, class_="scroll", role="region", aria_label="Every ratio", tabindex="0"), id="ratios")
