"""fastserve, and limit, the floor under every server."""

from pathlib import Path

from scenarios import DOCUMENT, HELLO
from workshop import Workshop

from .server import Launch, Server, add, told

SHIPPED = (HELLO, DOCUMENT)  # what the program serves by itself, where the scenarios ask for it
FASTSERVE_BUILD = "as the release: -O3 -flto, for any CPU of the architecture, mimalloc"


def fastserve_program(shop: Workshop) -> Path:
    return shop.build / "bin" / "fastserve"


def fastserve_version(shop: Workshop) -> str:
    return told([str(fastserve_program(shop)), "--version"])


def fastserve(identity: str, label: str, *flags: str, threads: int = 0) -> None:
    """The shipped program where it serves what is asked, else our example program with the same library."""

    def command(launch: Launch) -> list[str]:
        if launch.body in SHIPPED:
            return [str(fastserve_program(launch.shop)), "--workers", str(launch.threads), *flags,
                    "--listen", launch.address]
        return [str(launch.shop.build / "servers" / "fastserve_body"), launch.address, str(launch.threads), launch.body]

    def have(shop: Workshop) -> None:
        for target in ("fastserve_program", "fastserve_body"):
            shop.cmake(target)

    add(Server(identity, "fastserve", label, have, command, fastserve_version, fastserve_program, threads,
               build=FASTSERVE_BUILD))


fastserve("fastserve-auto", "fastserve --workers auto")
fastserve("fastserve-w8", "fastserve --workers 8", threads=8)
fastserve("fastserve-w1", "fastserve --workers 1", threads=1)
fastserve("fastserve-bpf", "fastserve --placement bpf", "--placement", "bpf")
fastserve("fastserve-least-loaded", "fastserve --placement least-loaded", "--placement", "least-loaded")
fastserve("fastserve-round-robin", "fastserve --placement round-robin", "--placement", "round-robin")


def have_body(shop: Workshop) -> None:
    shop.cmake("fastserve_body")


add(Server("fastserve-body", "fastserve", "fastserve, streamed bodies", have_body,
           lambda launch: [str(launch.shop.build / "servers" / "fastserve_body"), launch.address, str(launch.threads),
                           "-"],
           lambda shop: fastserve_version(shop), lambda shop: shop.build / "servers" / "fastserve_body",
           build=FASTSERVE_BUILD, note="a coroutine that reads the body in pieces"))


def old_program(shop: Workshop) -> Path:
    return shop.checkout("SHOOTOUT_OLD", "the program of another build of fastserve")


add(Server("fastserve-old", "fastserve", "fastserve, another build", lambda shop: old_program(shop) and None,
           lambda launch: [str(old_program(launch.shop)), "--workers", str(launch.threads), "--listen", launch.address],
           lambda shop: told([str(old_program(shop)), "--version"]), old_program, build="as it was found"))


def have_limit(shop: Workshop) -> None:
    shop.compile("limit.cpp", "limit", "-O2")


add(Server("limit", "limit", "limit: epoll, no parsing", have_limit,
           lambda launch: [str(launch.shop.bin / "limit"), str(launch.port), str(launch.threads), launch.body],
           lambda shop: "of this commit", lambda shop: shop.bin / "limit", build="g++ -O2",
           note="answers whatever ends like a head; the floor, no server"))


def have_recv_loop(shop: Workshop) -> None:
    shop.compile("recv_loop.cpp", "recv_loop", "-O2")


add(Server("recv-loop", "limit", "limit of uploads: recv in a loop", have_recv_loop,
           lambda launch: [str(launch.shop.bin / "recv_loop"), str(launch.port), str(launch.threads)],
           lambda shop: "of this commit", lambda shop: shop.bin / "recv_loop", build="g++ -O2",
           note="counts what comes behind a head; the floor, no server"))
