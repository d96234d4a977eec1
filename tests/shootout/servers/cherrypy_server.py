#!/usr/bin/env python3
"""CherryPy: JSON that is made for each request and, where a database is named, the first rows of a table.

    cherrypy_server.py PORT THREADS [DATABASE_PORT SQL]      {rows} in SQL is the table's size
"""
import json
import sys
import threading

import cherrypy


def answer(value) -> bytes:
    cherrypy.response.headers["Content-Type"] = "application/json"
    return json.dumps(value, separators=(",", ":")).encode()


class Api:
    @cherrypy.expose
    def json(self):
        return answer({"status": "ok", "version": 3, "path": cherrypy.request.path_info,
                       "data": {"id": 1, "name": "fastserve", "tags": ["http", "c++20", "asio"]}})


class Items:
    """A connection a thread."""

    def __init__(self, port: int, sql: str):
        self.port, self.sql, self.of_thread = port, sql, threading.local()

    def connection(self):
        if not hasattr(self.of_thread, "connection"):
            import pymysql

            self.of_thread.connection = pymysql.connect(host="127.0.0.1", port=self.port, user="shootout",
                                                        password="shootout", database="shootout", autocommit=True)
        return self.of_thread.connection

    @cherrypy.expose
    def default(self, rows):
        with self.connection().cursor() as cursor:
            cursor.execute(self.sql.replace("{rows}", str(int(rows))))
            return answer(cursor.fetchall())


class Root:
    pass


if __name__ == "__main__":
    cherrypy.config.update({"environment": "production", "log.screen": False, "server.socket_host": "127.0.0.1",
                            "server.socket_port": int(sys.argv[1]), "server.thread_pool": int(sys.argv[2]),
                            "server.socket_queue_size": 4096})
    root = Root()
    root.api = Root()
    root.api.v3 = Api()
    if len(sys.argv) > 3:
        root.items = Items(int(sys.argv[3]), sys.argv[4])
    cherrypy.tree.mount(root)
    cherrypy.engine.signals.subscribe()
    cherrypy.engine.start()
    cherrypy.engine.block()
