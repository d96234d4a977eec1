"""Servers in C and C++: nginx, h2o, libevent's, uWebSockets."""

import os
from pathlib import Path
from typing import Callable

from workshop import Workshop

from .server import Launch, Server, add, commit_of, told, which


def as_root(line: str) -> str:
    """Root's servers would hand themselves to a user who may not read where they are."""
    return line if os.geteuid() == 0 else ""


def nginx(identity: str, label: str, template: str, packages: tuple[str, ...], note: str,
          more: Callable[[Launch], dict[str, object]] = lambda launch: {},
          have: Callable[[Workshop], object] = lambda shop: None) -> None:
    def command(launch: Launch) -> list[str]:
        config = launch.shop.fill(template, launch.folder / "nginx.conf", port=launch.port, threads=launch.threads,
                                  folder=launch.folder, body=launch.body, user=as_root('user root;'), **more(launch))
        # -e for what is said before the configuration is read.
        return [str(which("nginx")), "-p", str(launch.folder), "-e", str(launch.folder / "nginx.error.log"), "-c",
                str(config)]

    def get(shop: Workshop) -> None:
        shop.need("nginx", *packages)
        have(shop)

    add(Server(identity, "nginx", label, get, command, lambda shop: told([str(which("nginx")), "-v"], r"[\d.]{5,}"),
               lambda shop: which("nginx"), build="Debian's package", note=note))


NO_LUA = {"lua_path": "", "database_port": 0, "sql": ""}


def resty_mysql(shop: Workshop) -> Path:
    return shop.checkout("SHOOTOUT_RESTY_MYSQL", "a folder with resty/mysql.lua and what it requires below")


nginx("nginx", "nginx, echo module", "nginx.conf", ("libnginx-mod-http-echo",),
      "access_log off, keepalive_requests 10^9, reuseport")
nginx("nginx-lua", "nginx, lua module with cjson", "nginx_lua.conf", ("libnginx-mod-http-lua", "lua-cjson"),
      "access_log off, keepalive_requests 10^9, reuseport; cjson orders members as it likes and escapes slashes",
      more=lambda launch: NO_LUA)
nginx("nginx-mysql", "nginx, lua module with OpenResty's MySQL client", "nginx_lua.conf",
      ("libnginx-mod-http-lua", "lua-cjson"), "access_log off, reuseport; a pool of 64 connections a worker",
      more=lambda launch: {"lua_path": f"{resty_mysql(launch.shop)}/?.lua", "database_port": launch.database_port,
                           "sql": launch.sql},
      have=resty_mysql)


def h2o_command(launch: Launch) -> list[str]:
    (launch.folder / "body.txt").write_text(launch.body)
    config = launch.shop.fill("h2o.conf", launch.folder / "h2o.conf", port=launch.port, threads=launch.threads,
                              folder=launch.folder, user=as_root("user: root"))
    return [str(which("h2o")), "-c", str(config)]


add(Server("h2o", "h2o", "h2o, a file", lambda shop: shop.need("h2o"), h2o_command,
           lambda shop: told([str(which("h2o")), "-v"]), lambda shop: which("h2o"), build="Debian's package",
           note="serves a file, since it has no handler for a constant; sends ETag, Last-Modified and Accept-Ranges"))


def have_evhttp(shop: Workshop) -> None:
    shop.need("libevent-dev")
    shop.compile("evhttp.c", "evhttp", "-O2", libraries=("-levent",))


for _identity, _label, _path in (("evhttp", "evhttp", ""), ("evhttp-dump", "evhttp at /dump", "/dump")):
    add(Server(_identity, "evhttp", _label, have_evhttp,
               lambda launch: [str(launch.shop.bin / "evhttp"), str(launch.port), str(launch.threads), launch.body],
               lambda shop: "libevent " + shop.package_version("libevent-dev"), lambda shop: shop.bin / "evhttp",
               build="gcc -O2", path=_path, note="a loop a thread, SO_REUSEPORT"))


def uwebsockets(shop: Workshop) -> Path:
    return shop.checkout("SHOOTOUT_UWEBSOCKETS", "uWebSockets with its uSockets inside")


def have_uwebsockets(shop: Workshop) -> None:
    shop.uwebsockets(uwebsockets(shop))


add(Server("uwebsockets", "uWebSockets", "uWebSockets", have_uwebsockets,
           lambda launch: [str(launch.shop.bin / "uwebsockets"), str(launch.port), str(launch.threads), launch.body],
           lambda shop: commit_of(uwebsockets(shop)), lambda shop: shop.bin / "uwebsockets",
           build="g++ -O3 -flto, no TLS, no zlib", note="an App a thread"))
