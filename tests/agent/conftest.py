"""What tests of the agent share: keys and a signed plan, and an agent on a simulated node with a clock of its own."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from instances import problem_of

from sliceplan.agent.session import Patience, Session
from sliceplan.agent.state_folder import StateFolder
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
