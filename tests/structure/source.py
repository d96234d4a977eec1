"""Reading C++ sources: what the structure tests share."""

import re
from pathlib import Path
from typing import Iterator, NamedTuple

CPP = {".hpp", ".cpp", ".h", ".cc", ".ipp"}

# A comment, a literal, or a digit separator, whichever starts first.
_TOKEN = re.compile(
    r"""
      (?P<comment> //(?:\\\n|[^\n])* | /\*.*?\*/ )
    | (?P<raw> R"(?P<delimiter>[^\s()\\]{0,16})\(.*?\)(?P=delimiter)" )
    | (?P<include> ^[ \t]*\#[ \t]*include\b[^\n]* )
    | (?P<string> "(?:\\.|[^"\\\n])*" )
    | (?P<separator> (?<=[0-9a-fA-F])'(?=[0-9a-fA-F]) )
    | (?P<character> '(?:\\.|[^'\\\n])+' )
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


def strip(text: str) -> str:
    """`text` without its comments and with empty literals; lines keep their numbers, include lines their names."""

    def keep(match: re.Match) -> str:
        kind, found = match.lastgroup, match.group()
        if kind in ("include", "separator"):
            return re.sub(r"//.*|/\*.*?\*/", " ", found)
        newlines = "\n" * found.count("\n")
        return (" " if kind == "comment" else '""') + newlines

    return _TOKEN.sub(keep, text)


class Include(NamedTuple):
    line: int
    name: str  # between the delimiters; of a computed include, the whole operand
    kind: str  # '<', '"', or '?' for a computed one


def includes(stripped: str) -> Iterator[Include]:
    for number, line in enumerate(stripped.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*(?:<([^>]+)>|"([^"]+)"|(.*))', line)
        if match:
            angled, quoted, computed = match.groups()
            if angled is not None:
                yield Include(number, angled.strip(), "<")
            elif quoted is not None:
                yield Include(number, quoted.strip(), '"')
            else:
                yield Include(number, computed.strip(), "?")


def sources(folder: Path, suffixes: set[str] = CPP) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in suffixes and path.is_file())
