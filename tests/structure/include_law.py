#!/usr/bin/env python3
"""The include law: each layer includes only what stands above it, and the lower ones only what their purpose allows.

    include_law.py ROOT

Prints one line a breach, `file:line: what`, and exits 1 if there is one.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from source import includes, sources, strip

STD = re.compile(r"[a-z_0-9]+")  # <vector>: no slash, no dot
ANY = re.compile(r".*")

THREADS = {"thread", "mutex", "shared_mutex", "condition_variable", "future", "semaphore", "latch", "barrier"}
FILES = {"fstream", "filesystem", "cstdio", "iostream", "syncstream"}
CLOCKS = {"ctime"}

# What may be found in a source, comments and literals apart, besides its includes.
NO_CLOCK = (re.compile(r"_clock\s*::\s*now\b|\bclock_gettime\b|\bgettimeofday\b|\btime\s*\(\s*(?:0|NULL|nullptr)\s*\)"),
            "reads a clock")
NO_THREAD = (re.compile(r"\bstd\s*::\s*(?:j?thread|this_thread|async)\b|\bpthread_create\b"), "knows of threads")
NO_OUTPUT = (re.compile(r"\bstd\s*::\s*(?:cout|cerr|clog|exit|quick_exit|_Exit)\b|(?<![\w.>])(?:printf|puts)\s*\("),
             "prints or exits")


@dataclass(frozen=True)
class Layer:
    name: str
    folder: str
    prefix: str  # how its headers are spelled
    sees: tuple[str, ...]  # the layers it may include, itself among them
    external: tuple[re.Pattern, ...] = (ANY,)  # what it may include that is not ours
    forbidden: frozenset[str] = frozenset()  # of these, what it may not
    in_one_file: frozenset[str] = frozenset()  # allowed besides, in a single file of the layer
    tokens: tuple[tuple[re.Pattern, str], ...] = ()
    public_only: bool = False  # of the layers above, only what is installed


# From the lowest to the highest, as in docs/ARCHITECTURE.md. The longest prefix that fits tells whose header it is.
LAYERS = (
    Layer("pool", "pool", "fastserve/pool/", ("pool",),
          external=(STD, re.compile(r"sanitizer/asan_interface\.h")),
          # Growth may take a lock, and misuse found in a debug build is reported; neither is on the way of a request.
          forbidden=frozenset((THREADS | FILES | CLOCKS) - {"mutex", "cstdio"}),
          in_one_file=frozenset({"sys/mman.h", "unistd.h"}),
          tokens=(NO_CLOCK, NO_THREAD, NO_OUTPUT)),
    Layer("http", "server/http", "fastserve/http/", ("pool", "http"),
          external=(STD, re.compile(r"(?:[a-z]+intrin|cpuid|arm_neon|sanitizer/asan_interface)\.h"),
                    re.compile(r"boost/system/.*"),
                    # Beast's words and message types; not its readers and writers.
                    re.compile(r"boost/beast/http/(?:verb|status|field|fields|message|empty_body|string_body)\.hpp")),
          forbidden=frozenset(THREADS | FILES | CLOCKS),
          tokens=(NO_CLOCK, NO_THREAD, NO_OUTPUT)),
    # Bytes into bytes, for whoever is above; http/ has the names of the codings, which it negotiates.
    Layer("coding", "server/coding", "fastserve/coding/", ("http", "coding"),
          external=(STD, re.compile(r"(?:zlib|zstd|zstd_errors|brotli/(?:encode|decode))\.h")),
          forbidden=frozenset(THREADS | FILES | CLOCKS),
          tokens=(NO_CLOCK, NO_THREAD, NO_OUTPUT)),
    # From a name to what is sent of a file: system calls on files and folders. The time is told by the caller.
    Layer("files", "server/files", "fastserve/files/", ("pool", "http", "files"),
          external=(STD, re.compile(r"(?:fcntl|unistd|dirent|sys/stat|sys/syscall|linux/openat2)\.h")),
          # Names are resolved by openat2() below a folder, and by nothing else.
          forbidden=frozenset(THREADS | FILES | CLOCKS),
          tokens=(NO_CLOCK, NO_THREAD, NO_OUTPUT)),
    Layer("net", "server/net", "fastserve/net/", ("pool", "http", "net"), tokens=(NO_OUTPUT,)),
    Layer("app", "server/app", "fastserve/", ("pool", "http", "coding", "files", "net", "app")),
    Layer("cli", "server/cli", "fastserve/cli/", ("pool", "http", "coding", "files", "net", "app", "cli"), public_only=True),
)


def owner(name: str) -> Layer | None:
    fitting = [layer for layer in LAYERS if name.startswith(layer.prefix)]
    return max(fitting, key=lambda layer: len(layer.prefix), default=None)


def check_include(root: Path, layer: Layer, file: Path, include) -> str | None:
    """What is wrong with one include, or None. Those of `in_one_file` are for the caller to count."""
    folder = root / layer.folder
    if include.kind == "?":
        return f"includes a macro, {include.name}: nobody can tell what that is"
    if include.kind == '"':
        target = (file.parent / include.name).resolve()
        if not target.is_relative_to(folder.resolve()) or not target.is_file():
            return f'includes "{include.name}", which is not a file of its own layer'
        return None
    if include.name.startswith("fastserve/"):
        other = owner(include.name)
        if other.name not in layer.sees:
            return f"includes <{include.name}> of {other.name}"
        # What a user includes must not need what is not installed.
        installed = (root / other.folder / "include" / include.name).is_file()
        if not installed and ((folder / "include") in file.parents or layer.public_only):
            return f"includes <{include.name}>, which is not installed"
        return None
    if include.name in layer.in_one_file:
        return None
    if include.name in layer.forbidden or not any(rule.fullmatch(include.name) for rule in layer.external):
        return f"includes <{include.name}>"
    return None


def check(root: Path) -> list[str]:
    breaches = []
    files = 0
    for layer in LAYERS:
        folder = root / layer.folder
        special: dict[Path, int] = {}
        for file in sources(folder):
            files += 1
            shown = file.relative_to(root)
            text = strip(file.read_text(encoding="utf-8"))
            for include in includes(text):
                fault = check_include(root, layer, file, include)
                if fault:
                    breaches.append(f"{shown}:{include.line}: {layer.name} {fault}")
                elif include.name in layer.in_one_file:
                    special.setdefault(shown, include.line)
            for pattern, fault in layer.tokens:
                for match in pattern.finditer(text):
                    line = text.count("\n", 0, match.start()) + 1
                    breaches.append(f"{shown}:{line}: {layer.name} {fault}: {match.group()}")
        for shown, line in list(special.items())[1:]:
            names = ", ".join(sorted(layer.in_one_file))
            breaches.append(f"{shown}:{line}: {layer.name} may include {names} in one file only")
    if files == 0:
        breaches.append(f"{root}: no source of any layer found")
    return breaches


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    breaches = check(Path(sys.argv[1]).resolve())
    print("\n".join(breaches) if breaches else "every layer includes only what stands above it")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
