"""Installs and builds what takes part. What cannot be had is Absent, with the reason that its row will give."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import processes

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tests" / "shootout" / "servers"
GOCODE = "/usr/share/gocode"


class Absent(Exception):
    """Why a server does not take part, in words for its row."""


def say(text: str) -> None:
    print(f"shootout: {text}", flush=True)


class Workshop:
    """One place for all that is built: build/shootout. Whatever failed once fails again without another try."""

    def __init__(self, root: Path = ROOT):
        self.root = root
        self.build = root / "build" / "shootout"
        self.bin = self.build / "peers"
        self.run = self.build / "run"
        for folder in (self.bin, self.run):
            folder.mkdir(parents=True, exist_ok=True)
        self._refused: dict[str, str] = {}
        self._built: set[str] = set()

    def command(self, command: list[str], what: str, *, env: dict | None = None, cwd: Path | None = None,
                 seconds: float = 900) -> str:
        """Runs it to its end; its output, or Absent with its last line."""
        if what in self._refused:
            raise Absent(self._refused[what])
        try:
            use = processes.Process(command, env=env, cwd=cwd or self.root, pipes=True).finish(seconds)
        except processes.Failed as error:
            self._refused[what] = f"{what}: {error}"
            raise Absent(self._refused[what]) from None
        if use.status != 0:
            (self.build / "failed.log").write_text(f"{command}\n{use.output}\n{use.errors}")
            lines = (use.errors.strip() or use.output.strip() or f"status {use.status}").splitlines()
            errors = [line for line in lines if "error" in line.lower() or line.startswith("E:")] or lines
            self._refused[what] = f"{what} failed: {errors[0].strip()[:200]}"
            raise Absent(self._refused[what])
        return use.output or use.errors

    # --- Packages.

    def need(self, *packages: str) -> None:
        """Debian packages; sudo and the network only if one is missing."""
        missing = [name for name in packages if not self.package_version(name)]
        if not missing:
            return
        as_root = []
        if os.geteuid() != 0:
            if not shutil.which("sudo"):
                raise Absent(f"needs {' '.join(missing)}, and there is neither root nor sudo to install it")
            as_root = ["sudo"]
        say(f"installing {' '.join(missing)}")
        apt = as_root + ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-y", "-q", "-o",
                         "DPkg::Lock::Timeout=300"]
        install = apt + ["install", "--no-install-recommends", "--no-remove", *missing]
        try:
            self.command(install, f"installing {' '.join(missing)}")
        except Absent:
            self.command(apt + ["update"], "apt-get update")
            self.command(install, f"installing {' '.join(missing)} after apt-get update")

    @staticmethod
    def package_version(name: str) -> str:
        """Without its epoch; empty if it is not installed."""
        told = subprocess.run(["dpkg-query", "-W", "-f=${db:Status-Status} ${Version}", name], capture_output=True,
                              text=True)
        status, _, version = told.stdout.partition(" ")
        return version.split(":")[-1] if status == "installed" else ""

    # --- Builds.

    @staticmethod
    def _current(output: Path, sources: list[Path], key: str) -> bool:
        """Whether the output is newer than its sources and was made by the same command."""
        stamp = output.with_name(output.name + ".command")
        return (output.exists() and stamp.exists() and stamp.read_text() == key and
                all(source.stat().st_mtime <= output.stat().st_mtime for source in sources))

    def _make(self, output: Path, sources: list[Path], command: list[str], **options) -> Path:
        key = " ".join(command)
        if not self._current(output, sources, key):
            say(f"building {output.name}")
            self.command(command, f"building {output.name}", **options)
            output.with_name(output.name + ".command").write_text(key)
        return output

    def compile(self, source: str, name: str, *flags: str, libraries: tuple[str, ...] = ()) -> Path:
        """A C or C++ source of ours that needs nothing of fastserve."""
        path, output = SOURCES / source, self.bin / name
        compiler = ["gcc"] if path.suffix == ".c" else ["g++", "-std=c++20"]
        command = [*compiler, *flags, "-pthread", str(path), "-o", str(output), *libraries]
        return self._make(output, [path], command)

    def uwebsockets(self, checkout: Path) -> Path:
        """Ours on a checkout: its C parts, then the program with its headers."""
        self.need("gcc", "g++")
        parts = self.bin / "uwebsockets.parts"
        parts.mkdir(exist_ok=True)
        sockets = checkout / "uSockets" / "src"
        sources = [*sockets.glob("*.c"), *(sockets / "eventing").glob("*.c"), *(sockets / "crypto").glob("*.c")]
        if not sources:
            raise Absent(f"{checkout} has no uSockets in it")
        flags = ["-O3", "-flto", "-DLIBUS_NO_SSL", "-DUWS_NO_ZLIB", f"-I{sockets}", f"-I{checkout / 'src'}", "-pthread"]
        output, source = self.bin / "uwebsockets", SOURCES / "uwebsockets.cpp"
        script = (f"{shlex.join(['gcc', *flags, '-c', *map(str, sources)])} && "
                  f"{shlex.join(['g++', '-std=c++20', *flags, str(source), '-o', str(output)])} *.o")
        return self._make(output, [source, *sources, *(checkout / "src").glob("*.h")], ["sh", "-c", script], cwd=parts)

    def go(self, folder: str, name: str, workspace: str = "") -> Path:
        """A Go program of ours with the libraries of Debian, or first those of another GOPATH."""
        self.need("golang-go")
        output = self.bin / name
        env = {"GO111MODULE": "off", "GOFLAGS": "", "GOCACHE": str(self.build / "go-cache"),
               "GOPATH": ":".join(filter(None, (workspace, GOCODE)))}
        if name not in self._built:  # go itself knows whether there is anything to do
            self.command(["go", "build", "-o", str(output), "."], f"building {name}", env=env, cwd=SOURCES / folder)
            self._built.add(name)
        return output

    def cmake(self, target: str) -> None:
        """A target of the project, built as the release is."""
        if target in self._built:
            return
        say(f"bringing {target} up to date")
        self.command(["bash", "-c", 'set -euo pipefail; . script/common.sh; build shootout "$1"', "shootout", target],
                     f"building {target}", seconds=1800)
        self._built.add(target)

    def npm(self, package: str, version: str) -> Path:
        """The folder of an npm package that stands by itself or with its dependencies."""
        folder = self.build / "npm" / f"{package}-{version}"
        found = folder / "node_modules" / package
        if not found.exists():
            if not shutil.which("npm"):
                self.need("npm")
            folder.mkdir(parents=True, exist_ok=True)
            say(f"installing {package} {version} with npm")
            self.command(["npm", "install", "--silent", "--no-audit", "--no-fund", "--no-save", "--prefix", str(folder),
                          f"{package}@{version}"], f"npm's {package} {version}", cwd=folder)
            if not found.exists():
                raise Absent(f"npm's {package} {version} is not what it was")
        return found

    @staticmethod
    def checkout(variable: str, what: str) -> Path:
        """The folder that an environment variable names."""
        value = os.environ.get(variable, "")
        if not value:
            raise Absent(f"no checkout named: {variable} is not set ({what})")
        if not Path(value).exists():
            raise Absent(f"{variable} names {value}, which does not exist")
        return Path(value).resolve()

    def fill(self, template: str, output: Path, **values: object) -> Path:
        """A configuration file of ours with @NAME@ replaced."""
        text = (SOURCES / template).read_text()
        for name, value in values.items():
            text = text.replace(f"@{name.upper()}@", str(value))
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text)
        return output

    def shown(self, words: list[str]) -> list[str]:
        """A command as the record shows it: without this machine's folders."""
        named = {str(Path(value).resolve()): f"${name}" for name, value in os.environ.items()
                 if name.startswith("SHOOTOUT_") and value}
        shown = []
        for word in words:
            for folder, name in named.items():
                word = word.replace(folder, name)
            shown.append(word.replace(f"{self.root}/", ""))
        return shown
