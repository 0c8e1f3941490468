"""A transition as text for a terminal of 80 columns or more: what matters first, then the steps in waves."""

from collections.abc import Iterator

from rich.console import Group
from rich.text import Text

from ..model.catalogue import load_cpus
from ..model.replan_report import ReplanReport
from ..model.sharing import cores_in_words
from ..model.transition import Shortfall, Transition, TransitionStep
from ..model.words import counted

SIGNS = {
    "create": "+",
    "start": "+",
    "destroy": "-",
    "stop": "-",
    "drain": "~",
    "redirect": "~",
    "repin": "~",
    "change_mode": "!",
}
COLOURS = {"+": "green", "-": "red", "~": "yellow", "!": "bold red"}
MOST_NAMES = 8


def draw_transition(transition: Transition, most: int | None = None) -> Group:
    """Returns the summary and the steps; `most`: only so many steps."""
    return Group(*_summary(transition), Text(), *_steps(transition, most))


def summary(transition: Transition) -> list[str]:
    """Returns what matters of a transition, the worst first, a sentence or two each."""
    return [line.plain for line in _summary(transition)]


def moves_in_words(report: ReplanReport) -> str:
    """Returns which services a plan moves, and what is proven about cost and moves together."""
    moved = "No service is moved"
    if report.moved:
        moved = f"{counted(len(report.moved), 'service')} moved: {few_names(report.moved)}"
    if report.must_move == report.moved != ():
        moved += " (no plan leaves any of them)"
    elif report.must_move:
        moved += f" (no plan leaves {few_names(report.must_move)})"
    limit = "" if report.most_moves is None else f" with at most {counted(report.most_moves, 'move')}"
    if report.proven and report.move_price_per_hour:
        return f"{moved}; proven: no plan has a lower sum of cost and moves{limit}, ${report.total_per_hour:,.2f}/h."
    if report.proven:
        return f"{moved}; proven: no plan{limit} is cheaper."
    if report.least_total_per_hour is None:
        return f"{moved}; nothing is proven{limit}, allow more time."
    return f"{moved}; proven: cost and moves{limit} are not below ${report.least_total_per_hour:,.2f}/h."


def duration(seconds: float) -> str:
    """Returns a time as a person says it: 46 s, 3 min 20 s, 1 h 2 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 else "")
    return f"{whole // 3600} h" + (f" {whole % 3600 // 60} min" if whole % 3600 // 60 else "")


def summary_in_words(transition: Transition) -> Iterator[str]:
    """Yields sentences on what changes, who is disturbed, whether rates are kept, and how long it takes."""
    if not transition.steps:
        yield f"Nothing to do: all {counted(transition.kept, 'partition')} stay as they are."
        return
    yield (
        f"{counted(transition.kept, 'partition')} not touched, {transition.moved} moved or stopped, "
        f"{transition.temporary} temporary; {counted(transition.created, 'MIG instance')} created, "
        f"{transition.destroyed} destroyed."
    )
    if transition.repinned:
        yield f"{counted(transition.repinned, 'partition')} of CPUs given other cores while running."
    disturbed = transition.disturbed
    if disturbed.services:
        proof = ""
        if disturbed.proven:
            proof = ", proven fewest"
        elif disturbed.fewest is not None:
            proof = f", proven: not below {disturbed.fewest}"
        names = few_names(disturbed.services)
        yield f"{counted(len(disturbed.services), 'service')} disturbed{proof}: {names}."
    else:
        yield "No service is disturbed."
    yield from rates_in_words(transition)
    cpus = sum(gpu.gpu in load_cpus() for gpu in transition.gpus)
    many = counted(transition.peak_gpus, "CPU" if cpus == len(transition.gpus) else "GPU")
    if 0 < cpus < len(transition.gpus):
        many = f"{transition.peak_gpus:,} of the GPUs and CPUs"
    yield f"About {duration(transition.estimated_s)}, on at most {many} at once."


def rates_in_words(transition: Transition) -> Iterator[str]:
    """Yields who is promised to keep its rate on the way, and who is not."""
    if not transition.shortfalls:
        every = "Every other service" if transition.by_set else "Every service"
        yield f"{every} keeps the lower of its two rates at every moment."
    if transition.by_set:
        yield f"Not promised: {by_set_in_words(transition)}."


def by_set_in_words(transition: Transition, names: str | None = None) -> str:
    """Returns of whom nothing is promised on the way, and why; `names`: what stands for theirs."""
    names = names or few_names(transition.by_set)
    keep = "keeps its rate" if len(transition.by_set) == 1 else "keep their rates"
    return f"that {names} {keep} while partitions come or go; the router deals by state"


def shortfall_in_words(short: Shortfall, name: str | None = None) -> str:
    """Returns who lacks how much, when, and how many requests that loses; `name`: what stands for its."""
    missing = f"{name or short.workload} lacks up to {short.missing_rps:,.0f} of {short.required_rps:,.0f} req/s"
    if short.from_s is None or short.until_s is None:
        return f"{missing} if steps take other times than estimated"
    return f"{missing} from {duration(short.from_s)} to {duration(short.until_s)}: {short.lost_requests:,.0f} requests"


def _summary(transition: Transition) -> Iterator[Text]:
    if transition.mode_changes:
        names = few_names([step.gpu for step in transition.steps if step.kind == "change_mode"])
        resets = f", {transition.resets} of them by a reset" if transition.resets else ""
        yield Text(f"! {counted(transition.mode_changes, 'mode change')}{resets}: {names}", style="bold red")
    for short in transition.shortfalls:
        yield Text(f"! {shortfall_in_words(short)}", style="bold red")
    yield from map(Text, summary_in_words(transition))


def _steps(transition: Transition, most: int | None) -> Iterator[Text]:
    order = sorted(transition.steps, key=lambda step: (step.starts_s, step.gpu, step.id))
    shown = order if most is None else order[:most]
    now: float | None = None
    for step in shown:
        if now != step.starts_s:
            now = step.starts_s
            yield Text(f"after {duration(now)}" if now else "at once", style="bold")
        sign = SIGNS[step.kind]
        yield Text(f"  {sign} ", style=COLOURS[sign]).append(Text(step_in_words(step), style="default"))
    if len(shown) < len(order):
        yield Text(f"… and {len(order) - len(shown)} more steps (--most, --json)", style="dim")


def step_in_words(step: TransitionStep) -> str:
    """Returns what a step does, and where."""
    if step.kind == "change_mode":
        how = " (GPU reset)" if step.needs_reset else ""
        return f"{step.gpu}: change mode to {step.mode}{how}"
    place = "whole GPU"
    if step.mig_profile is not None:
        place = f"{step.mig_profile} at {step.start}"
    elif step.sm_percent is not None:
        place = f"{step.sm_percent:g} %"
    elif step.cores is not None:
        place = f"{cores_in_words(step.cores)} from {step.start} on"
    what = f"{step.kind} {', '.join(step.workloads)}".rstrip()
    if step.kind == "repin":
        what = f"move {', '.join(step.workloads)} here from {step.from_start} on, while it runs"
    if step.kind == "redirect":
        gains = min((step.capacity_rps or {"": 0.0}).values()) > 0
        what = f"send requests {'to' if gains else 'away from'} {', '.join(step.workloads)}"
    temporary = " (temporary)" if step.temporary else ""
    return f"{step.gpu} {place}: {what}{temporary}"


def few_names(names: list[str] | tuple[str, ...]) -> str:
    """Returns the names, each once, and of many only the first."""
    unique = list(dict.fromkeys(names))
    more = f" and {len(unique) - MOST_NAMES} more" if len(unique) > MOST_NAMES else ""
    return ", ".join(unique[:MOST_NAMES]) + more
