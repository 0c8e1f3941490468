"""What is asked for in words is what is simulated, and everything that is not understood is said at once."""

import pytest
from problems.simulated_plans import problem_of

from sliceplan.solver.model.errors import InputError
from sliceplan.solver.simulation.arrivals.bursts import Bursts
from sliceplan.solver.simulation.arrivals.even import Even
from sliceplan.solver.simulation.arrivals.gamma import Gamma
from sliceplan.solver.simulation.arrivals.poisson import Poisson
from sliceplan.solver.simulation.asking import (
    arrivals_of,
    batching_of,
    dispatch_of,
    failures_of,
    settings_of,
)
from sliceplan.solver.simulation.batching.dynamic import Dynamic
from sliceplan.solver.simulation.dispatch.registry import DISPATCHES

PROBLEM = problem_of(a=10, b=10)


@pytest.mark.parametrize("text", ["poisson", "even", "gamma:2", "bursts:3,0.1,2"])
def test_arrivals_are_written_as_they_are_read(text):
    assert arrivals_of([text], PROBLEM)[0].name == text


@pytest.mark.parametrize("text", ["greedy", "full", "delay:5", "delay:0.5:4,8", "deferred"])
def test_batching_is_written_as_it_is_read(text):
    assert batching_of(text).name == text


@pytest.mark.parametrize("text", DISPATCHES)
def test_dispatch_is_written_as_it_is_read(text):
    assert dispatch_of(text).name == text


def test_services_may_differ_from_the_others():
    common, own = arrivals_of(["gamma:2", "a=even", "b=bursts:2,0.5,1"], PROBLEM)
    assert (common, own) == (Gamma(2.0), {"a": Even(), "b": Bursts(2.0, 0.5, 1000.0)})
    assert arrivals_of([], PROBLEM) == (Poisson(), {})


def test_a_file_of_one_service_is_its_trace_and_one_of_all_is_everybodys(tmp_path):
    one, both = tmp_path / "one=1.csv", tmp_path / "both.csv"
    one.write_text("time\n0\n1\n")
    both.write_text("time,service\n0,a\n1,b\n3,a\n")
    assert arrivals_of([f"a=trace:{one}"], PROBLEM)[1]["a"].at_ms.tolist() == [0, 1000]
    _, own = arrivals_of([f"trace:{both}", "b=even"], PROBLEM)
    assert own["a"].at_ms.tolist() == [0, 3000]
    assert own["b"] == Even()
    assert list(arrivals_of([f"trace:{one}"], problem_of(a=10))[1]) == ["a"]


def test_traces_of_other_services_are_refused(tmp_path):
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    one.write_text("time\n0\n")
    other.write_text("time,service\n0,a\n1,c\n")
    with pytest.raises(InputError, match="names no services, and the problem has 2"):
        arrivals_of([f"trace:{one}"], PROBLEM)
    with pytest.raises(InputError) as error:
        arrivals_of([f"trace:{other}", f"b=trace:{other}"], PROBLEM)
    for part in (
        "has no requests of b",
        "has requests of c, no services",
        "has no requests of b; it has those of a, c",
    ):
        assert part in str(error.value)


def test_everything_not_understood_is_said_at_once():
    words = {
        "arrivals": ["gamma", "gamma:0", "c=even", "bursts:3,0.5,1", "bursts:1,2,0", "even:1", "even", "poisson"],
        "failures": ["x", "@3", "g@later", "g@1", "g@2"],
    }
    figures = {"requests": 1, "seconds": None, "seed": 1, "load": 1.0, "quantile": 0.99, "measured_batches": False}
    with pytest.raises(InputError) as error:
        settings_of(PROBLEM, **words, dispatch="least_load", batching="delay:x", **figures)
    text = str(error.value)
    for part in (
        *("gamma is not understood", "gamma:0 has the coefficient", "c=even is of no service", "even:1 is not"),
        *("expected 1 to 2, as they are 0.5", "for 2 of the time", "bursts of 0 s", "poisson says it a second time"),
        *("Did you mean 'least_loaded'?", "delay:x has no such delay", "x is not understood", "g@2 fails a GPU twice"),
    ):
        assert part in text, part


@pytest.mark.parametrize("text", ["delay:5:0", "delay:5:x", "delay:-1", "delay:nan", "delay", "Greedy"])
def test_batching_that_is_not_understood_is_refused(text):
    with pytest.raises(InputError, match=r"--batching: "):
        batching_of(text)


def test_failures_are_gpus_at_seconds():
    assert failures_of(["A100-80GB/0@60", "odd@name@0.5"]) == {"A100-80GB/0": 60, "odd@name": 0.5}
    assert batching_of("delay:5:8,4,8") == Dynamic(5.0, (4, 8))
