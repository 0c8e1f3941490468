"""A node behind NVML, with everything that it is made of."""

import os
import signal
from types import SimpleNamespace

import pytest
from fake_nvml import FakeLibrary, install_tools

from sliceplan.agent.devices.mps_daemons import DaemonDefaults, MpsDaemons, running_daemons
from sliceplan.agent.devices.nvml.node import NvmlNode
from sliceplan.agent.devices.simulated.node import SimulatedNode
from sliceplan.agent.services.host import ServiceHost
from sliceplan.agent.services.template import ServiceTemplate


@pytest.fixture
def nvml_node(tmp_path, monkeypatch):
    """Returns a function that makes a node of some GPU types; its daemons and services are killed at the end."""
    install_tools(tmp_path, monkeypatch)
    template = ServiceTemplate.model_validate({"command": ["/bin/sleep", "600"], "runner": "process", "drain_s": 5})

    def make(*gpus, old=False, defaults=None):
        library = FakeLibrary(SimulatedNode.unused(dict(enumerate(gpus))), tmp_path, old)
        library.install(monkeypatch)
        mps = MpsDaemons(tmp_path / "run" / "mps", DaemonDefaults(**(defaults or {})))
        host = ServiceHost(lambda _: template, tmp_path / "run", tmp_path / "log")
        return SimpleNamespace(
            device=NvmlNode(mps, host),
            library=library,
            mps=mps,
            host=host,
            folder=tmp_path,
            attach=library.node.attach,
            detach=library.node.detach,
            calls=lambda: (tmp_path / "calls").read_text().splitlines() if (tmp_path / "calls").exists() else [],
        )

    yield make
    for pid in ServiceHost(lambda _: None, tmp_path / "run", tmp_path / "log").pids():
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    for daemon in running_daemons():
        if daemon.folder.startswith(str(tmp_path)):
            os.kill(daemon.pid, signal.SIGKILL)


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
