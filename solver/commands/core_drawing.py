"""CPUs of a plan as text: a letter a core, by L3 domain, and what each kind of partition serves."""

from collections.abc import Callable, Iterator
from string import ascii_uppercase
from typing import TypeVar

from rich.text import Text

from ..model.catalogue import load_cpus
from ..model.plan import Partition, PlannedGpu

WIDTH = 72
"""Characters for cores and the spaces between L3 domains."""

FREE = "·"

Item = TypeVar("Item")

Content = Callable[[Partition], tuple[str, str]]
"""Who is served by a partition, and at which operating point and load."""


def draw_cpu(cpu: PlannedGpu, content: Content, colour: Callable[[str], str]) -> list[Text]:
    """
    Returns the cores of a CPU in their order, domains apart, and a line for each kind of partition.

    The first core of a partition has the capital letter of its kind, the others the small one.
    """
    facts = load_cpus()[cpu.gpu]
    kinds = {kind: i for i, kind in enumerate(dict.fromkeys(_kind(one, content) for one in cpu.partitions))}
    cells: list[tuple[str, str]] = [(FREE, "dim")] * facts.core_count
    times = [0] * len(kinds)
    for partition in cpu.partitions:
        kind, start = _kind(partition, content), partition.start or 0
        times[kinds[kind]] += 1
        letter = ascii_uppercase[kinds[kind] % len(ascii_uppercase)]
        for core in range(start, min(start + (partition.cores or 0), facts.core_count)):
            cells[core] = (letter if core == start else letter.lower(), colour(kind[1]))
    domains = [cells[at : at + facts.domain_cores] for at in range(0, facts.core_count, facts.domain_cores)]
    lines = list(_lines(domains))
    for (size, name, point), i in kinds.items():
        number = f"{times[i]} x " if times[i] > 1 else ""
        lines.append(
            Text.assemble(f"  {ascii_uppercase[i % 26]}  ", (f"{number}{size}  {name}", colour(name)), f"  {point}")
        )
    return lines


def _kind(partition: Partition, content: Content) -> tuple[str, str, str]:
    return (partition.kind or "", *content(partition))


def _lines(domains: list[list[tuple[str, str]]]) -> Iterator[Text]:
    """Yields as many whole domains a line as fit; a domain that is longer takes several lines."""
    a_line = max(WIDTH // (len(domains[0]) + 1), 1)
    for some in _parts(domains, a_line):
        cells = [cell for domain in some for cell in (*domain, (" ", ""))]
        for part in _parts(cells, WIDTH):
            yield Text.assemble("  ", *part)


def _parts(items: list[Item], size: int) -> Iterator[list[Item]]:
    yield from (items[at : at + size] for at in range(0, len(items), size))
