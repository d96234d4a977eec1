"""Servers that ask a database, each with the client its users would take; nginx's is in native.py."""

from workshop import SOURCES, Workshop

from .go import MYSQL_DRIVER, build, go_version, have_martini, martini_version, processors, program
from .ours import FASTSERVE_BUILD, fastserve_version
from .scripted import cherrypy_version
from .server import Launch, Server, add, which


def have_fastserve(shop: Workshop) -> None:
    shop.need("libmariadb-dev")
    for target in ("fastserve_program", "fastserve_mysql"):
        shop.cmake(target)


add(Server("fastserve-mysql", "fastserve", "fastserve, libmariadb", have_fastserve,
           lambda launch: [str(launch.shop.build / "servers" / "fastserve_mysql"), launch.address, str(launch.threads),
                           str(launch.database_port), launch.sql],
           fastserve_version, lambda shop: shop.build / "servers" / "fastserve_mysql", build=FASTSERVE_BUILD,
           note="libmariadb's non-blocking calls on the worker's loop, a pool a worker"))


def go_flags(launch: Launch) -> list[str]:
    return ["-listen", launch.address, "-sql", launch.sql, "-database",
            f"shootout:shootout@tcp(127.0.0.1:{launch.database_port})/shootout?interpolateParams=true"]


add(Server("go-mysql", "Go net/http", "Go net/http, go-sql-driver", build("gomysql", "gomysql", MYSQL_DRIVER),
           lambda launch: [str(launch.shop.bin / "gomysql"), *go_flags(launch)],
           lambda shop: f"{go_version()}, go-sql-driver {shop.package_version(MYSQL_DRIVER)} of Debian",
           program("gomysql"), env=processors, build="go build", note="128 idle connections may stay"))

add(Server("martini-mysql", "martini", "go-martini, go-sql-driver", have_martini,
           lambda launch: [str(launch.shop.bin / "martini"), *go_flags(launch)],
           martini_version, program("martini"), env=processors, build="go build",
           note="128 idle connections may stay"))

add(Server("cherrypy-mysql", "CherryPy", "CherryPy, PyMySQL",
           lambda shop: shop.need("python3-cherrypy3", "python3-pymysql"),
           lambda launch: [str(which("python3")), str(SOURCES / "cherrypy_server.py"), str(launch.port), "10",
                           str(launch.database_port), launch.sql],
           cherrypy_version, lambda shop: which("python3"), build="Debian's packages", note="a connection a thread"))
