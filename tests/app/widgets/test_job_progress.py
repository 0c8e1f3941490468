"""What is said of work under way: how much longer it takes, where anything is known of that."""

import pytest

from sliceplan.app.jobs.job import JobStatus, State
from sliceplan.app.widgets.job_progress import time_left


@pytest.mark.parametrize(
    ("state", "done", "of", "seconds", "most_s", "said"),
    [
        (State.RUNNING, 3, 12, 6.0, None, "; about 18 s more"),
        (State.RUNNING, 0, 1, 4.0, 30.0, "; at most 26 s more"),
        (State.RUNNING, 0, 1, 31.0, 30.0, ""),
        (State.WAITING, 0, 1, 4.0, 30.0, ""),
        (State.RUNNING, 0, 12, 4.0, None, ""),
    ],
)
def test_the_time_left_is_told_by_parts_or_by_the_limit(state, done, of, seconds, most_s, said):
    status = JobStatus("id", "ann", "sweep", "demo: rate", state, "", done, of, seconds, None)
    assert time_left(status, most_s) == said
