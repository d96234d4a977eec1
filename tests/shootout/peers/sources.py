"""Sources of raw TCP for the scenario of that name."""

from typing import Callable

from workshop import SOURCES, Workshop

from .go import build, go_version, program
from .ours import FASTSERVE_BUILD, fastserve_version
from .server import Launch, Server, add, told, which


def compiler_version() -> str:
    return "g++ " + told(["g++", "--version"], r"\d+\.\d+\.\d+")


def ours(identity: str, label: str, packets: int, note: str) -> None:
    add(Server(identity, "fastserve", label, lambda shop: shop.cmake("fastserve_tcp"),
               lambda launch: [str(launch.shop.build / "servers" / "fastserve_tcp"), str(launch.port), str(packets)],
               fastserve_version, lambda shop: shop.build / "servers" / "fastserve_tcp", 1, build=FASTSERVE_BUILD,
               note=note))


ours("tcp-fastserve", "fastserve's transport", 1, "one send a packet")
ours("tcp-fastserve-batch", "fastserve's transport, batching", 4, "four packets a send")


def plain(identity: str, level: str) -> None:
    name = f"tcp_source{level}"
    have: Callable[[Workshop], None] = lambda shop: shop.compile("tcp_source.cpp", name, level) and None
    command: Callable[[Launch], list[str]] = lambda launch: [str(launch.shop.bin / name), str(launch.port)]
    add(Server(identity, "C++", f"C++, blocking send, {level}", have, command, lambda shop: compiler_version(),
               lambda shop: shop.bin / name, 1, build=f"g++ {level}"))


plain("tcp-cpp-o0", "-O0")
plain("tcp-cpp-o2", "-O2")

add(Server("tcp-go-1", "Go", "Go, GOMAXPROCS=1", build("gotcp", "gotcp"),
           lambda launch: [str(launch.shop.bin / "gotcp"), "-listen", launch.address], lambda shop: go_version(),
           program("gotcp"), 1, lambda launch: {"GOMAXPROCS": "1"}, build="go build"))

add(Server("tcp-python", "Python", "Python", lambda shop: None,
           lambda launch: [str(which("python3")), str(SOURCES / "tcp_source.py"), str(launch.port)],
           lambda shop: told([str(which("python3")), "--version"]), lambda shop: which("python3"), 1,
           build="Debian's package"))
