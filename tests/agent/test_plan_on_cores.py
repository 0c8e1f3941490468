"""
From a problem on a CPU of the catalogue to services on its cores: solved, assigned, signed, shown, applied, changed.

On a stand-in of systemd and its cgroups, on a host that numbers its CPUs by sockets in turns. Which CPUs a service must
have comes from the plan's cores and the host's own numbering, by no code of the agent.
"""

from types import SimpleNamespace

import pytest
import yaml
from problems.instances import ROOT
from stand_ins.fake_systemd import FakeSystemd
from stand_ins.lscpu import lscpu
from typer.testing import CliRunner

from sliceplan.agent.cli import app
from sliceplan.agent.setup import device
from sliceplan.agent.system.core_slices import CoreSlices
from sliceplan.solver.api import solve
from sliceplan.solver.formats.exports.assign import NodeSupply, assign
from sliceplan.solver.model.problem import Problem

HOST = {"sockets": 2, "cores": 96, "sockets_in_turns": True}


def planned(**rates):
    """Returns the plan of three services of the example on one of the two CPUs of node n1, some at other rates."""
    data = yaml.safe_load((ROOT / "plans/cpus.yaml").read_text())
    workloads = [one for one in data["workloads"] if one["name"] in ("avatars", "captcha", "nsfw")]
    for one in workloads:
        one["rate_rps"] = rates.get(one["name"], one["rate_rps"])
    data |= {"workloads": workloads, "fleet": [{"cpu": "EPYC-9654", "count": 2, "price_per_hour": 0.45}]}
    plan = solve(Problem.model_validate(data))
    assert plan.status == "optimal"
    return assign(plan, [NodeSupply("n1", 2)])


@pytest.fixture(scope="module")
def plans():
    return planned(), planned(avatars=130)


@pytest.fixture
def node(trust, tmp_path, monkeypatch):
    """A node with two CPUs, and functions to publish plans and to give commands."""
    systemd = FakeSystemd(tmp_path, monkeypatch, **HOST)
    monkeypatch.setattr(device, "CoreSlices", lambda: CoreSlices(systemd.cgroups))
    monkeypatch.setattr(device, "cpu_managers", list)
    config = {
        "version": 1,
        "node": "n1",
        "device": "cores",
        "plan": {"source": str(tmp_path / "plan.json")},
        "trusted_keys": str(trust.keys),
        "state_dir": str(tmp_path / "state"),
        "run_dir": str(tmp_path / "run"),
        "node_lock": str(tmp_path / "run/node.lock"),
        "services": {"*": {"command": ["/bin/serve", "{workload}", "{threads}"]}},
    }
    file = tmp_path / "agent.yaml"
    file.write_text(yaml.safe_dump(config))
    file.chmod(0o600)

    def publish(plan, sequence):
        (tmp_path / "plan.json").write_bytes(trust.signed(plan, sequence=sequence))

    def agent(*words):
        done = CliRunner().invoke(app, [*words, "--config", str(file)])
        assert done.exit_code == 0, done.output
        return done.output

    return SimpleNamespace(systemd=systemd, publish=publish, agent=agent)


def wanted_cpus(plan):
    """Returns (socket, workload) -> the CPUs of each of its partitions, from the plan and the host's numbering."""
    _, cpus = lscpu(**HOST)
    found = {}
    for one in plan.gpus:
        for partition in one.partitions:
            (served,) = partition.serves
            cores = range(partition.start, partition.start + partition.cores)
            place = frozenset(cpu for core in cores for cpu in cpus[one.index, core])
            found.setdefault((one.index, served.workload), set()).add(place)
    return found


def cpus_there(node):
    """Returns the same of the slices that there are."""
    found = {}
    for folder in (node.systemd.cgroups / "sliceplan.slice").iterdir():
        name = folder.name.removeprefix("sliceplan-").removesuffix(".slice")
        workload, cpu = name.split(":")[:2]
        text = (folder / "cpuset.cpus.effective").read_text().strip()
        ends = [[int(end) for end in run.split("-")] for run in text.split(",")]
        place = frozenset(cpu for run in ends for cpu in range(run[0], run[-1] + 1))
        found.setdefault((int(cpu.removeprefix("cpu")), workload), set()).add(place)
    return found


def test_a_plan_of_cores_is_applied_as_it_says_and_a_later_one_too(node, plans):
    first, second = plans
    assert wanted_cpus(first) != wanted_cpus(second)
    node.publish(first, 1)
    shown = node.agent("apply", "--dry-run")
    assert shown.endswith("Dry run: nothing was changed.\n")
    assert not node.systemd.calls("show"), "a dry run gives no command"
    node.agent("apply", "--yes")
    assert cpus_there(node) == wanted_cpus(first)
    given = {word for call in node.systemd.calls() for word in call.split() if word.startswith("AllowedCPUs=")}
    assert given
    assert all(word in shown for word in given), "every command was shown before"
    node.publish(second, 2)
    node.agent("apply", "--yes")
    assert cpus_there(node) == wanted_cpus(second)
    assert "The node has what was applied." in node.agent("status")


def test_no_core_is_given_twice_and_all_of_one_service_share_their_cache(plans):
    """What the plan promised of its partitions holds of the CPUs of the host, by its own table of caches."""
    text, _ = lscpu(**HOST)
    rows = [line.split(",") for line in text.splitlines() if not line.startswith("#")]
    cache = {int(row[0]): row[-1] for row in rows}
    for plan in plans:
        places = [place for places in wanted_cpus(plan).values() for place in places]
        assert sum(map(len, places)) == len(frozenset().union(*places))
        assert all(len({cache[cpu] for cpu in place}) == 1 for place in places if len(place) <= 16)
