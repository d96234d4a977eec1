#!/usr/bin/env python3
"""Asks the grammar, and fastserve's parser and decoder, about texts made at random: they must say the same.

    grammar_test.py PROGRAM [COUNT [SEED]]

PROGRAM answers as verdicts.cpp does. Prints the seed, and the first texts that are judged differently.
"""

import random
import subprocess
import sys

import grammar
from texts import Source

BATCH = 5_000
SHOWN = 5


def verdict(kind: str, text: str) -> str:
    """What the grammar says, in the words of verdicts.cpp."""
    try:
        if kind == "c":
            found = grammar.chunked_body(text)
            return "\n".join(["complete", str(found["size"]), found["body"], found["trailers"], ""])
        head = grammar.request_head(text)
    except grammar.Invalid:
        return "error"
    except grammar.Incomplete:
        return "incomplete"
    flags = [str(int(head[flag])) for flag in ("has_query", "secure", "keep_alive", "expects", "upgrade")]
    return "\n".join(
        ["complete", str(head["size"]), head["method"], head["target"], head["path"], head["query"], head["host"],
         head["form"], str(head["minor"]), head["framing"], str(head["length"]), *flags]
        + [part for line in head["fields"] for part in line] + [""])


def ask(program: str, texts: list[tuple[str, str]]) -> list[str]:
    """What the program says about each."""
    sent = b"".join(kind.encode() + len(text).to_bytes(4, "little") + text.encode("latin-1") for kind, text in texts)
    got = subprocess.run([program], input=sent, stdout=subprocess.PIPE, check=True, timeout=300).stdout
    answers, at = [], 0
    while at < len(got):
        size = int.from_bytes(got[at:at + 4], "little")
        answers.append(got[at + 4:at + 4 + size].decode("latin-1"))
        at += 4 + size
    if len(answers) != len(texts):
        raise SystemExit(f"{len(answers)} answers to {len(texts)} texts")
    return answers


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.SystemRandom().randrange(1 << 32)
    source = Source(seed)
    wrong, seen = 0, {}
    for begin in range(0, count, BATCH):
        texts = [source.next() for _ in range(min(BATCH, count - begin))]
        for (kind, text), said in zip(texts, ask(sys.argv[1], texts)):
            right = verdict(kind, text)
            of = kind, right.split("\n", 1)[0]
            seen[of] = seen.get(of, 0) + 1
            if said == right:
                continue
            wrong += 1
            if wrong <= SHOWN:
                print(f"{text!r}\n  by the grammar {right!r}\n  by fastserve   {said!r}")
    for of, number in sorted(seen.items()):
        print(f"{'head' if of[0] == 'h' else 'chunked body'} {of[1]}: {number}")
    # A source that makes only one kind of text would prove nothing.
    if len(seen) != 6 or min(seen.values()) < count // 100:
        wrong += 1
    print(f"tried {count} wrong {wrong} seed {seed}")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
