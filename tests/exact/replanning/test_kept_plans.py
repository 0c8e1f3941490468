"""Plans around what runs that are built and not searched, by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.replanning import kept_plans as module
from sliceplan.solver.exact.replanning.kept_plans import kept_as_it_runs, made_anew, total_per_hour
from sliceplan.solver.exact.replanning.running import KeptGpu, Replanning, RunningGpu
from sliceplan.solver.model.stop_reason import StopReason

A, B = SimpleNamespace(gpu="A"), SimpleNamespace(gpu="B")


def gpu(name, *parts):
    """Returns a GPU that runs partitions, each as workload and requests/s."""
    return RunningGpu(name, tuple(SimpleNamespace(workload=w, capacity_rps=rps) for w, rps in parts))


def test_a_plan_made_anew_moves_everyone_who_runs():
    anew = SimpleNamespace(solver="s", patterns=((A, 2),), partitions=np.array([[0, 2], [1, 0]]))
    plan = made_anew([gpu("A", (0, 1.0), (4, 1.0))], frozenset({2}), anew)
    assert (plan.moved, plan.kept, plan.patterns, plan.least) == ({0, 2, 4}, (), ((A, 2),), None)
    assert plan.partitions == {(0, 1): 2, (1, 0): 1}
    for missing in ("patterns", "partitions"):
        assert made_anew([], frozenset(), SimpleNamespace(**{**vars(anew), missing: None})) is None


def test_the_total_is_of_gpus_that_are_kept_and_new_and_of_what_moves():
    fleet = {"A": SimpleNamespace(price_per_hour=2.0), "B": SimpleNamespace(price_per_hour=3.0)}
    running = [gpu("A"), gpu("B"), gpu("A")]
    kept = (KeptGpu(0, (), ()), KeptGpu(1, (), ()))
    plan = Replanning(StopReason.TIME_LIMIT, "", None, frozenset({5, 6}), kept, ((A, 2), (B, 1)), {})
    assert total_per_hour(SimpleNamespace(fleet_by_name=fleet), running, plan, 0.5) == 3 * 2.0 + 2 * 3.0 + 2 * 0.5
    none = Replanning(StopReason.TIME_LIMIT, "", None, frozenset(), None, None, None)
    assert total_per_hour(SimpleNamespace(fleet_by_name=fleet), running, none, 0.5) == 0


@pytest.fixture
def kept(monkeypatch):
    """Returns a function that keeps what runs beside services of these rates; cuts are what is wanted of each size."""

    def answered(running, *, most=(9, 9), available=(4, None), least=(1, 1), scale=1.0):
        resolved = SimpleNamespace(
            required_rps=scale * np.array([10.0, 20.0]),
            capacity_rps=scale * np.array([[4.0, 0.0, 8.0], [0.0, 0.0, 5.0]]),
            fleet=[
                SimpleNamespace(gpu=SimpleNamespace(name=name), available=n)
                for name, n in zip("AB", available, strict=True)
            ],
        )
        demands = SimpleNamespace(least=np.array(least), most=np.array(most, dtype=float))
        seen = {}

        def cuts(rest, _, wanted):
            seen["left"] = [entry.available for entry in rest.fleet]
            return wanted[[0, 1, 2]] if wanted.sum() < 9 else None

        monkeypatch.setattr(module, "demands_of", lambda *_: demands)
        monkeypatch.setattr(module, "patterns_of", lambda _, entry: [A, A, B] if entry.gpu.name == "A" else [])
        monkeypatch.setattr(module, "replace", lambda one, **fields: SimpleNamespace(**{**vars(one), **fields}))
        price = np.array([1.0, 0.0, 1.9])
        plan = kept_as_it_runs(resolved, running, frozenset({7}), price, cuts)
        return plan, seen.get("left")

    return answered


def test_what_services_lack_is_on_further_gpus(kept):
    """The first has 4 of 10: it lacks six, a large one or two small ones; the second has all that it needs."""
    running = [gpu("A", (0, 4.0)), gpu("B", (1, 12.0), (1, 8.0))]
    plan, left = kept(running)
    assert left == [3, None]
    assert plan.partitions == {(0, 2): 1}
    assert plan.patterns == ((B, 1),)
    assert (plan.moved, [one.number for one in plan.kept]) == ({7}, [0, 1])
    assert [one.kept for one in plan.kept] == [one.partitions for one in running]
    # Without a few the second lacks as much; replicas that must be there come too.
    assert kept([gpu("A", (0, 4.0)), gpu("B", (1, 10.0))])[0].partitions == {(0, 2): 1, (1, 2): 2}
    assert kept(running, least=(1, 3))[0].partitions == {(0, 2): 1, (1, 2): 1}
    # What rounding takes of a rate is not missing.
    assert kept([gpu("A", (0, 10.0 * (1 - 5e-10))), gpu("B", (1, 20.0))])[0].partitions == {}


@pytest.mark.parametrize(
    ("more", "some"),
    [
        ({}, True),
        # One more replica suffices by the larger size; none at all does not, nor do fewer than run.
        ({"most": (2, 9)}, True),
        ({"most": (1, 9)}, False),
        ({"most": (9, 1)}, False),
        # As many GPUs as run, and one fewer.
        ({"available": (1, 1)}, True),
        ({"available": (0, None)}, False),
        ({"least": (9, 9)}, False),
    ],
)
def test_there_may_be_too_few_replicas_or_gpus(kept, more, some):
    plan, _ = kept([gpu("A", (0, 4.0)), gpu("B", (1, 12.0), (1, 8.0))], **more)
    assert (plan is not None) == some


@pytest.mark.parametrize("scale", [1.0, 1 / 64])
def test_what_one_more_partition_carries_just_is_enough_also_of_rates_below_one(kept, scale):
    """The first service has room for one, of 8 requests/s at most; the second for none, and lacks nothing."""
    for carried, some in ((2.0, True), (1.0, False)):
        running = [gpu("A", (0, carried * scale)), gpu("B", (1, 20.0 * scale))]
        plan, _ = kept(running, most=(2, 1), scale=scale)
        assert (plan is not None) == some
        assert plan is None or plan.partitions == {(0, 2): 1}
