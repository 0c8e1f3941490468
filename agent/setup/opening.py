"""From the words of a command line and the agent's configuration to what the agent works with."""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

from ...solver.model.errors import Finding, InputError
from ..files.ownership import findings_on_the_way_to
from ..saying import say
from ..system.other_managers import refusing
from ..transition.reconcile import Wanted
from ..transition.session import Patience, Session
from ..transition.state_folder import StateFolder
from .configuration import DEFAULT_CONFIG, AgentConfig, PlanConfig, read_config
from .device import device_of, other_managers_of
from .following import PlanFollower, desired_of

SIMULATED = "simulated:"

REAL = ("nvml", "cores", "nvml+cores")
"""Which devices of the node are the agent's."""


@dataclass(frozen=True)
class Agent:
    """What one command works with."""

    config: AgentConfig
    session: Session
    fetch: Callable[[], Wanted]
    """Asks for the plan; to be called without the lock, which a slow server would hold."""
    owners: Callable[[], Sequence[str]]
    """Returns who else changes the node's GPUs, in words."""


@dataclass(frozen=True)
class Words:
    """What the command line says; None: it is as configured."""

    config: Path | None = None
    node: str | None = None
    device: str | None = None
    state: Path | None = None
    plan: str | None = None
    unsigned: bool = False
    """Take a plan that nobody signed, on a simulated node."""
    drain_s: float | None = None


def open_agent(words: Words, say: Callable[[str], None] = say) -> Agent:
    """
    Returns what a command works with.

    Raises
    ------
    InputError
        If the configuration or the command line is wrong; if others could put another folder of state in place of the
        one of a node with GPUs, and let the agent forget which plans it had.
    """
    config = configured(words)
    simulated = config.simulated_node is not None
    if words.unsigned and not simulated:
        message = "goes with --device simulated:FILE only; for real GPUs: sliceplan sign PLAN --key KEYFILE -o SIGNED"
        raise InputError([Finding("--unsigned", "", message)])
    if not simulated:
        _refuse_unsafe_ways(config.state_dir, config.node_lock.parent)
    follower = PlanFollower(config)
    session = Session(
        device_of(config),
        StateFolder(config.state_dir),
        Patience(words.drain_s if words.drain_s is not None else config.drain_s, step_s=config.step_timeout_s),
        say=say,
        hooks=config.after_apply,
        node_lock=node_lock_of(config),
        verified=None if words.unsigned else follower.verified,
    )

    def unsigned() -> Wanted:
        desired = desired_of(Path(config.plan.source), config.node_name)
        return lambda _applied: desired

    def owners() -> Sequence[str]:
        return refusing(other_managers_of(config), [one.owner for one in config.ignore_owners])

    return Agent(config, session, unsigned if words.unsigned else follower, owners)


def node_lock_of(config: AgentConfig) -> Path:
    """Returns the file that is locked by whoever changes the node; a simulated one has it beside its own file."""
    node = config.simulated_node
    return config.node_lock if node is None else node.with_name(f".{node.name}.lock")


def _refuse_unsafe_ways(*folders: Path) -> None:
    findings = [one for folder in folders if folder.is_dir() for one in findings_on_the_way_to(folder)]
    if findings:
        raise InputError(dict.fromkeys(findings))


def configured(words: Words) -> AgentConfig:
    """
    Returns the configuration, with what the command line says put in its place.

    Without a file, what the command line leaves out has its default. A simulated node takes none unless it is named.
    """
    simulated = words.device is not None and words.device.startswith(SIMULATED)
    if words.config is not None or (DEFAULT_CONFIG.exists() and not simulated):
        config = read_config(words.config or DEFAULT_CONFIG)
    else:
        config = AgentConfig(version=1, plan=PlanConfig(source="/etc/sliceplan/plan.json"))
    said: dict[str, Any] = {}
    if words.node is not None:
        said["node"] = words.node
    if words.state is not None:
        said["state_dir"] = words.state.absolute()
    if words.plan is not None:
        source = words.plan if "://" in words.plan else str(Path(words.plan).absolute())
        said["plan"] = config.plan.model_copy(update={"source": source})
    if words.device is not None:
        said |= _device(words.device)
    return config.model_copy(update=said)


def _device(name: str) -> dict[str, Any]:
    if name in REAL:
        return {"device": name, "simulated_node": None}
    if not name.startswith(SIMULATED) or name == SIMULATED:
        raise InputError([Finding("--device", "", f"is {name!r}; expected {', '.join(REAL)} or simulated:FILE")])
    return {"device": "simulated", "simulated_node": Path(name.removeprefix(SIMULATED)).absolute()}


@contextmanager
def stoppable(session: Session, *, ends_with_terminal: bool = False) -> Iterator[Session]:
    """
    Gives a session that stops after its current step when SIGTERM or SIGINT comes, and does not sleep on.

    Parameters
    ----------
    ends_with_terminal
        Whether SIGHUP, the end of the terminal, does the same; otherwise what was begun goes on to its end without it.
    """
    asked = threading.Event()
    told: list[str] = []

    def note(number: int, _frame: FrameType | None) -> None:
        asked.set()
        if not told:
            told.append(signal.Signals(number).name)
            # By another thread: this one may be in the middle of saying something, and a stream is not entered twice.
            words = f"{told[0]}: stopping after the step that is running."
            threading.Thread(target=session.say, args=(words,)).start()

    def wait(seconds: float) -> None:
        asked.wait(seconds)

    handlers = {
        signal.SIGTERM: note,
        signal.SIGINT: note,
        signal.SIGHUP: note if ends_with_terminal else signal.SIG_IGN,
    }
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield replace(session, stop_asked=asked.is_set, sleep=wait)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
