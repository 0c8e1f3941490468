"""Keys and a signed plan; an agent on a simulated node with a clock of its own; and a node behind NVML."""

import os
import signal
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from problems.instances import problem_of
from stand_ins.fake_nvml import FakeLibrary, install_tools

from sliceplan.agent.devices.mps_daemons import DaemonDefaults, MpsDaemons, running_daemons
from sliceplan.agent.devices.nvml.node import NvmlNode
from sliceplan.agent.devices.simulated.node import SimulatedNode
from sliceplan.agent.services.host import ServiceHost
from sliceplan.agent.services.template import ServiceTemplate
from sliceplan.agent.transition.session import Patience, Session
from sliceplan.agent.transition.state_folder import StateFolder
from sliceplan.agent.trust.acceptance import accept
from sliceplan.agent.trust.keys import generate, read_private
from sliceplan.agent.trust.signing import sign
from sliceplan.agent.trust.trusted_keys import read_trusted_keys
from sliceplan.solver.api import solve

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self):
        self.time = 0.0
        self.wakings = []
        """Called with the time after each sleep."""

    def sleep(self, seconds):
        self.time += seconds
        for waking in self.wakings:
            waking(self.time)

    def now(self):
        return self.time


@pytest.fixture
def synced(monkeypatch):
    """The files and folders that were synced, by name, in their order, and whether anything was in them."""
    names, sync = [], os.fsync

    def note(descriptor):
        names.append((Path(f"/proc/self/fd/{descriptor}").readlink().name, os.fstat(descriptor).st_size > 0))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    return names


@pytest.fixture
def folder(tmp_path):
    made = StateFolder(tmp_path / "state")
    made.prepare()
    return made


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def said():
    """What the agent said."""
    return []


@pytest.fixture
def session_of(folder, clock, said):
    """Makes a session for a node."""

    def make(node, patience=None, **options):
        options = {"say": said.append, "sleep": clock.sleep, "clock": clock.now} | options
        return Session(node, folder, patience or Patience(), **options)

    return make


@pytest.fixture(scope="session")
def plan():
    """Two GPUs of node n1, cut by MIG."""
    workloads = [
        {"model": "resnet50", "rate_rps": 900, "slo_ms": 200},
        {"model": "bert", "rate_rps": 60, "slo_ms": 500},
    ]
    fleet = [{"gpu": "A100-80GB", "nodes": [{"name": "n1", "count": 2}]}]
    return solve(problem_of(workloads, fleet=fleet))


@pytest.fixture(scope="session")
def trust(tmp_path_factory):
    """A signing key, the folder of trusted keys that holds its public half, and what a node makes of signed plans."""
    folder = tmp_path_factory.mktemp("trust")
    keys = folder / "keys"
    keys.mkdir(mode=0o755)
    public, name = generate(folder / "signer")
    (keys / "signer.pub").write_bytes(public.read_bytes())
    (keys / "signer.pub").chmod(0o644)
    generate(folder / "stranger")
    trusted = read_trusted_keys(keys)

    def signed(plan, key="signer", **options):
        return sign(plan, read_private(folder / key), "plan.json", **{"issued_at": NOW, **options}).encode()

    def accepted(data, newest=None, node="n1", now=NOW):
        return accept(data, "signed.json", node=node, keys=trusted, newest=newest, now=now)

    return SimpleNamespace(folder=folder, keys=keys, name=name, trusted=trusted, signed=signed, accepted=accepted)


@pytest.fixture
def nvml_node(tmp_path, monkeypatch):
    """Returns a function that makes a node of some GPU types; its daemons and services are killed at the end."""
    install_tools(tmp_path, monkeypatch)
    template = ServiceTemplate.model_validate({"command": ["/bin/sleep", "600"], "runner": "process", "drain_s": 5})

    def make(*gpus, old=False, defaults=None):
        nvml = FakeLibrary(SimulatedNode.unused(dict(enumerate(gpus))), tmp_path, old)
        nvml.install(monkeypatch)
        mps = MpsDaemons(tmp_path / "run" / "mps", DaemonDefaults(**(defaults or {})))
        host = ServiceHost(lambda _: template, tmp_path / "run", tmp_path / "log")
        return SimpleNamespace(
            device=NvmlNode(mps, host),
            nvml=nvml,
            mps=mps,
            host=host,
            folder=tmp_path,
            attach=nvml.node.attach,
            detach=nvml.node.detach,
            calls=lambda: (tmp_path / "calls").read_text().splitlines() if (tmp_path / "calls").exists() else [],
        )

    yield make
    for pid in ServiceHost(lambda _: None, tmp_path / "run", tmp_path / "log").pids():
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    for daemon in running_daemons():
        if daemon.folder.startswith(str(tmp_path)):
            os.kill(daemon.pid, signal.SIGKILL)
