"""
What runs in a worker process: calls, one after the other, with what they report on the way.

    python -P -m sliceplan.solver.workers.child FD [MODULE:FUNCTION ...]

FD is one end of a socket pair; the functions are called before all else. A message is CALL and a pickled
(function, arguments, keyword arguments), or STOP and a number: that call, counted from 0, is to end its search with its
best answer so far. The end of the connection ends the process, in the middle of a call too: nobody waits for its
answer.
"""

import os
import pickle
import sys
import threading
import traceback
from functools import partial
from importlib import import_module
from itertools import count
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from ..runtime.frame_room import with_frame_room
from ..runtime.interruption import interruptible_by, runs_on
from ..runtime.progress import Listener, Watcher, listening, watching

CALL, STOP = b"c", b"s"
"""How messages to a worker begin."""

REPORT, SO_FAR, ANSWER, ERROR = "report", "so far", "answer", "error"
"""
What a worker sends: (one of these; Report, value, value or exception; whether a search that was given up still runs).

Calls may send values SO_FAR to their `progress.watcher()`; most send none.
"""


def main() -> None:
    """Serves calls until the connection ends."""
    connection: Connection[Any, Any] = Connection(int(sys.argv[1]))
    calls: SimpleQueue[bytes] = SimpleQueue()
    stops: dict[int, threading.Event] = {}
    threading.Thread(target=_listen, args=(connection, calls, stops), daemon=True).start()
    for name in sys.argv[2:]:
        module, _, function = name.partition(":")
        getattr(import_module(module), function)()
    sending = threading.Lock()

    def send(kind: str, content: Any) -> None:
        data = _pickled(kind, content)
        with sending:
            connection.send_bytes(data)

    for number in count():
        data = calls.get()
        stop = stops.setdefault(number, threading.Event())
        send(*_outcome(data, stop, partial(send, REPORT), partial(send, SO_FAR)))
        del stops[number]


def _listen(connection: "Connection[Any, Any]", calls: "SimpleQueue[bytes]", stops: dict[int, threading.Event]) -> None:
    while True:
        try:
            data = connection.recv_bytes()
        except (EOFError, OSError):
            os._exit(0)  # a solver may be running that nothing can stop
        if data.startswith(CALL):
            calls.put(data[1:])
        else:
            stops.setdefault(int(data[1:]), threading.Event()).set()


def _outcome(data: bytes, stop: threading.Event, on_report: Listener, on_so_far: Watcher) -> tuple[str, Any]:
    try:
        function, arguments, options = pickle.loads(data)
        with interruptible_by(stop), listening(on_report), watching(on_so_far):
            return ANSWER, function(*arguments, **options)
    except Exception as error:
        error.add_note("In a worker process:\n" + traceback.format_exc())
        return ERROR, error


def _pickled(kind: str, content: Any) -> bytes:
    """Returns a message; what cannot be pickled and read again becomes an error that says so."""
    try:
        data = pickle.dumps((kind, content, runs_on()))
        if kind == ERROR:
            pickle.loads(data)  # exceptions with arguments of their own often cannot be built again
    except Exception as error:
        what = content if kind == ERROR else error
        return pickle.dumps((ERROR, RuntimeError(f"{type(what).__name__}: {what}"), runs_on()))
    return data


if __name__ == "__main__":
    with_frame_room(main)
