"""
Whose turn it is: calls of several users on a few servers, so that nobody blocks anybody.

The next call is of the user with fewest calls running, and among equals of the one who was served longest ago; the
calls of one user stay in order. Some servers can be kept free for users of whom nothing runs, so that someone who comes
while others sweep is served at once.
"""

import threading
from collections import Counter, OrderedDict, deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Turns(Generic[Item]):
    """
    Waiting calls by user; every method may be called from any thread.

    Parameters
    ----------
    servers
        How many calls can run at once.
    kept_free
        How many of them a user of whom something runs already cannot have.
    """

    def __init__(self, servers: int, kept_free: int = 0) -> None:
        self._servers, self._kept_free = servers, kept_free
        self._waiting: OrderedDict[str, deque[Item]] = OrderedDict()  # who was served longest ago comes first
        self._running: Counter[str] = Counter()
        self._is_closed = False
        self._changed = threading.Condition()

    def add(self, user: str, item: Item) -> int:
        """Lets a call wait, and returns how many wait or run; RuntimeError if nothing is served any more."""
        with self._changed:
            if self._is_closed:
                raise RuntimeError("the workers are shut down")
            self._waiting.setdefault(user, deque()).append(item)
            self._changed.notify_all()
            return sum(map(len, self._waiting.values())) + self._running.total()

    def take(self) -> tuple[str, Item] | None:
        """Waits for the next call and returns it with its user; None: closed, and no call is left."""
        with self._changed:
            while (user := self._next_user()) is None:
                if self._is_closed and not self._waiting:
                    return None
                self._changed.wait()
            items = self._waiting[user]
            item = items.popleft()
            if items:
                self._waiting.move_to_end(user)
            else:
                del self._waiting[user]
            self._running[user] += 1
            return user, item

    def done(self, user: str) -> None:
        """Says that a call of a user has ended."""
        with self._changed:
            self._running[user] -= 1
            self._running += Counter()  # forgets users of whom nothing runs
            self._changed.notify_all()

    def close(self) -> None:
        """Takes no further calls."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _next_user(self) -> str | None:
        free = self._servers - self._running.total()
        may = [user for user in self._waiting if self._running[user] == 0 or free > self._kept_free]
        return min(may, key=lambda user: self._running[user], default=None)
