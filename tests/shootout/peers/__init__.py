"""Who takes part.

Every server runs with as many threads or processes as it is told, which is one a CPU that it may use unless its row is
about something else. What they are asked is in scenarios.py.
"""

from . import databases, go, native, ours, scripted, sources  # each adds its servers
from .server import SERVERS, Launch, Server

__all__ = ["SERVERS", "Launch", "Server", "databases", "go", "native", "ours", "scripted", "sources"]
