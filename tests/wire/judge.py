"""Says what is wrong with an outcome.

An outcome that a rule allows or wants may say

    status      what the first final answer may be          answers   how many final answers there are
    closes      whether the server ends the connection      silent    it may also do so without an answer
    each        what every final answer may be              order     the same, one by one
    body        of the first answer, if it is a success     bodies    of all
    bodyless    the first answer has no body                if_success  what else holds if the first one is 2xx
    fields      the first answer has them (and the values)  no_fields   it has them not
    interim     interim answers that come                   never     answers that do not, interim or final
    hides       text that is nowhere in what comes          at_most   bytes that come
    says_close  the first answer has Connection: close      waits     nothing comes and nothing ends for half a second
    unannounced the connection may end without that, as the answer was sent before the reason came
"""

from dataclasses import dataclass, field

from answers import Answer
from cases import octets

KEYS = {"status", "answers", "closes", "silent", "each", "order", "body", "bodies", "bodyless", "if_success", "fields",
        "no_fields", "interim", "never", "hides", "at_most", "says_close", "unannounced", "waits"}


@dataclass
class Outcome:
    answers: list[Answer] = field(default_factory=list)
    size: int = 0
    hidden: dict[str, bool] = field(default_factory=dict)  # for each text that must not come: whether it has not
    closed: bool = False  # by the server
    half_closed: bool = False  # the client had stopped sending before
    faults: list[str] = field(default_factory=list)  # of the conversation itself

    @property
    def final(self) -> list[Answer]:
        return [answer for answer in self.answers if answer.status >= 200]

    def verdict(self) -> tuple:
        """What must not depend on how the bytes are cut."""
        return tuple((a.status, a.body) for a in self.final), self.closed, tuple(self.faults)


def invariants(o: Outcome, unannounced: bool = False) -> list[str]:
    """What holds for every answer of every server that says what it does."""
    faults = list(o.faults)
    faults += ["cut short" for answer in o.answers if not answer.whole]
    closing = [answer.says("connection", "close") for answer in o.final]
    if any(closing[:-1]):
        faults.append("an answer behind one that says close")
    if closing and o.closed and not o.half_closed and not unannounced and not closing[-1]:
        faults.append("closed without saying so")
    if closing and not o.closed and closing[-1]:
        faults.append("said close and did not")
    return faults


def judge(o: Outcome, x: dict) -> list[str]:
    """What is wrong with `o` by the outcome `x` of a rule."""
    faults = []
    final, statuses = o.final, [answer.status for answer in o.final]
    first = final[0] if final else None
    silent = x.get("silent", False) and o.closed and not final

    def check(holds: bool, fault: str):
        if not holds:
            faults.append(fault)

    if x.get("waits"):
        check(o.size == 0, f"did not wait: {statuses}")
        check(not o.closed, "did not wait: closed")
        return faults
    if "status" in x and not silent:
        check(first is not None and first.status in x["status"], f"status {statuses[:1]}, not of {x['status']}")
    if "closes" in x:
        check(o.closed == x["closes"], "closed" if o.closed else "not closed")
    if "answers" in x and not silent:
        check(len(final) == x["answers"], f"{len(final)} answers, not {x['answers']}: {statuses[:5]}")
    check(all(status in x.get("each", statuses) for status in statuses), f"answers {statuses[:5]}")
    check(all(status in right for status, right in zip(statuses, x.get("order", []))), f"answers {statuses[:5]}")
    if "body" in x and first and first.status < 300:
        check(first.body == octets(x["body"], {}), f"body {first.body[:40]!r}")
    if "bodies" in x:
        check([answer.body.decode("latin-1") for answer in final] == x["bodies"], "other bodies")
    if x.get("bodyless") and first:
        check(not first.body, "has a body")
    if first:
        for name in x.get("fields", []):
            check(name in first.fields, f"has no {name}")
            if isinstance(x["fields"], dict) and name in first.fields:
                check(first.fields[name] == [x["fields"][name]], f"{name}: {first.fields[name]}")
        for name in x.get("no_fields", []):
            check(name not in first.fields, f"has {name}")
        check(not x.get("says_close") or first.says("connection", "close"), "does not say close")
        if first.status < 300 and "if_success" in x:
            faults += judge(o, x["if_success"])
    every = [answer.status for answer in o.answers]
    check(all(status in every for status in x.get("interim", [])), f"no {x.get('interim')} among {every[:5]}")
    check(not any(status in every for status in x.get("never", [])), f"answers {every[:5]}")
    check(all(o.hidden.get(text, True) for text in x.get("hides", [])), f"shows one of {x.get('hides')}")
    check(o.size <= x.get("at_most", o.size), f"{o.size} bytes")
    return faults
