#!/usr/bin/env python3
"""Sends the cases to any server on 127.0.0.1, one that offers what fixture.cpp says.

    against.py PORT [--only BEGINNING] [--cut BYTES]

Says what breaks a rule, and what fastserve would do otherwise; exits 1 if a rule is broken.
"""

import argparse
import asyncio
import sys

from cases import load
from judge import invariants, judge
from talk import known, talk


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", type=int)
    parser.add_argument("--only", default="", metavar="BEGINNING", help="of the name of a case")
    parser.add_argument("--cut", type=int, default=0, metavar="BYTES", help="send so many bytes a write")
    given = parser.parse_args()
    cases = [case for case in load(known(given.port)) if case.id.startswith(given.only)]
    outcomes = asyncio.run(talk(given.port, cases, {"": given.cut}))[""]
    floor = strict = 0
    for case in cases:
        faults = judge(outcomes[case.id], case.allow)
        faults += invariants(outcomes[case.id], case.allow.get("unannounced", False))
        others = judge(outcomes[case.id], case.want) if not faults else []
        floor, strict = floor + (not faults), strict + (not faults and not others)
        if faults or others:
            where = f"{case.rule['rule']} [RFC {case.rule['rfc']}, {case.rule['level']}]"
            print(f"{'BROKEN' if faults else 'other '} {case.id}: {'; '.join(faults or others)}\n       {where}")
    print(f"{len(cases)} cases: floor {floor}, strict {strict}")
    return 0 if floor == len(cases) else 1


if __name__ == "__main__":
    sys.exit(main())
