"""How a signal stops the agent."""

import json
import signal
import threading
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from support.waiting import wait_until

from sliceplan.agent.devices.simulated.node import NodeRecord, SimulatedNode, write_node
from sliceplan.agent.setup import opening
from sliceplan.agent.setup.opening import Words, _refuse_unsafe_ways, configured, node_lock_of, open_agent, stoppable
from sliceplan.agent.transition.session import Session
from sliceplan.solver.model.errors import InputError


def test_a_signal_while_a_line_is_being_said_is_not_lost():
    """A stream that is entered twice by one thread raises; what it raised in was the handler, before it had noted."""
    said, speaking, free = [], [], threading.Lock()

    def say(text):
        if threading.get_ident() in speaking:
            raise RuntimeError("reentrant call")
        with free:
            speaking.append(threading.get_ident())
            said.append(text)
            if text == "applied":
                signal.raise_signal(signal.SIGTERM)
            speaking.pop()

    with stoppable(Session(device=None, folder=None, say=say)) as session:
        session.say("applied")
        assert session.stop_asked()
        session.sleep(60)  # ends at once
        wait_until(lambda: said == ["applied", "SIGTERM: stopping after the step that is running."])


@pytest.mark.parametrize(("options", "stops"), [({}, False), ({"ends_with_terminal": True}, True)])
def test_the_end_of_the_terminal_stops_only_who_asks_for_that(options, stops):
    """A transition that was begun goes on to its end without it."""

    @dataclass(frozen=True)
    class Told:
        say: object = print
        stop_asked: object = None
        sleep: object = None

    before = signal.getsignal(signal.SIGHUP)
    with stoppable(Told(), **options) as session:
        assert (signal.getsignal(signal.SIGHUP) == signal.SIG_IGN) != stops
        assert not session.stop_asked()
        signal.raise_signal(signal.SIGHUP)
        assert session.stop_asked() == stops
    assert signal.getsignal(signal.SIGHUP) == before


@pytest.mark.parametrize("device", ["nvml", "cores", "nvml+cores"])
def test_what_of_the_node_is_the_agents_is_named_on_the_command_line(device):
    config = configured(Words(device=device))
    assert (config.device, config.simulated_node) == (device, None)


@pytest.mark.parametrize("device", ["", "gpu", "simulated:", "simulated", "other:node.json"])
def test_another_device_is_refused_with_those_there_are(device):
    with pytest.raises(InputError, match=r"--device: is '.*'; expected nvml, cores, nvml\+cores or simulated:FILE"):
        configured(Words(device=device))


def test_what_the_command_line_says_stands_in_the_place_of_the_configuration(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = Words(node="n7", device="simulated:node.json", state=Path("state"), plan="plan.json")
    config = configured(words)
    assert (config.node_name, config.simulated_node) == ("n7", tmp_path / "node.json")
    assert (config.state_dir, config.plan.source) == (tmp_path / "state", str(tmp_path / "plan.json"))
    assert configured(replace(words, plan="https://plans/x")).plan.source == "https://plans/x"


@pytest.mark.parametrize(("said", "configured_s", "drain_s"), [(None, None, None), (None, 7.0, 7.0), (0.0, 7.0, 0.0)])
def test_how_long_others_are_waited_for_is_as_said_or_configured(tmp_path, said, configured_s, drain_s):
    words = simulated(tmp_path, drain_s=configured_s)
    assert open_agent(replace(words, drain_s=said)).session.patience.drain_s == drain_s


def test_an_unsigned_plan_is_taken_on_a_simulated_node_alone(tmp_path):
    words = simulated(tmp_path)
    assert open_agent(words).session.verified is not None
    assert open_agent(replace(words, unsigned=True)).session.verified is None
    with pytest.raises(InputError, match="--unsigned: goes with --device simulated:FILE only"):
        open_agent(Words(device="nvml", unsigned=True))


def test_the_lock_of_a_simulated_node_lies_beside_its_file(tmp_path):
    assert open_agent(simulated(tmp_path)).session.node_lock == tmp_path / ".node.json.lock"
    assert node_lock_of(configured(Words(device="nvml"))) == Path("/run/sliceplan/node.lock")


def test_only_folders_that_are_there_are_looked_at_on_the_way(tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    _refuse_unsafe_ways(tmp_path / "open" / "missing", tmp_path / "missing")
    with pytest.raises(InputError, match=r"open: has mode 0777.*chmod go-w"):
        _refuse_unsafe_ways(tmp_path / "open")


def simulated(folder, **fields):
    """Returns the words that open an agent of a simulated node of this folder."""
    form = {"version": 1, "node": "n1", "device": "simulated", "simulated_node": str(folder / "node.json")}
    form |= {"plan": {"source": str(folder / "plan.json")}, "state_dir": str(folder / "state"), **fields}
    write_node(folder / "node.json", NodeRecord(dict(SimulatedNode.unused({0: "T4"}).state())))
    (folder / "agent.yaml").write_text(json.dumps(form))
    (folder / "agent.yaml").chmod(0o600)
    return Words(config=folder / "agent.yaml")


@pytest.mark.parametrize("unsafe", ["state", "lock"])
def test_on_a_real_node_others_may_not_put_another_folder_in_the_place_of_the_agents(tmp_path, monkeypatch, unsafe):
    state, lock = tmp_path / "on" / "state", tmp_path / "way" / "node.lock"
    for folder in (state, lock.parent):
        folder.mkdir(parents=True)
    (state.parent if unsafe == "state" else lock.parent).chmod(0o777)
    config = configured(Words(device="nvml", state=state)).model_copy(update={"node_lock": lock})
    monkeypatch.setattr(opening, "configured", lambda _: config)
    with pytest.raises(InputError, match="others have more rights than is safe"):
        open_agent(Words())


def test_the_default_configuration_is_read_where_it_is_and_no_other_is_named(tmp_path, monkeypatch):
    """By a node that is real."""
    there, named = tmp_path / "agent.yaml", tmp_path / "other.yaml"
    monkeypatch.setattr(opening, "DEFAULT_CONFIG", there)
    assert configured(Words()).plan.source == "/etc/sliceplan/plan.json"
    for path in (there, named):
        path.write_text(f"version: 1\nplan: {{source: /{path.stem}.json}}\n")
        path.chmod(0o600)
    assert configured(Words()).plan.source == "/agent.json"
    assert configured(Words(config=named)).plan.source == "/other.json"
    node = tmp_path / "node.json"
    assert configured(Words(device=f"simulated:{node}")).plan.source == "/etc/sliceplan/plan.json"
    assert configured(Words(device=f"simulated:{node}", config=named)).plan.source == "/other.json"
