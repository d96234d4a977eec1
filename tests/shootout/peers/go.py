"""Servers in Go: net/http, fasthttp, martini."""

import shlex
from pathlib import Path
from typing import Callable

from workshop import Workshop

from .server import Launch, Server, add, commit_of, told

FASTHTTP = "golang-github-valyala-fasthttp-dev"
MYSQL_DRIVER = "golang-github-go-sql-driver-mysql-dev"


def go_version() -> str:
    return "Go " + told(["go", "version"], r"(?<=go)[\d.]+")


def processors(launch: Launch) -> dict[str, str]:
    return {"GOMAXPROCS": str(launch.threads)}


def build(folder: str, name: str, *packages: str, variable: str = "", what: str = "") -> Callable[[Workshop], None]:
    """With Debian's libraries, or first those of the GOPATH that a variable names."""

    def have(shop: Workshop) -> None:
        workspace = str(shop.checkout(variable, what)) if variable else ""
        shop.need("golang-go", *packages)
        shop.go(folder, name, workspace)

    return have


def library_version(shop: Workshop, variable: str, name: str) -> str:
    """Of what a GOPATH holds that a variable names."""
    return f"{commit_of(shop.checkout(variable, name) / 'src' / 'github.com' / name)}, {go_version()}"


def program(name: str) -> Callable[[Workshop], Path]:
    return lambda shop: shop.bin / name


def standard(identity: str, label: str, threads: int = 0) -> None:
    add(Server(identity, "Go net/http", label, build("gohttp", "gohttp"),
               lambda launch: [str(launch.shop.bin / "gohttp"), "-listen", launch.address, "-body", launch.body],
               lambda shop: go_version(), program("gohttp"), threads, processors, build="go build"))


standard("go", "Go net/http")
standard("go-1", "Go net/http, GOMAXPROCS=1", 1)


def debian_fasthttp(shop: Workshop) -> str:
    return f"{shop.package_version(FASTHTTP)} of Debian, {go_version()}"


def fasthttp_command(launch: Launch, *flags: str) -> list[str]:
    return [str(launch.shop.bin / "fasthttp"), "-listen", launch.address, "-body", launch.body, *flags]


def fasthttp(identity: str, label: str, *flags: str, note: str = "") -> None:
    add(Server(identity, "fasthttp", label, build("fasthttp", "fasthttp", FASTHTTP),
               lambda launch: fasthttp_command(launch, *flags),
               debian_fasthttp, program("fasthttp"), env=processors, build="go build, Debian's library", note=note))


fasthttp("fasthttp", "fasthttp")
fasthttp("fasthttp-streaming", "fasthttp, StreamRequestBody", "-streaming",
         note="bodies are handed over as they arrive")


def one_a_cpu(launch: Launch) -> list[str]:
    server = shlex.join(fasthttp_command(launch, "-reuseport"))
    return ["bash", "-c", f"for cpu in {' '.join(map(str, launch.cpus))}; do taskset -c $cpu {server} & done; wait"]


add(Server("fasthttp-per-cpu", "fasthttp", "fasthttp, a process a CPU", build("fasthttp", "fasthttp", FASTHTTP),
           one_a_cpu, debian_fasthttp, program("fasthttp"), env=lambda launch: {"GOMAXPROCS": "1"},
           build="go build, Debian's library",
           note="as its README advises: reuseport, one process with GOMAXPROCS=1 pinned to each CPU"))

add(Server("fasthttp-checkout", "fasthttp", "fasthttp, newer",
           build("fasthttp", "fasthttp-checkout", variable="SHOOTOUT_FASTHTTP",
                 what="a GOPATH with a newer fasthttp and what it requires"),
           lambda launch: [str(launch.shop.bin / "fasthttp-checkout"), "-listen", launch.address, "-body", launch.body],
           lambda shop: library_version(shop, "SHOOTOUT_FASTHTTP", "valyala/fasthttp"), program("fasthttp-checkout"),
           env=processors, build="go build"))

have_martini = build("martini", "martini", MYSQL_DRIVER, variable="SHOOTOUT_MARTINI",
                     what="a GOPATH with go-martini/martini and its inject")


def martini_version(shop: Workshop) -> str:
    return library_version(shop, "SHOOTOUT_MARTINI", "go-martini/martini")


add(Server("martini", "martini", "go-martini",
           have_martini,
           lambda launch: [str(launch.shop.bin / "martini"), "-listen", launch.address],
           martini_version, program("martini"), env=processors,
           build="go build", note="without its logger, as no server here writes a line for each request"))
