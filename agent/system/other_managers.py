"""
Who else changes the GPUs or gives out the cores of this node.

Two owners undo each other's work: mig-manager brings a GPU back to its node's label, the DRA driver's dynamic MIG
removes instances that it did not make. So the agent looks for their traces before it changes anything, and stops if it
finds one that its configuration does not name with a reason.

Sources of the traces: NVIDIA/mig-parted (deployments/systemd, deployments/gpu-operator), NVIDIA/gpu-operator
(validator), NVIDIA/k8s-dra-driver-gpu (cmd/gpu-kubelet-plugin), nebuly-ai/nos (cmd), openshift/instaslice-operator
(cmd).
"""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from . import processes

Owner = Literal["mig-manager", "gpu-operator", "dra-driver", "nos", "instaslice", "vgpu-guest", "kubelet-cpus"]

OWNERS: tuple[Owner, ...] = get_args(Owner)


@dataclass(frozen=True)
class Trace:
    """A sign of another owner."""

    owner: Owner
    evidence: str

    def __str__(self) -> str:
        return f"{self.owner}: {self.evidence}"


PROGRAMS: dict[str, Owner] = {
    "nvidia-mig-manager": "mig-manager",
    "nvidia-mig-parted": "mig-manager",
    "gpu-operator": "gpu-operator",
    "gpu-kubelet-plugin": "dra-driver",
    "migagent": "nos",
    "gpuagent": "nos",
    "instaslice-daemonset": "instaslice",
    "das-daemonset": "instaslice",
    "nvidia-gridd": "vgpu-guest",
}
"""Program -> whose it is."""

FILES: dict[str, Owner] = {
    "etc/systemd/system/multi-user.target.wants/nvidia-mig-manager.service": "mig-manager",
    "var/lib/kubelet/plugins/gpu.nvidia.com/dra.sock": "dra-driver",
    "run/nvidia/validations/driver-ready": "gpu-operator",
}
"""File below the root of the node -> whose it is."""

LABELS: dict[str, Owner] = {
    "nvidia.com/mig.config": "mig-manager",
    "nvidia.com/gpu.deploy.mig-manager=true": "mig-manager",
    "nos.nebuly.com/gpu-partitioning": "nos",
}
"""Beginning of a node label -> whose it is."""

KUBELET_CPUS = "var/lib/kubelet/cpu_manager_state"

LABEL_FOLDER = "etc/kubernetes/node-feature-discovery/features.d"
"""Where labels of this node are given as files; those that only the API server has cannot be seen from here."""


def find_other_managers(root: Path = Path("/"), labels: Collection[str] = ()) -> list[Trace]:
    """
    Returns the traces of other owners, in a fixed order.

    Parameters
    ----------
    root
        Root of the node's files; another one where the agent runs in a container.
    labels
        Labels of the node as KEY=VALUE, if somebody knows them.
    """
    traces = [*_programs(), *_files(root), *_labels([*labels, *_label_files(root)])]
    return sorted(dict.fromkeys(traces), key=lambda trace: (OWNERS.index(trace.owner), trace.evidence))


def cpu_managers(root: Path = Path("/")) -> list[Trace]:
    """
    Returns the traces of others who give cores of this node to processes.

    The kubelet's CPU manager does so under its static policy, of which its checkpoint tells (kubernetes/kubernetes,
    pkg/kubelet/cm/cpumanager/state: `policyName`).
    """
    file = root / KUBELET_CPUS
    try:
        policy = json.loads(file.read_bytes())["policyName"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [Trace("kubelet-cpus", f"its CPU manager is static, by /{KUBELET_CPUS}")] if policy == "static" else []


def refusing(traces: Collection[Trace], ignored: Collection[str]) -> list[str]:
    """Returns, in words, the owners beside whom the agent must not work."""
    left = [trace for trace in traces if trace.owner not in ignored]
    return [f"{trace}; stop it, or name it in `ignore_owners` with a reason" for trace in left]


def _programs() -> Iterator[Trace]:
    for pid in processes.pids():
        words = processes.arguments(pid)
        # An interpreter's first argument may be the program.
        names = {Path(word).name for word in words[:2]}
        for name in names & PROGRAMS.keys():
            yield Trace(PROGRAMS[name], f"its program {name} runs (pid {pid})")


def _files(root: Path) -> Iterator[Trace]:
    for name, owner in FILES.items():
        path = root / name
        # A link of systemd may lead nowhere from within a container, and is a sign all the same.
        if path.is_symlink() or path.exists():
            yield Trace(owner, f"its file /{name} is there")


def _labels(labels: Collection[str]) -> Iterator[Trace]:
    for label in labels:
        for beginning, owner in LABELS.items():
            if label.startswith(beginning):
                yield Trace(owner, f"the node has the label {label.strip()[:80]}")


def _label_files(root: Path) -> Iterator[str]:
    folder = root / LABEL_FOLDER
    try:
        for path in sorted(folder.iterdir()):
            yield from path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return
