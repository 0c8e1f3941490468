"""Plans and comparisons as text for a terminal of 80 columns or more."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.console import Group
from rich.table import Table
from rich.text import Text

from ..model.catalogue import load_catalogue, load_cpus
from ..model.cpu import Cpu
from ..model.fit_error import FitError
from ..model.hardware import Fact, Gpu
from ..model.judged import judged
from ..model.objective import COST
from ..model.plan import Partition, Plan, PlannedGpu, Prices
from ..model.price_book import PriceBook
from ..model.price_report import PriceReport
from ..model.profile import Profile
from ..model.stop_reason import StopReason
from ..model.words import boards_in_cell, boards_in_words, short_status
from ..wording.reasons import reasons
from ..wording.rounds import orders_in_words
from ..wording.summary import missed_slos
from .core_drawing import draw_cpu

if TYPE_CHECKING:
    from ..comparison.rows import Comparison
    from ..performance.interference.fitting import Residual

PALETTE = ("blue", "dark_orange", "green4", "magenta", "cyan4", "red3", "gold3", "purple", "sea_green3", "grey50")
AXIS_WIDTH = 72
"""Characters for the placement axis of one GPU: divisible by 4, 8 and 12 placement units."""


def draw_plan(plan: Plan, most: int | None = None) -> Group:
    """Draws the GPUs of a plan; `most`: draw only so many, and say how many are left out."""
    colours = _colours(plan)
    shown = plan.gpus if most is None else plan.gpus[:most]
    parts: list[Text | Table] = []
    for gpu in shown:
        parts += [*(_draw_cpu if gpu.sharing == "cores" else _draw_gpu)(gpu, colours), Text()]
    if len(shown) < len(plan.gpus):
        parts.append(Text(f"… and {boards_in_words(plan.gpus[len(shown) :])} more", style="dim"))
    parts += [Text(line) for line in reasons(plan)]
    return Group(*parts)


def compare_table(comparison: "Comparison") -> Table:
    """Returns one row a planner: cost, GPUs, what its objective and BDA say, gap to the bound, slack, time."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("planner", overflow="fold", min_width=12)  # the one column that gives way on a narrow terminal
    objective = comparison.objective
    own = () if objective == COST else ("capacity",)
    gained = ("by BDA",) if comparison.is_adjusted else ()
    free = () if gained else ("frag.",)  # BDA leaves nothing of a GPU free that is of use
    for column in ("cost/h", "GPUs", *own, *gained, "gap", "slack", *free, "time"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("status", no_wrap=True)
    for plan in comparison.rows:
        if not isinstance(plan, Plan):
            table.add_row(
                plan.planner, *["-"] * (4 + len(own) + len(gained) + len(free)), f"{plan.runtime_s:.3f} s", "failed"
            )
            continue
        has_plan = plan.cost_per_hour is not None
        value = judged(plan).value
        table.add_row(
            plan.planner,
            f"${plan.cost_per_hour:,.2f}" if has_plan else "-",
            boards_in_cell(plan.gpus) if has_plan else "-",
            *("-" if value is None else objective.figure(value) for _ in own),
            *(_gain(plan) for _ in gained),
            _percent(comparison.gap_to_bound(plan)),
            _percent(plan.metrics.internal_slack if plan.metrics else None),
            *(_percent(plan.metrics.external_fragmentation if plan.metrics else None) for _ in free),
            f"{plan.runtime_s:.3f} s",
            "disputed" if plan.planner in comparison.disputes else _status(plan),
        )
    return table


def _gain(plan: Plan) -> str:
    """Returns how much more its shares under MPS could carry by BDA."""
    gain = None if plan.batch_adjustment is None else plan.batch_adjustment.gain
    return "-" if gain is None else f"+{gain:.1%}"


def _status(plan: Plan) -> str:
    """Returns how the search ended; of a violating plan how many services miss their SLO, and by how much at most."""
    missed = missed_slos(plan)
    if plan.search.stopped == StopReason.INTERRUPTED:
        return "interrupted"
    return f"{len(missed)} miss, +{max(missed.values()):.0%}" if missed else short_status(plan.status)


def gpu_table(gpus: Iterable[Gpu], book: PriceBook) -> Table:
    """Returns the catalogue, one row a GPU type, with the prices of a price book."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("GPU", no_wrap=True)
    for column in ("SMs", "memory", "$/h"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("MIG profiles (~ unconfirmed)")
    for gpu in gpus:
        price = book.price(gpu.name)
        profiles = [("~" if p.unverified else "") + p.name for p in gpu.mig.profiles] if gpu.mig else ["no MIG"]
        table.add_row(
            gpu.name,
            f"{gpu.sm_count.value:g}" + ("" if gpu.sm_count.verified else "~"),
            f"{gpu.memory_gib.value:g} GiB",
            f"{price.usd_per_gpu_hour:.2f}" + ("" if price.verified else "~") if price else "-",
            " ".join(profiles),
        )
    return table


def cpu_table(cpus: Iterable[Cpu], book: PriceBook) -> Table:
    """Returns the CPUs of the catalogue, one row a type, with the prices of a price book."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("CPU", no_wrap=True)
    for column in ("cores", "SMT", "L3", "NUMA", "GiB", "$/h"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("architecture (~ unconfirmed)")
    for cpu in cpus:
        price = book.price(cpu.name)
        table.add_row(
            cpu.name,
            _known(cpu.cores),
            _known(cpu.threads_per_core),
            f"{cpu.core_count // cpu.domain_cores} x {_known(cpu.l3_domain_cores)}",
            _known(cpu.numa_nodes),
            _known(cpu.memory_gib) if cpu.memory_gib else "-",
            f"{price.usd_per_gpu_hour:.2f}" + ("" if price.verified else "~") if price else "-",
            cpu.architecture,
        )
    return table


def _known(fact: Fact) -> str:
    return f"{fact.value:g}" + ("" if fact.verified else "~")


def price_book_table(books: Iterable[PriceBook]) -> Table:
    """Returns one row a price book: whose prices, of which dates, of how many GPU types."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("price book", "prices of", "read", "types"):
        table.add_column(column, no_wrap=column == "price book", justify="right" if column == "types" else "left")
    for book in books:
        table.add_row(book.name, book.what, book.dates, str(len(book.prices)))
    return table


def profile_table(profiles: Iterable[Profile]) -> Table:
    """Returns what profiles there are, for which kinds of sharing, and how good they are."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("model", "GPU", "for", "kind"):
        table.add_column(column, no_wrap=True)
    for column in ("points", "error p95", "max"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("odd points", justify="right")
    for profile in profiles:
        error = profile.error or _error_alone(profile)
        table.add_row(
            profile.model,
            profile.gpu,
            " ".join(sharing for sharing, known in _known_for(profile) if known),
            profile.quality,
            str(error.points if error else len(profile.points)),
            f"{error.p95:.1%}" if error else "-",
            f"{error.max:.1%}" if error else "-",
            str(len(profile.odd_points)) if profile.curves else "-",
        )
    return table


def _known_for(profile: Profile) -> list[tuple[str, bool]]:
    mps = profile.interference is not None
    return [
        ("mig", bool(profile.mig_points or profile.curves)),
        ("mps", mps),
        ("solo", bool(profile.share_points)),
        ("cores", bool(profile.core_points)),
    ]


def _error_alone(profile: Profile) -> FitError | None:
    """Returns the error of the fitted time alone on a share of the GPU, where that was measured."""
    known = profile.interference
    return known.errors.get("active ms") if known is not None and known.estimated_from is None else None


def price_table(prices: Prices) -> Table:
    """Returns the price of each partition size, and of the scarcity of its GPU type."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("GPU", no_wrap=True)
    table.add_column("partition", no_wrap=True)
    table.add_column("$/h", justify="right", no_wrap=True)
    table.add_column("scarcity of the GPU, $/h", justify="right", no_wrap=True)
    for size in prices.sizes:
        rent = prices.rents.get(size.gpu, 0.0)
        table.add_row(size.gpu, size.mig_profile or "whole", f"{size.usd_per_hour:.4f}", f"{rent:.2f}" if rent else "-")
    for gpu, usd_per_hour in prices.shared.items():
        rent = prices.rents.get(gpu, 0.0)
        table.add_row(gpu, "all, under MPS", f"{usd_per_hour:.4f}", f"{rent:.2f}" if rent else "-")
    return table


def service_table(report: PriceReport, most: int) -> Table:
    """Returns what the dearest services cost, and what changes of them would."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("service", no_wrap=True, overflow="ellipsis", max_width=24)
    for column in ("$/h", "$/M requests", "+10% rate", "-10% SLO", "to move"):
        table.add_column(column, justify="right", no_wrap=True)
    dearest = sorted(report.services, key=lambda service: -service.usd_per_hour)
    for service in dearest[:most]:
        table.add_row(
            service.workload,
            f"{service.usd_per_hour:.3f}",
            _money(service.usd_per_million_requests),
            _added(service.rate_up_usd_per_hour),
            _added(service.slo_down_usd_per_hour),
            "-" if service.move_usd_per_hour is None else f"+{service.move_usd_per_hour:.3f}",
        )
    if len(dearest) > most:
        table.add_row(f"… {len(dearest) - most:,} more", "", "", "", "", "")
    return table


def _money(usd: float) -> str:
    """Returns an amount; of a service that is hardly ever asked, a power of ten."""
    return f"{usd:.3f}" if usd < 1e7 else f"{usd:.1e}"


def _added(usd_per_hour: float | None) -> str:
    return "impossible" if usd_per_hour is None else f"{usd_per_hour:+.3f}"


def residual_table(rows: Iterable[tuple[str, "Residual"]]) -> Table:
    """Returns one row for each measured point and what a fit says of it."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("of", "quantity"):
        table.add_column(column, no_wrap=True)
    for column in ("batch", "share", "copies", "measured", "fitted", "error"):
        table.add_column(column, justify="right", no_wrap=True)
    for name, residual in rows:
        table.add_row(
            name,
            residual.quantity,
            "-" if residual.batch is None else str(residual.batch),
            "-" if residual.sm_percent is None else f"{residual.sm_percent:g} %",
            str(residual.copies),
            f"{residual.measured:.5g}",
            f"{residual.fitted:.5g}",
            f"{residual.relative:+.1%}",
        )
    return table


def _draw_cpu(gpu: PlannedGpu, colours: dict[str, str]) -> list[Text]:
    """A heading, and its cores by L3 domain."""
    cpu = load_cpus()[gpu.gpu]
    where = f"  {gpu.node}, CPU {gpu.index}" if gpu.node else ""
    domains = cpu.core_count // cpu.domain_cores
    cores = f"  {cpu.core_count} cores in {domains} L3 domain{'s' if domains > 1 else ''}"
    heading = Text.assemble((gpu.id, "bold"), (f"{where}{cores}", "dim"))
    return [heading, *draw_cpu(gpu, _content, lambda name: _colour(colours, name))]


def _draw_gpu(gpu: PlannedGpu, colours: dict[str, str]) -> list[Text]:
    """Three lines: profile and start, workload, operating point and load, each as wide as its slices."""
    where = f"  {gpu.node}, GPU {gpu.index}" if gpu.node else ""
    order = orders_in_words(gpu)
    heading = Text.assemble((gpu.id, "bold"), (where, "dim"))
    facts = load_catalogue().get(gpu.gpu)
    mig = facts.mig if facts else None
    lines = [Text("  "), Text("  "), Text("  ")]
    if mig is None or gpu.sharing != "mig":
        heading.append(f"  {'MPS' if gpu.sharing == 'mps' else 'whole GPU'}{order}", style="dim")
        _append_shares(lines, gpu, colours)
        return [heading, *lines]
    heading.append(f"  MIG{order}" if order else "", style="dim")
    unit = AXIS_WIDTH // mig.placement_units
    at = 0
    for partition in sorted(gpu.partitions, key=lambda partition: partition.start or 0):
        profile = mig.profile(partition.mig_profile or "")
        start, size = partition.start or 0, profile.memory_slices if profile else 1
        _append_free(lines, (start - at) * unit)
        name, point = _content(partition)
        for line, text in zip(lines, (f"{partition.mig_profile}", name, point), strict=True):
            line.append("▌", style=_colour(colours, name))
            line.append(_cell(text, size * unit - 1), style=_colour(colours, name))
        at = start + size
    _append_free(lines, (mig.placement_units - at) * unit)
    return [heading, *lines]


def _content(partition: Partition) -> tuple[str, str]:
    """Returns what a partition serves, and at which operating point and load."""
    if not partition.serves:
        return "spare", "kept free"
    if partition.duty_cycle_ms is not None:
        return _round(partition, partition.duty_cycle_ms)
    (served, *_) = partition.serves
    processes = f"x{served.processes}" if partition.sm_percent is None else ""
    return served.workload, f"b{served.batch}{processes} {served.rate_rps / served.capacity_rps:.0%}"


def _round(partition: Partition, round_ms: float) -> tuple[str, str]:
    """Returns who takes turns on a partition, and round and batches."""
    batches = " ".join(f"b{served.batch}" for served in partition.serves)
    return ", ".join(served.workload for served in partition.serves), f"{batches} in {round_ms:.4g} ms"


def _append_shares(lines: list[Text], gpu: PlannedGpu, colours: dict[str, str]) -> None:
    """Shares to scale, or shrunk where they are more than the GPU; a whole GPU is one share of all of it."""
    shares = [(partition.sm_percent or 100.0, *_content(partition)) for partition in gpu.partitions]
    scale = AXIS_WIDTH / max(100.0, sum(percent for percent, _, _ in shares))
    at = 0
    for percent, name, point in shares:
        width = max(round(percent * scale), 2)
        for line, text in zip(lines, (f"{percent:g} %", name, point), strict=True):
            line.append("▌", style=_colour(colours, name))
            line.append(_cell(text, width - 1), style=_colour(colours, name))
        at += width
    _append_free(lines, AXIS_WIDTH - at)


def _append_free(lines: list[Text], width: int) -> None:
    if width > 0:
        lines[0].append(_cell("·" * (width - 1), width), style="dim")
        lines[1].append(_cell("free" if width > 4 else "", width), style="dim")
        lines[2].append(_cell("·" * (width - 1), width), style="dim")


def _cell(text: str, width: int) -> str:
    """Returns a text in so many columns, of which a letter of Chinese takes two."""
    cut = text if cell_len(text) <= width else f"{set_cell_size(text, max(width - 1, 0))}…"
    return set_cell_size(cut, width)


def _colour(colours: dict[str, str], names: str) -> str:
    """Returns the colour of a partition's service, of the first where several take turns."""
    return next((colour for name, colour in colours.items() if names == name or names.startswith(f"{name}, ")), "dim")


def _colours(plan: Plan) -> dict[str, str]:
    names = dict.fromkeys(s.workload for gpu in plan.gpus for part in gpu.partitions for s in part.serves)
    return {name: PALETTE[i % len(PALETTE)] for i, name in enumerate(names)}


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"
