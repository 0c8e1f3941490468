"""The commands for models that share given GPUs as InSS has it: what schedulers carry, and training the learned one."""

import time
from collections.abc import Iterator
from enum import StrEnum
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..model.errors import Finding, InputError
from .exit_codes import Exit
from .inss_tables import episodes_table, report_lines, schedulers_table
from .output import display, is_stdout, say, write_json
from .searching import searching

if TYPE_CHECKING:
    from ..inss.exact.partition import Exact
    from ..inss.learning.environment import Setting
    from ..inss.learning.training import Evaluated, Training
    from ..inss.schedulers.scheduler import Scheduler
    from ..model.inss_problem import InssProblem
    from ..model.inss_report import InssEpisode

MOST_TASKS, MOST_SECONDS, MOST_EPISODES = 200_000, 2_000, 100_000

SEARCH_SECONDS = 20.0
"""Where models are too many to be sure of a proof."""


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
    search_seconds: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            max=86_400,
            help="For each scheduler's search; default: 20, and of at most 12 models as long as it takes.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**31, help="Of what is drawn.")] = 1,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the report as JSON; `-`: to stdout instead of the tables.")
    ] = None,
) -> None:
    """Show the requests/s that InSS' schedulers could carry on given GPUs, and a proven limit of what any can."""
    import numpy as np

    from ..inss.comparing import compared
    from ..inss.exact.effort import Effort
    from ..inss.exact.most_capacity import MOST_PROVEN, refuse_unproven
    from ..inss.latency import latencies_of
    from ..inss.learning.environment import Setting
    from ..inss.schedulers.scheduler import Task
    from ..inss.shipped_problem import read_inss_problem
    from ..model.inss_report import InssReport

    problem = read_inss_problem(path)
    if seconds:
        refuse_unproven(problem, str(path), "--seconds")
    setting = Setting(latencies_of(problem))
    chosen = _schedulers(names, _actor_file(start, problem), setting)
    latencies = setting.latencies
    counts = 1 / latencies.solo_rps if weights is Weights.SOLO else np.ones(setting.models)
    if search_seconds is None:
        search_seconds = inf if setting.models <= MOST_PROVEN else SEARCH_SECONDS
    with searching("deciding"):
        task = Task(latencies, latencies.rates_rps, counts, spare, seed, Effort(search_seconds))
        exact, rows = compared(chosen, task, tasks)
        episodes = tuple(_episodes(setting, _actor_file(start, problem), seconds, seed)) if seconds else ()
    known = exact is not None and exact.decision is not None
    found = InssReport(
        problem=problem.name, spare=spare, weights=weights.value,
        exact_weighted=exact.value if exact is not None and known else None,
        limit_weighted=None if exact is None else exact.limit,
        schedulers=tuple(rows), seconds=seconds, episodes=episodes,
    )  # fmt: skip
    if json_file is not None:
        write_json(found.model_dump(mode="json"), json_file)
    if not is_stdout(json_file):
        display(schedulers_table(found))
        if episodes:
            display(episodes_table(found))
    for line in report_lines(problem, found):
        say(line)
    raise typer.Exit(_code(exact))


def _code(exact: "Exact | None") -> Exit:
    """Returns how the command ends: a decision that is not proven best is one that time ended."""
    if exact is None:
        return Exit.NO_PLAN
    if exact.decision is None:
        return Exit.NO_ANSWER
    return Exit.DONE if exact.is_optimal else Exit.LIMITED


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
    limit_s: Annotated[
        float | None,
        typer.Option("--time-limit", min=0.1, max=864_000, help="Begin no episode that ends later; default: no limit."),
    ] = None,
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
    deadline = inf if limit_s is None else time.monotonic() + limit_s
    from ..inss.exact.most_capacity import refuse_unproven
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
    refuse_unproven(problem, str(path), "a training's line")
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
            training,
            setting,
            walk,
            episodes=episodes,
            evaluate_every=evaluate_every,
            after_evaluation=after_evaluation,
            deadline=deadline,
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
