"""The cases of cases/*.json: what is sent, and what the rule it belongs to says of the answer.

A file is a list of rules. A rule has its name (`rule`), where it stands (`rfc`), how strong it is there (`level`: MUST,
SHOULD, MAY, or SAFE where the RFC has no word but anything else would be unsafe), a sentence (`why`), what any server
may do (`allow`: the floor), what fastserve does where that leaves a choice (`want`), and its cases by name. Outcomes are
explained in judge.py. A case is what is sent, or an object with

    send        what is sent                      then    what is sent when the first bytes have come back
    half_close  the sending side is shut down     pieces  bytes a write, always

What is sent is text, one character an octet, or a list of parts: text, [n, part or list] for n times the same, and
{"known": "etag"} or {"known": "lastmod"} for what the server said of /static/file.txt. A rule with `around` puts its
first text before each of its cases, and its second behind.
"""

import json
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "cases"
RULE = {"rule", "rfc", "level", "why", "allow", "want", "around", "cases"}
CASE = {"send", "then", "half_close", "pieces"}


@dataclass
class Case:
    id: str
    rule: dict
    send: bytes
    then: bytes | None = None
    half_close: bool = False
    pieces: int = 0

    @property
    def allow(self) -> dict:
        return self.rule["allow"]

    @property
    def want(self) -> dict:
        """What fastserve is held to: where a rule prefers nothing, the floor."""
        return {**self.rule["allow"], **self.rule.get("want", {})}


def octets(what, known: dict) -> bytes:
    if isinstance(what, str):
        return what.encode("latin-1")
    if isinstance(what, dict):
        return known[what["known"]].encode("latin-1")
    if len(what) == 2 and isinstance(what[0], int):
        return octets(what[1], known) * what[0]
    return b"".join(octets(part, known) for part in what)


def load(known: dict, folder: Path = FOLDER) -> list[Case]:
    """All cases. A name that is there twice, or a key that is not known, is an error."""
    cases: dict[str, Case] = {}
    rules = set()
    for path in sorted(folder.glob("*.json")):
        for rule in json.loads(path.read_text(encoding="utf-8")):
            if not RULE - {"want", "around"} <= rule.keys() <= RULE or rule["rule"] in rules:
                raise ValueError(f"{path.name}: {rule.get('rule')}: not a rule, or one that is there already")
            rules.add(rule["rule"])
            before, behind = (part.encode("latin-1") for part in rule.get("around", ("", "")))
            for name, case in rule["cases"].items():
                given = case if isinstance(case, dict) and "known" not in case else {"send": case}
                if name in cases or not given.keys() <= CASE:
                    raise ValueError(f"{path.name}: {name}: not a case, or one that is there already")
                cases[name] = Case(name, rule, before + octets(given["send"], known) + behind,
                                   octets(given["then"], known) if "then" in given else None,
                                   given.get("half_close", False), given.get("pieces", 0))
    return list(cases.values())
