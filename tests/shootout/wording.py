"""Numbers and CPU lists as people read them."""

from figures import Spread

NOTHING = "–"


def number(value: float | None) -> str:
    """A figure with as many digits as mean something."""
    if value is None:
        return NOTHING
    size = abs(value)
    if isinstance(value, int) or size >= 99.95 or value == 0:
        return f"{value:,.0f}"
    if size >= 9.995:
        return f"{value:,.1f}"
    if size >= 0.9995:
        return f"{value:.2f}"
    return f"{value:.3f}" if size >= 0.1 else _trimmed(f"{value:.4f}" if size >= 0.001 else f"{value:.7f}")


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def compact(value: float) -> str:
    """A number on an axis: 400 k, 2.5 M, with three digits."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= max(size, 1e4):
            scaled = f"{value / size:,.0f}" if value >= 100 * size else _trimmed(f"{value / size:.1f}")
            return f"{scaled} {letter}"
    return _trimmed(f"{value:,.3f}")


def short(value: float | None) -> str:
    """A figure where there is room for ten characters."""
    return number(value) if value is None or abs(value) < 1e8 else compact(value)


def times(value: float | None) -> str:
    """A ratio."""
    if value is None:
        return NOTHING
    digits = 0 if value >= 99.95 else 1 if value >= 9.995 else 2 if value >= 0.0995 else 3
    return f"{value:,.{digits}f}"


def interval(of: Spread | None) -> str:
    return NOTHING if of is None else f"{times(of.least)} to {times(of.most)}"


def ratio(of: Spread | None) -> str:
    """A ratio with its interval."""
    return NOTHING if of is None else f"{times(of.median)} ({interval(of)})"


def described(of: Spread, unit: str) -> str:
    return f"median {number(of.median)} {unit}, {number(of.least)} to {number(of.most)} in {rounds(of.rounds)}"


def rounds(count: int) -> str:
    return f"{count} round" if count == 1 else f"{count} rounds"


def cpu_set(listed: str | None) -> frozenset[int]:
    """The CPUs of a list as taskset reads it: "0,2-3". Nothing listed is an empty set."""
    cpus: set[int] = set()
    for part in (listed or "").replace(" ", "").split(","):
        if part:
            first, _, last = part.partition("-")
            cpus.update(range(int(first), int(last or first) + 1))
    return frozenset(cpus)


def _listed(listed: str | None) -> str:
    found = sorted(cpu_set(listed))
    if len(found) > 2 and found[-1] - found[0] == len(found) - 1:
        return f"{found[0]} to {found[-1]}"
    return ", ".join(map(str, found))


def cpus(listed: str | None) -> str:
    return "any CPU" if not cpu_set(listed) else f"CPU{'s' if len(cpu_set(listed)) > 1 else ''} {_listed(listed)}"


def disjoint(placement: dict | None) -> bool:
    """Whether no CPU is both the server's and the generator's."""
    server, load = (cpu_set((placement or {}).get(key)) for key in ("server_cpus", "load_cpus"))
    return bool(server) and bool(load) and not server & load


def placement(of: dict | None) -> str:
    server, load = ((of or {}).get(key) for key in ("server_cpus", "load_cpus"))
    if disjoint(of):
        return f"on disjoint CPUs (server {_listed(server)}, generator {_listed(load)})"
    if cpu_set(server) == cpu_set(load):
        shared = "any CPU" if not cpu_set(server) else f"the same CPUs ({_listed(server)})"
        return f"with server and generator on {shared}"
    return f"with the server on {cpus(server)}, the generator on {cpus(load)}"
