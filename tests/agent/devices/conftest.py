"""Devices that must behave alike."""

from types import SimpleNamespace

import pytest

from sliceplan.agent.devices.simulated.node import SimulatedNode


@pytest.fixture
def simulated_node():
    """Returns a function that makes a simulated node of some GPU types."""

    def make(*gpus):
        node = SimulatedNode.unused(dict(enumerate(gpus)))
        return SimpleNamespace(device=node, attach=node.attach, detach=node.detach)

    return make


@pytest.fixture(params=["simulated", "nvml"])
def any_node(request):
    """Makes nodes of either kind: what holds for one must hold for the other."""
    return request.getfixturevalue(f"{request.param}_node")
