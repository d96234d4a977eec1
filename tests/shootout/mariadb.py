"""A MariaDB of the harness's own: its folder, its port, its tables; gone when the harness is."""

import getpass
import hashlib
import json
import shutil

import processes
from workshop import SOURCES, Absent, Workshop, say

ITEMS = SOURCES / "items.json"
PACKAGES = ("mariadb-server-core", "mariadb-client-core")


class Database:
    def __init__(self, shop: Workshop):
        self.shop = shop
        self.items = json.loads(ITEMS.read_text())
        self.port = processes.free_port()
        # Filled once for what the file says; another file is another folder.
        key = hashlib.sha256(ITEMS.read_bytes()).hexdigest()[:12]
        self.folder = shop.build / f"mariadb-{key}"
        self.process: processes.Process | None = None

    @property
    def sql(self) -> str:
        return self.items["query"]

    @property
    def body(self) -> str:
        return self.items["body"]

    def start(self) -> None:
        self.shop.need(*PACKAGES)
        filled = self.folder / "filled"
        if not filled.exists():
            say("filling the tables of MariaDB")
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
            self.shop.command(["mariadb-install-db", "--no-defaults", f"--datadir={self.folder}/data",
                               "--auth-root-authentication-method=normal", *self._user()], "mariadb-install-db")
        self.process = processes.Process(
            ["mariadbd", "--no-defaults", f"--datadir={self.folder}/data", "--socket=mariadb.sock",
             f"--port={self.port}", "--bind-address=127.0.0.1", "--max-connections=1000", "--skip-name-resolve",
             "--skip-log-bin", f"--pid-file={self.folder}/pid", *self._user()], log=self.folder / "log")
        try:
            self.process.wait_until_listening(self.port, 60)
            if not filled.exists():
                self._fill()
                filled.touch()
        except (processes.Failed, Absent) as error:
            self.stop()
            raise Absent(f"MariaDB: {error}") from None

    @staticmethod
    def _user() -> list[str]:
        return [f"--user={getpass.getuser()}"]

    def _fill(self) -> None:
        statements = ["CREATE DATABASE IF NOT EXISTS shootout",
                      "CREATE USER IF NOT EXISTS shootout@'%' IDENTIFIED BY 'shootout'",
                      "GRANT ALL ON shootout.* TO shootout@'%'", "USE shootout"]
        for rows in self.items["sizes"]:
            statements += [statement.replace("{rows}", str(rows)) for statement in self.items["schema"]]
        # The server's folder is its data's; the name stays short, as a socket's must.
        self.shop.command(["mariadb", "--no-defaults", "--socket=mariadb.sock", "--user=root", "-e",
                           "; ".join(statements)], "filling MariaDB's tables", cwd=self.folder / "data", seconds=120)

    def stop(self) -> None:
        if self.process:
            self.process.stop(patience=20)
