"""Which jobs that have ended are kept: the latest, for a while, up to a size."""

import time
from collections.abc import Iterable
from dataclasses import dataclass

from .job import Job


@dataclass(frozen=True)
class Limits:
    """How long and how much is kept of ended jobs. What is over it goes, oldest first; running jobs never do."""

    keep_s: float = 3600.0
    jobs_of_user: int = 20
    size_bytes: int = 256 * 2**20
    """Of all results together, pickled."""
    open_of_user: int = 20
    """Jobs of one user that have not ended; more are refused."""


def outdated(jobs: Iterable[Job], limits: Limits, now: float | None = None) -> list[Job]:
    """Returns the ended jobs that are not kept."""
    now = time.monotonic() if now is None else now
    latest_first = sorted((job for job in jobs if job.ended_s is not None), key=lambda job: -(job.ended_s or 0.0))
    of_user: dict[str, int] = {}
    size = 0
    gone = []
    for job in latest_first:
        of_user[job.user] = of_user.get(job.user, 0) + 1
        is_old = now - (job.ended_s or 0.0) > limits.keep_s
        is_over = of_user[job.user] > limits.jobs_of_user or (size > 0 and size + job.size_bytes > limits.size_bytes)
        if is_old or is_over:
            gone.append(job)
        else:
            size += job.size_bytes
    return gone
