"""How much is wanted of a node, and how much of it is there."""

from types import SimpleNamespace

import pytest

from sliceplan.agent.model.node import GpuState
from sliceplan.agent.showing import terminal
from sliceplan.agent.showing.terminal import _summary


def state(instances, services):
    return GpuState("A100-80GB", True, frozenset(instances), frozenset(services))


@pytest.mark.parametrize(
    ("live", "lines"),
    [
        ({}, ["Node n: 2 MIG instances and 3 services on 2 GPUs."]),
        # What is on a GPU that is not wanted, or on another one than it should be, is not there.
        ({0: state("x", "c"), 7: state("i", "ab")}, ["Node n: 2 MIG instances and 3 services on 2 GPUs."]),
        (
            {1: state("j", "xc")},
            ["Node n: 2 MIG instances and 3 services on 2 GPUs.", "There already: 1 MIG instance and 1 service."],
        ),
        (
            {0: state("", "ab"), 1: state("", "c")},
            ["Node n: 2 MIG instances and 3 services on 2 GPUs.", "There already: 3 services."],
        ),
        (
            {0: state("i", "")},
            ["Node n: 2 MIG instances and 3 services on 2 GPUs.", "There already: 1 MIG instance and 0 services."],
        ),
    ],
)
def test_what_is_there_already_is_what_is_wanted_on_the_same_gpu(monkeypatch, live, lines):
    monkeypatch.setattr(terminal, "settled", lambda live, _: live)
    wanted = {0: state("i", "ab"), 1: state("j", "c")}
    assert list(_summary("n", SimpleNamespace(new=wanted, live=live))) == lines
