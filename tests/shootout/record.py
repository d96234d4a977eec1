"""The record of a run: a JSON file, complete after every round.

What is derived from figures (medians, ratios, verdicts) is not in it; the report computes that.
"""

import json
import os
import tempfile
from pathlib import Path

FORMAT = 1


class Unreadable(Exception):
    """A file that is no record, or one of another format."""


def read(path: Path) -> dict:
    try:
        record = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise Unreadable(f"{path}: {error}") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise Unreadable(f"{path}: no record of format {FORMAT}")
    return record


def write(path: Path, record: dict) -> None:
    """Whoever reads the file sees the old record or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w") as file:
            json.dump(record, file, indent=1)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def finished(record: dict) -> bool:
    return record["run"]["seconds"] is not None


def unfinished_of(folder: Path, command: str, commit: str) -> Path | None:
    """The newest unfinished record that this command began on this commit."""
    for path in sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True):
        try:
            record = read(path)
        except Unreadable:
            continue
        if (record["run"]["commit"], record["run"]["command"]) == (commit, command) and not finished(record):
            return path
    return None


def part(parts: list[dict], key: str, value: str, make) -> dict:
    """The one of `parts` whose `key` is `value`; made and appended if there is none."""
    for found in parts:
        if found[key] == value:
            return found
    parts.append(make())
    return parts[-1]


def rounds_done(variant: dict) -> int:
    """How many rounds every row that takes part has."""
    counts = [len(row["rounds"]) for row in variant["rows"] if row["absent"] is None]
    return min(counts, default=0)


def cut_to_whole_rounds(variant: dict) -> None:
    """A round counts only when every row ran in it: ratios are formed round by round."""
    whole = rounds_done(variant)
    for row in variant["rows"]:
        if row["absent"] is None:
            del row["rounds"][whole:]
