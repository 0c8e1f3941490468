"""
Connections to PostgreSQL that wait for an answer only so long, whatever has become of the server.

The server ends what waits for a lock, or takes too long; the kernel notices a network that is gone. Neither helps where
the server's machine answers and its process does not (stopped, or stuck on its disk), so the client has a limit too.
"""

import time
from collections.abc import Generator
from typing import Any

import psycopg


def connect_arguments(wait_s: float) -> dict[str, int]:
    """Returns what libpq is told: how long to connect, and when a network that answers nothing counts as gone."""
    seconds = max(2, round(wait_s))
    return {
        "connect_timeout": seconds,
        "tcp_user_timeout": 1000 * seconds,
        "keepalives_idle": seconds,
        "keepalives_interval": max(1, seconds // 3),
        "keepalives_count": 3,
    }


def connected(wait_s: float, *arguments: Any, **options: Any) -> psycopg.Connection[Any]:
    """
    Returns a connection; arguments as for `psycopg.connect`.

    Parameters
    ----------
    wait_s
        How long the server lets a statement wait for a lock; it may take twice as long for all of it, and the client
        waits three times as long for any answer.
    """
    connection = _Patient.connect(*arguments, **options)
    milliseconds = max(1, round(1000 * wait_s))
    connection.execute(f"SET lock_timeout = {milliseconds}")
    connection.execute(f"SET statement_timeout = {2 * milliseconds}")
    connection.commit()
    connection.wait_s = 3 * wait_s
    return connection


class _Patient(psycopg.Connection[Any]):
    wait_s = float("inf")
    """How long any answer may take; a connection that had none in time is closed."""

    def wait(self, gen: Generator[Any, Any, Any], *arguments: Any, **options: Any) -> Any:
        return super().wait(self._in_time(gen), *arguments, **options)

    def _in_time(self, waiting: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        deadline = time.monotonic() + self.wait_s
        answer = None
        while True:
            try:
                wanted = waiting.send(answer)
            except StopIteration as end:
                return end.value
            answer = yield wanted
            if not answer and time.monotonic() > deadline:
                self.pgconn.finish()
                raise psycopg.OperationalError(f"the server does not answer ({self.wait_s:g} s waited)")
