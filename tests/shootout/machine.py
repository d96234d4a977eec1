"""The machine that a run was made on, and what else went on there."""

import os
import re
from dataclasses import dataclass
from pathlib import Path


def _line(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return "unknown"


def cpu_name() -> str:
    for pattern in (r"^model name\s*:\s*(.*)$", r"^CPU part\s*:\s*(.*)$"):
        if match := re.search(pattern, _line("/proc/cpuinfo"), re.MULTILINE):
            return match[1].strip()
    return os.uname().machine


def short_cpu_name() -> str:
    """For a file's name."""
    name = re.sub(r"\((R|TM)\)|\bCPU\b|\bProcessor\b|@.*", " ", cpu_name())
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "cpu"


def memory_mib() -> int:
    match = re.search(r"^MemTotal:\s+(\d+)", _line("/proc/meminfo"), re.MULTILINE)
    return int(match[1]) // 1024 if match else 0


def mitigations() -> dict[str, str]:
    folder = Path("/sys/devices/system/cpu/vulnerabilities")
    try:
        return {file.name: _line(str(file)) for file in sorted(folder.iterdir())}
    except OSError:
        return {}


def describe() -> dict:
    return {"cpu": cpu_name(), "cpus": len(os.sched_getaffinity(0)), "kernel": os.uname().release,
            "congestion_control": _line("/proc/sys/net/ipv4/tcp_congestion_control"), "mitigations": mitigations(),
            "memory_mib": memory_mib(), "noise": {"steal_percent": None, "other_cpu_percent": None, "seconds": 0.0}}


@dataclass(frozen=True)
class Times:
    """Seconds that all CPUs together have spent since the start."""

    busy: float
    steal: float
    all: float

    @staticmethod
    def now() -> "Times":
        fields = [int(field) / os.sysconf("SC_CLK_TCK") for field in _line("/proc/stat").splitlines()[0].split()[1:9]]
        idle, steal = fields[3] + fields[4], fields[7]
        return Times(sum(fields) - idle - steal, steal, sum(fields))


def add_noise(noise: dict, before: Times, after: Times, ours: float) -> None:
    """Adds one measurement, in which servers and generators used `ours` seconds, to the averages of the run."""
    span = after.all - before.all
    if span <= 0:
        return
    known = noise["seconds"]
    for name, spent in (("steal_percent", after.steal - before.steal),
                        ("other_cpu_percent", max(0.0, after.busy - before.busy - ours))):
        average = noise[name] or 0.0
        noise[name] = round((average * known + 100 * spent) / (known + span), 4)
    noise["seconds"] = round(known + span, 2)


def active_opens() -> int:
    """Connections that this machine has asked for, ever."""
    names, values = [line.split() for line in _line("/proc/net/snmp").splitlines() if line.startswith("Tcp:")]
    return int(values[names.index("ActiveOpens")])


def established(port: int) -> int:
    """Connections to a port of this machine, seen from the clients' side."""
    wanted = f":{port:04X}"
    lines = _line("/proc/net/tcp").splitlines()[1:]
    return sum(1 for fields in map(str.split, lines) if fields[2].endswith(wanted) and fields[3] == "01")
