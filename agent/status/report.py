"""What `sliceplan-agent status` finds out, as plain data."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ...solver.model.errors import SliceplanError
from ..devices.device import Device
from ..devices.mps_daemons import RunningDaemon, running_daemons
from ..model.device_error import DeviceError
from ..model.device_key import cpu_index
from ..model.differences import differences
from ..model.live import LiveCpu, LiveNode, cpus_of, gpus_of
from ..model.node import service_id
from ..system.other_managers import Trace
from ..transition.applied import read_applied
from ..transition.journal import unfinished
from ..transition.state_folder import APPLIED, STATE, StateFolder
from ..trust.sequence import read_newest


@dataclass(frozen=True)
class Report:
    """The state of a node."""

    node: str
    driver: str | None
    """Version of the driver; None: unknown, or a simulated node."""
    live: LiveNode
    daemons: Sequence[RunningDaemon]
    """All MPS control daemons of the node."""
    unstarted: frozenset[str]
    """Services that no template says how to start."""
    owners: Sequence[Trace]
    applied: dict[str, Any] | None
    """What the agent's folder says was applied last."""
    doing: dict[str, Any] | None
    """What `sliceplan-agent run` does."""
    sequence: int | None
    """Number of the newest signed release that was applied."""
    unfinished: dict[str, Any] | None = None
    """Which way a transition goes that has not ended, and why it goes back; None: there is none."""
    drift: Sequence[str] | None = None
    """Where the node differs from what was applied; None: nothing was, or one of them cannot be read."""
    problems: Sequence[str] = field(default=())
    """What could not be found out, and why."""

    def as_data(self) -> dict[str, Any]:
        """Returns it for machines."""
        return {
            "version": 1,
            "node": self.node,
            "driver": self.driver,
            "gpus": [{"index": index, **asdict(gpu)} for index, gpu in sorted(gpus_of(self.live).items())],
            "cpus": [_cpu_data(cpu_index(str(key)), cpu) for key, cpu in cpus_of(self.live).items()],
            "mps_daemons": [asdict(one) for one in self.daemons],
            "not_started": sorted(self.unstarted),
            "owners": [asdict(one) for one in self.owners],
            "applied": self.applied,
            "doing": self.doing,
            "newest_sequence": self.sequence,
            "unfinished": self.unfinished,
            "differences": None if self.drift is None else list(self.drift),
            "problems": list(self.problems),
        }


def look(node: str, device: Device, state_folder: Path, owners: Sequence[Trace], driver: str | None) -> Report:
    """Finds out the state of a node; what cannot be found out is said, and hides nothing else."""
    problems: list[str] = []
    live: LiveNode = {}
    try:
        live = device.state()
    except (DeviceError, SliceplanError) as error:
        problems.append(str(error))
    sequence = None
    try:
        newest = read_newest(StateFolder(state_folder))
        sequence = newest.sequence if newest else None
    except SliceplanError as error:
        problems.append(str(error))
    open_one = None
    try:
        open_one = unfinished(StateFolder(state_folder))
    except SliceplanError as error:
        problems.append(str(error))
    drift = None
    try:
        applied = read_applied(StateFolder(state_folder))
        drift = differences(live, applied.state) if applied and live else None
    except SliceplanError as error:
        problems.append(str(error))
    return Report(
        node,
        driver,
        live,
        running_daemons(),
        frozenset(_unstarted(live)),
        owners,
        _json_file(StateFolder(state_folder), APPLIED, problems),
        _json_file(StateFolder(state_folder), STATE, problems),
        sequence,
        None if open_one is None else {"goes": open_one.goes, "reason": open_one.turned_back},
        drift,
        tuple(dict.fromkeys(problems)),
    )


def _unstarted(live: LiveNode) -> list[str]:
    of_gpus = [(index, one) for index, gpu in gpus_of(live).items() for one in gpu.services]
    on_cores = [one for cpu in cpus_of(live).values() for one in cpu.services]
    return [
        *(service_id(index, one.service) for index, one in of_gpus if not one.pids and one.healthy is not False),
        *(one.name for one in on_cores if not one.pids and one.healthy is not False),
    ]


def _cpu_data(index: int, cpu: LiveCpu) -> dict[str, Any]:
    """Returns a CPU without the list of its cores, which `lscpu` has."""
    return {"index": index, "cores": len(cpu.cores), "services": [asdict(one) for one in cpu.services]}


def _json_file(folder: StateFolder, name: str, problems: list[str]) -> dict[str, Any] | None:
    """Returns the content of a file of the agent; None: there is none, or it cannot be read."""
    try:
        content = folder.read(name)
        data = None if content is None else json.loads(content)
    except SliceplanError as error:
        problems.append(str(error))
        return None
    except ValueError as error:
        problems.append(f"{folder.path / name}: cannot be read: {error}")
        return None
    return data if isinstance(data, dict) else None
