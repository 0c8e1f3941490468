"""The same sweep on a Dask cluster: a scheduler and two worker processes on this machine, one of them killed."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from problems.instances import random_problem
from support.needs import DISTRIBUTED, skip_without

from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.what_if.axes import parse_axes
from sliceplan.solver.what_if.points import Sweep, solve_point
from sliceplan.solver.what_if.sweeping import swept
from sliceplan.solver.workers.executors import CLUSTER, workers

if importlib.util.find_spec("distributed") is None:
    skip_without(DISTRIBUTED, module=True)

WAIT_S = 150
"""Three processes import Dask at once, on cores that others use too."""

HERE = ["--host", "127.0.0.1", "--no-dashboard"]


def dask(part, *arguments, folder):
    """Starts a part of a cluster."""
    command = [sys.executable, "-m", f"distributed.cli.dask_{part}", *HERE, *arguments]
    log = (folder / f"{part}.log").open("a")
    with log:
        return subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """Starts a scheduler and two workers of one thread each; returns the workers' processes."""
    where = tmp_path / "scheduler.json"
    running = [dask("scheduler", "--port", "0", "--scheduler-file", str(where), folder=tmp_path)]
    own = ["--scheduler-file", str(where), "--no-nanny", "--nthreads", "1", "--local-directory", str(tmp_path)]
    running += [dask("worker", *own, folder=tmp_path) for _ in range(2)]
    try:
        deadline = time.monotonic() + WAIT_S
        monkeypatch.setenv(CLUSTER, address_in(where, deadline))
        wait_for_workers(2, deadline)
        yield running[1:]
    finally:
        for process in reversed(running):
            process.kill()
            process.wait()


def address_in(file, deadline):
    """Returns the scheduler's address; its file is there a moment before all of it is written."""
    while time.monotonic() < deadline:
        with suppress(FileNotFoundError, json.JSONDecodeError):
            return json.loads(file.read_text())["address"]
        time.sleep(0.05)
    pytest.fail("the scheduler did not come")


def wait_for_workers(number, deadline):
    while time.monotonic() < deadline:
        try:
            with workers() as found:
                if found.number == number:
                    return
        except InputError:
            time.sleep(0.2)
    pytest.fail("the workers did not come")


def test_a_sweep_on_a_cluster_outlives_a_worker(cluster):
    problem = random_problem(30, 2)
    sweep = Sweep(problem, shipped_profiles(), parse_axes(["rate=0.5:1.5:0.05"], problem))
    points = []
    with workers() as found:
        for point in swept(sweep, found):
            points.append(point)
            if len(points) == 4:
                os.kill(cluster[0].pid, signal.SIGKILL)
    assert sorted(point.index for point in points) == [(i,) for i in range(21)]
    assert {point.status for point in points} == {"optimal"}
    here = solve_point(sweep.packed(), (20,), None)
    assert next(point for point in points if point.index == (20,)).cost_per_hour == here.cost_per_hour


def test_a_cluster_that_is_not_there_is_said(monkeypatch):
    monkeypatch.setattr("sliceplan.solver.workers.executors.CONNECT_S", 0.5)
    monkeypatch.setenv(CLUSTER, "tcp://127.0.0.1:9")
    with pytest.raises(InputError, match=r"SLICEPLAN_DASK is 'tcp://127.0.0.1:9'; no Dask scheduler"), workers():
        pass
