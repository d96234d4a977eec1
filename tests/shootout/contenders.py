"""A row of a variant and its server: where it runs, how it starts, what the record says of it."""

import mariadb
import peers
import processes
from scenarios import DISJOINT, ONE_CORE, Variant
from workshop import Absent, Workshop


def placement_of(variant: Variant, cpus: list[int]) -> tuple[list[int], list[int]]:
    """The CPUs of the server and of the generator."""
    if len(cpus) > 1 and variant.placement == ONE_CORE:
        return cpus[:1], cpus[1:]
    if len(cpus) > 1 and variant.placement == DISJOINT:
        half = len(cpus) // 2
        return cpus[:half], cpus[half:]
    return cpus, cpus


class Contender:
    """Takes part until it is thrown out."""

    def __init__(self, row: dict, server: peers.Server):
        self.row, self.server = row, server
        self.process: processes.Process | None = None
        self.port = 0
        self.count = 0  # requests of one ab process

    @property
    def takes_part(self) -> bool:
        return self.row["absent"] is None

    def throw_out(self, why: str) -> None:
        self.row["absent"] = why
        self.stop()

    def stop(self) -> None:
        if self.process:
            self.process.stop()

    def died(self) -> bool:
        return self.process is not None and not self.process.alive()

    def path(self, variant: Variant) -> str:
        return self.server.path or variant.path

    def have(self, shop: Workshop) -> None:
        """Installs and builds it."""
        self.row["absent"] = None
        try:
            self.server.have(shop)
        except Absent as why:
            self.throw_out(str(why))

    def _launch(self, shop: Workshop, variant: Variant, port: int, database: mariadb.Database | None) -> peers.Launch:
        cpus, _ = placement_of(variant, processes.cpus())
        folder = shop.run / self.server.id
        folder.mkdir(parents=True, exist_ok=True)
        return peers.Launch(shop, port, self.server.threads or len(cpus), tuple(cpus), variant.body or "", folder,
                            database.port if database else 0, database.sql if database else "")

    def launch(self, shop: Workshop, variant: Variant,
               database: mariadb.Database | None = None) -> tuple[processes.Process, int]:
        """A process of it that listens, and where; raises Failed or OSError."""
        launch = self._launch(shop, variant, processes.free_port(), database)
        process = processes.Process(self.server.command(launch), on=list(launch.cpus), env=self.server.env(launch),
                                    log=launch.folder / "log", cwd=shop.root)
        try:
            process.wait_until_listening(launch.port)
        except processes.Failed:
            process.stop()
            raise
        return process, launch.port

    def start(self, shop: Workshop, variant: Variant, database: mariadb.Database | None) -> None:
        try:
            self.process, self.port = self.launch(shop, variant, database)
        except (processes.Failed, OSError) as error:
            self.throw_out(f"it did not start: {error}")

    def describe(self, servers: dict, shop: Workshop, variant: Variant, database: mariadb.Database | None) -> None:
        """What the server is goes into the record's servers; of an absent one, what is known without having it."""
        server, known = self.server, servers.get(self.server.id)
        if known and known["absent"] is None:
            return
        about = {"name": server.name, "label": server.label, "version": None, "command": None,
                 "threads": server.threads, "log": "off", "build": server.build, "note": server.note,
                 "response_bytes": None, "fields": [], "absent": self.row["absent"]}
        if self.takes_part:
            launch = self._launch(shop, variant, 0, database)
            words = [f"{name}={value}" for name, value in server.env(launch).items()] + server.command(launch)
            words = [word.replace("127.0.0.1:0", "127.0.0.1:PORT") if word != "0" else "PORT" for word in words]
            about |= {"version": server.version(shop), "command": " ".join(shop.shown(words)),
                      "threads": launch.threads}
        servers[server.id] = about
