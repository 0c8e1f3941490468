"""Files are dealt to processes one by one, those in the browser together."""

import pytest

from support.in_one_process import InOneProcess

FILES = ("agent/test_deploy.py", "browser/test_tour.py", "browser/test_walk.py", "browser/test_login.py")


def dealt_together(nodes):
    """Returns which of the files are dealt together to so many processes."""
    scheduler = InOneProcess.__new__(InOneProcess)  # else it asks for a whole run
    scheduler.assigned_work = {node: {} for node in range(nodes)}
    scopes = {}
    for file in FILES:
        for test in ("test_a", "test_b[browser/x]"):
            scopes.setdefault(scheduler._split_scope(f"tests/{file}::{test}"), set()).add(file)
    return sorted(map(sorted, scopes.values()))


@pytest.mark.parametrize("nodes", [1, 2, 3, 5])
def test_those_in_the_browser_have_one_process_on_few_cores(nodes):
    assert dealt_together(nodes) == [[FILES[0]], sorted(FILES[1:])]


def test_on_many_cores_they_have_a_third_of_the_processes():
    together = dealt_together(90)
    assert [FILES[0]] in together
    assert len(together) == len(FILES)
    assert [len(dealt_together(nodes)) for nodes in (6, 300)] == [3, 4]
