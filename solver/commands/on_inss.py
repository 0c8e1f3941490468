"""The commands for models that share given GPUs as InSS has it: what schedulers carry, and training the learned one."""

from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..model.errors import Finding, InputError
from .exit_codes import Exit
from .output import display, is_stdout, say, write_json
from .searching import searching

if TYPE_CHECKING:
    from ..inss.learning.environment import Setting
    from ..inss.learning.training import Evaluated, Training
    from ..inss.schedulers.scheduler import Scheduler
    from ..model.inss_problem import InssProblem
    from ..model.inss_report import InssCarried, InssEpisode, InssReport

MOST_TASKS, MOST_SECONDS, MOST_EPISODES = 200_000, 2_000, 100_000


class Weights(StrEnum):
    """What a request/s counts."""

    EQUAL = "equal"
    SOLO = "solo"


ProblemPath = Annotated[
    Path,
    typer.Argument(
        metavar="PROBLEM",
        help="InSS problem (YAML or JSON), or `six-models-reconstructed`, which is shipped.",
        show_default=False,
    ),
]


def inss(
    path: ProblemPath,
    names: Annotated[
        list[str] | None, typer.Option("--scheduler", help="A scheduler; default: all of them. Repeatable.")
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(
            "--actor",
            help="Trained actor for inss-sac, of `train-inss`; the shipped problem has one.",
            show_default=False,
        ),
    ] = None,
    spare: Annotated[
        float, typer.Option(min=0.1, max=100, help="Each model carries so many times its rate at least.")
    ] = 1.0,
    weights: Annotated[
        Weights, typer.Option(help="What counts: requests/s, or each by what the model carries alone.")
    ] = Weights.EQUAL,
    tasks: Annotated[int, typer.Option(min=100, max=MOST_TASKS, help="Poisson tasks a model to simulate.")] = 20_000,
    seconds: Annotated[
        int,
        typer.Option(min=0, max=MOST_SECONDS, help="Also let rates change for so long, as in training; 0: do not."),
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, max=2**31, help="Of what is drawn.")] = 1,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the report as JSON; `-`: to stdout instead of the tables.")
    ] = None,
) -> None:
    """Show the requests/s that InSS' schedulers could carry on given GPUs, and the most that any can, proven."""
    import numpy as np

    from ..inss.comparing import compared
    from ..inss.latency import latencies_of
    from ..inss.learning.environment import Setting
    from ..inss.schedulers.scheduler import Task
    from ..inss.shipped_problem import read_inss_problem
    from ..model.inss_report import InssReport

    problem = read_inss_problem(path)
    setting = Setting(latencies_of(problem))
    chosen = _schedulers(names, _actor_file(start, problem), setting)
    latencies = setting.latencies
    counts = 1 / latencies.solo_rps if weights is Weights.SOLO else np.ones(setting.models)
    with searching("deciding"):
        task = Task(latencies, latencies.rates_rps, counts, spare, seed)
        exact, rows = compared(chosen, task, tasks)
        episodes = tuple(_episodes(setting, _actor_file(start, problem), seconds, seed)) if seconds else ()
    found = InssReport(
        problem=problem.name, spare=spare, weights=weights.value, exact_weighted=None if exact is None else exact.value,
        schedulers=tuple(rows), seconds=seconds, episodes=episodes,
    )  # fmt: skip
    if json_file is not None:
        write_json(found.model_dump(mode="json"), json_file)
    if not is_stdout(json_file):
        display(_table(found))
        if episodes:
            display(_episode_table(found))
    for line in _lines(problem, found):
        say(line)
    if exact is None:
        raise typer.Exit(Exit.NO_PLAN)


def train_inss(
    path: ProblemPath,
    output: Annotated[Path, typer.Option("--output", "-o", help="Write the best actor here (.npz).")],
    episodes: Annotated[
        int, typer.Option(min=1, max=MOST_EPISODES, help="Episodes in all, of 200 s each; InSS has 1,500.")
    ] = 1500,
    seed: Annotated[int, typer.Option(min=0, max=2**31, help="Of a training that begins.")] = 1,
    evaluate_every: Annotated[int, typer.Option(min=1, max=1000, help="Episodes between two evaluations.")] = 10,
    gamma: Annotated[float, typer.Option(min=0, max=1, help="What a later second's reward counts; 0: nothing.")] = 0.99,
    hidden: Annotated[tuple[int, int], typer.Option(min=1, max=2048, help="Sizes of the two hidden layers.")] = (
        512,
        256,
    ),
    keep: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint",
            help="Keep the training here at each evaluation; if the file is there, go on from it.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Train InSS' learned scheduler for one set of models and GPUs: soft actor-critic, on one core."""
    from ..inss.latency import latencies_of
    from ..inss.learning.actor_file import write_actor
    from ..inss.learning.checkpoint import read_checkpoint, write_checkpoint
    from ..inss.learning.environment import Setting
    from ..inss.learning.episodes import exact_plans, with_own_batches
    from ..inss.learning.soft_actor_critic import Learning
    from ..inss.learning.training import SECONDS, begun, trained
    from ..inss.rates import refuse_no_walk, walk_of
    from ..inss.shipped_problem import read_inss_problem

    for name, file in (("--output", output), ("--checkpoint", keep)):
        if is_stdout(file):
            raise InputError([Finding(name, "", "is `-`; what is trained needs a file")])
    problem = read_inss_problem(path)
    refuse_no_walk(problem, str(path))
    setting, walk = Setting(latencies_of(problem)), walk_of(problem)
    training = begun(setting, Learning(hidden=hidden, gamma=gamma), seed)
    if keep is not None and keep.exists():
        training = read_checkpoint(keep, setting)
        say(f"{keep}: goes on after {training.episode:,} episodes of seed {training.seed}, as it was begun.")
    with searching("exact plans") as update:
        rates = walk.evaluation(SECONDS)
        line = with_own_batches(setting, rates, exact_plans(setting.latencies, rates))
        say(_exact_line(line))

        def after_evaluation(so_far: "Training") -> None:
            update(_progress(so_far, episodes, line))
            say(_evaluated(so_far.curve[-1]))
            write_actor(output, so_far, setting, line)
            if keep is not None:
                write_checkpoint(keep, so_far, setting)

        trained(
            training, setting, walk, episodes=episodes, evaluate_every=evaluate_every, after_evaluation=after_evaluation
        )
    best = max(training.curve, key=lambda one: one.reward)
    say(f"{output}: the actor after {best.episode:,} of {training.episode:,} episodes, reward {best.reward:.2f}.")
    if training.episode < episodes:
        raise typer.Exit(Exit.LIMITED)


def _actor_file(path: Path | None, problem: "InssProblem") -> Path | None:
    """Returns the actor that is asked for; of the shipped problem the shipped one."""
    from ..inss.shipped_problem import shipped_actor, shipped_problem

    if path is None and problem == shipped_problem() and shipped_actor().exists():
        return shipped_actor()
    return path


def _schedulers(names: list[str] | None, actor: Path | None, setting: "Setting") -> "list[Scheduler]":
    from ..inss.learning.actor_file import read_actor
    from ..inss.schedulers.learned import learned
    from ..inss.schedulers.registry import LEARNED, SCHEDULERS, scheduler_named

    asked = list(dict.fromkeys(names or [*SCHEDULERS, *([LEARNED] if actor else [])]))
    if LEARNED in asked and actor is None:
        message = f"is {LEARNED}, which needs an actor that was trained for this problem; give --actor FILE"
        raise InputError([Finding("--scheduler", "", message)])
    return [
        learned(read_actor(actor, setting)) if name == LEARNED and actor else scheduler_named(name) for name in asked
    ]


def _episodes(setting: "Setting", actor: Path | None, seconds: int, seed: int) -> "Iterator[InssEpisode]":
    from ..inss.learning.actor_file import read_actor
    from ..inss.learning.episodes import at_random, exact_plans, with_batches_of_each_second, with_own_batches
    from ..inss.learning.training import evaluated
    from ..inss.rates import walk_of
    from ..model.inss_report import InssEpisode

    rates = walk_of(setting.latencies.problem).evaluation(seconds)
    plans = exact_plans(setting.latencies, rates)
    ways: dict[str, Evaluated | None] = {
        "exact plans with their batches": with_own_batches(setting, rates, plans),
        "exact plans, BDA every second": with_batches_of_each_second(setting, rates, plans),
    }
    if actor is not None:
        found = read_actor(actor, setting)
        ways["inss-sac, BDA every second"] = evaluated(found.network, found.heads, setting, rates, found.episodes)
    ways["at random, BDA every second"] = at_random(setting, rates, seed)
    for way, one in ways.items():
        if one is not None:
            yield InssEpisode(
                way=way, reward=one.reward, late_share=one.late_share, normalised=one.normalised,
                capacity_rps=one.capacity_rps,
            )  # fmt: skip


def _table(found: "InssReport") -> object:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("scheduler", no_wrap=True)
    for title in ("capacity, req/s", "of the optimum", "late, full batches", "late, sent early"):
        table.add_column(title, justify="right")
    table.add_column("status")
    for one in found.schedulers:
        cells = [
            "-" if one.capacity_rps is None else f"{one.capacity_rps:,.0f}",
            "-" if one.of_exact is None else f"{one.of_exact:.1%}",
            "-" if one.late_full is None else f"{one.late_full:.1%}",
            "-" if one.late_early is None else f"{one.late_early:.1%}",
        ]
        table.add_row(one.scheduler, *cells, f"{one.status.value}{_misses(one)}")
    return table


def _misses(one: "InssCarried") -> str:
    """Returns of how many models each limit is missed; which ones are in the report."""
    missed = Counter(limit for row in one.served for limit in row.missed)
    return f" ({', '.join(f'{limit} of {count}' for limit, count in missed.items())})" if missed else ""


def _episode_table(found: "InssReport") -> object:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column(f"over {found.seconds:,} s", no_wrap=True)
    for title in ("reward", "late", "sum of h/H", "capacity, req/s"):
        table.add_column(title, justify="right")
    for one in found.episodes:
        table.add_row(
            one.way, f"{one.reward:.2f}", f"{one.late_share:.2%}", f"{one.normalised:.2f}", f"{one.capacity_rps:,.0f}"
        )
    return table


def _lines(problem: "InssProblem", found: "InssReport") -> list[str]:
    from ..inss.fitting import running_error

    lines = []
    for one in problem.models:
        if (error := running_error(one.running)) is not None:
            lines.append(
                f"{one.model}: running times by {one.running.method}, off its {error.points} points by "
                f"{error.median:.1%} (median), at most {error.max:.1%}."
            )
        missing = [
            what
            for what, is_missing in (
                ("L2 use", one.l2_per_percent == 0 and one.l2_offset == 0),
                ("cache_sensitivity", one.cache_sensitivity == 0),
                ("kernels", one.kernels == 0),
                ("memory", one.memory_mib == 0 and one.memory_mib_per_item == 0),
            )
            if is_missing
        ]
        if missing:
            lines.append(f"{one.model}: nothing is said of {', '.join(missing)}; taken to be 0.")
    if found.exact_weighted is None:
        lines.append(f"Proven: no placement, units and batches keep every limit at {found.spare:g} times the rates.")
    lines.append(
        "Capacity is what batches could carry, not what is served. It keeps (b - 1)/rate + latency within its SLO; "
        "Poisson tasks come unevenly, and the late ones are counted."
    )
    return lines


def _exact_line(line: "Evaluated | None") -> str:
    if line is None:
        return "Of the evaluation's rates some have no decision that keeps all limits; the curve has no line."
    return f"exact plans in the same environment: reward {line.reward:.2f}, late {line.late_share:.2%}"


def _progress(training: "Training", episodes: int, line: "Evaluated | None") -> str:
    best = max(one.reward for one in training.curve)
    exact = "" if line is None else f", exact {line.reward:.2f}"
    return f"episode {training.episode:,} of {episodes:,}: best reward {best:.2f}{exact}"


def _evaluated(one: "Evaluated") -> str:
    return (
        f"episode {one.episode:,}: reward {one.reward:.2f}, late {one.late_share:.2%}, h/H {one.normalised:.2f}, "
        f"{one.capacity_rps:,.0f} requests/s"
    )
