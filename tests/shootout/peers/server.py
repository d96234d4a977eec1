"""What is known of a server that takes part: how it is had, started and described."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from workshop import Workshop


@dataclass(frozen=True)
class Launch:
    """What a server is to be, this time."""

    shop: Workshop
    port: int
    threads: int
    cpus: tuple[int, ...]
    body: str
    folder: Path  # its own, for configuration and logs
    database_port: int = 0
    sql: str = ""

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"


@dataclass(frozen=True)
class Server:
    """`have` installs and builds, or raises Absent; `command` may write files into the launch's folder."""

    id: str
    name: str
    label: str
    have: Callable[[Workshop], None]
    command: Callable[[Launch], list[str]]
    version: Callable[[Workshop], str]
    program: Callable[[Workshop], Path]  # whose size is measured
    threads: int = 0  # 0: one a CPU that it may use
    env: Callable[[Launch], dict[str, str]] = lambda launch: {}
    build: str = ""
    note: str = ""
    path: str = ""  # asked for in place of the variant's


SERVERS: dict[str, Server] = {}


def add(server: Server) -> None:
    SERVERS[server.id] = server


def told(command: list[str], pattern: str = r"\d+\.\d+[\w.+-]*") -> str:
    """The version that a program gives itself, on whichever stream."""
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    match = re.search(pattern, run.stdout + run.stderr)
    return match.group() if match else "unknown"


def commit_of(folder: Path) -> str:
    """Of a checkout, with its date."""
    return "commit " + told(["git", "-C", str(folder), "log", "-1", "--format=%h of %cs"], r"\w+ of [\d-]+")


def which(name: str) -> Path:
    for folder in ("/usr/bin", "/usr/sbin", "/usr/local/bin"):
        if Path(folder, name).exists():
            return Path(folder, name).resolve()
    return Path(name)
