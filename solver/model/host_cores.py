"""
Which logical CPUs of a host are the cores of a plan, from `lscpu -p`.

    # CPU,Core,Socket,Node,,L1d,L1i,L2,L3
    0,0,0,0,,0,0,0,0

The columns are named in the last line of the comment; newer releases join the caches by colons. A plan counts the
cores of one socket from 0 on, L3 domain by L3 domain within each NUMA node (solver/model/cpu.py). Kernels number
otherwise: the second threads of all cores last, sockets in turns, NUMA nodes as the firmware is set. So nothing is
assumed: where a host does not look like the CPU type of the catalogue it is refused with the figures of both.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from .cpu import Cpu
from .errors import Finding, InputError
from .parsing import read_text

COMMAND = "lscpu -p"
NEEDED = ("cpu", "core", "socket", "node")
MOST = 65_536
"""Greatest number of a CPU, core, socket, node or cache that is taken for one."""


@dataclass(frozen=True)
class HostCore:
    """A physical core of a host."""

    socket: int
    node: int
    """NUMA node."""
    l3: int | None
    """L3 cache; None: the host shows none."""
    cpus: tuple[int, ...]
    """Its logical CPUs, ascending."""


HostCores = tuple[HostCore, ...]
"""All cores of a host."""


def read_host_cores(path: Path) -> HostCores:
    """Returns the cores of a host from a file with the output of `lscpu -p`; raises InputError if it is none."""
    return parse_host_cores(read_text(path), str(path))


def parse_host_cores(text: str, source: str) -> HostCores:
    """Returns what `read_host_cores` does, of a text from somewhere else; `source` names it in findings."""
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    headers = [line.lstrip("# ").lower() for _, line in lines if line.startswith("#")]
    columns = re.split("[,:]", headers[-1]) if headers else []
    if missing := [name for name in NEEDED if name not in columns]:
        message = f"has no column {missing[0].upper()}; expected the output of `{COMMAND}`, its comment included"
        raise InputError([Finding(source, "", message)])
    found: dict[tuple[int, int], tuple[int, int | None, list[int]]] = {}
    for number, line in lines:
        if line.startswith("#"):
            continue
        cells = dict(zip(columns, re.split("[,:]", line), strict=False))
        cpu, core, socket, node = (_whole(cells.get(name, ""), source, number, name) for name in NEEDED)
        l3 = _whole(cells["l3"], source, number, "l3") if cells.get("l3") else None
        before = found.setdefault((socket, core), (node, l3, []))
        if before[:2] != (node, l3) or any(cpu in cpus for _, _, cpus in found.values()):
            message = f"has CPU {cpu} twice, or a core of two nodes or caches; expected the output of `{COMMAND}`"
            raise InputError([Finding(source, f"line {number}", message)])
        before[2].append(cpu)
    if not found:
        raise InputError([Finding(source, "", f"lists no CPU; expected the output of `{COMMAND}`")])
    return tuple(HostCore(socket, node, l3, tuple(sorted(cpus))) for (socket, _), (node, l3, cpus) in found.items())


def _whole(cell: str, source: str, number: int, name: str) -> int:
    if not (cell.isascii() and cell.isdigit() and len(cell) < 6 and int(cell) < MOST):
        message = f"has {name.upper()} {cell[:20]!r}; expected a whole number below {MOST:,}"
        raise InputError([Finding(source, f"line {number}", message)])
    return int(cell)


def cores_of_socket(host: HostCores, index: int, cpu: Cpu, source: str) -> HostCores:
    """
    Returns the cores of one socket in the order in which a plan counts them.

    Parameters
    ----------
    index
        Of the socket among those of the host, by their numbers.
    cpu
        What the plan says that the socket is.

    Raises
    ------
    InputError
        If there is no such socket, or it does not look like the CPU type; everything that differs at once.
    """
    sockets = sockets_of(host)
    if index >= len(sockets):
        message = f"is not there: the host shows {len(sockets)}; the plan uses its CPU {index}, a {cpu.name}"
        raise InputError([Finding(source, f"socket {index}", message)])
    cores = sockets[index]
    if differing := [Finding(source, f"socket {cores[0].socket}", text) for text in unlike(cores, cpu)]:
        raise InputError(differing)
    return cores


def sockets_of(host: HostCores) -> tuple[HostCores, ...]:
    """Returns the cores of each socket, in the order in which a plan counts sockets and the cores of one."""
    ordered = sorted(host, key=lambda core: (core.socket, core.node, -1 if core.l3 is None else core.l3, core.cpus))
    return tuple(tuple(of_one) for _, of_one in groupby(ordered, key=lambda core: core.socket))


def unlike(cores: HostCores, cpu: Cpu) -> Iterator[str]:
    """Yields in what a socket, its cores in a plan's order, differs from a CPU type; what, and what would be right."""
    threads = Counter(len(core.cpus) for core in cores)
    nodes = [len(list(of_node)) for _, of_node in groupby(cores, key=lambda core: core.node)]
    # With Intel's sub-NUMA clusters the kernel shows one L3 cache for the socket; each node has its slices of it.
    domains = Counter(None if core.l3 is None else (core.node, core.l3) for core in cores)
    if len(cores) != cpu.core_count:
        yield f"has {len(cores)} cores; {cpu.name} has {cpu.core_count}"
    elif set(threads) != {int(cpu.threads_per_core.value)}:
        shown = " or ".join(map(str, sorted(threads)))
        yield f"has {shown} threads a core; {cpu.name} is planned with {cpu.threads_per_core.value:g} (SMT on or off?)"
    elif nodes != [cpu.node_cores] * cpu.node_count:
        shown = f"{len(nodes)} NUMA node(s) of {', '.join(map(str, sorted(set(nodes))))} cores"
        yield f"has {shown}; {cpu.name} is planned with {cpu.node_count} of {cpu.node_cores} (NPS or SNC in the BIOS)"
    elif None in domains and cpu.domain_cores != cpu.node_cores:
        yield f"shows no L3 cache (column L3); {cpu.name} has one for each {cpu.domain_cores} cores"
    elif None not in domains and set(domains.values()) != {cpu.domain_cores}:
        shown = ", ".join(map(str, sorted(set(domains.values()))))
        yield f"has L3 caches of {shown} cores; those of {cpu.name} have {cpu.domain_cores}"


def cpu_list(cpus: Iterable[int]) -> str:
    """Returns numbers as Linux writes lists of CPUs and nodes, ascending: `0-3,96-99`."""
    ordered = sorted(set(cpus))
    runs: list[list[int]] = []
    for cpu in ordered:
        if runs and runs[-1][-1] == cpu - 1:
            runs[-1][1:] = [cpu]
        else:
            runs.append([cpu])
    return ",".join("-".join(map(str, run)) for run in runs)


def cpus_in(text: str) -> frozenset[int]:
    """Returns the numbers of a list that `cpu_list` wrote."""
    ends = [[int(end) for end in run.split("-")] for run in text.split(",") if run]
    return frozenset(cpu for run in ends for cpu in range(run[0], run[-1] + 1))
