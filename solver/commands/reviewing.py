"""The commands that look at a plan: does it hold, how does it look."""

from typing import TYPE_CHECKING, Annotated

import typer

from ..model.errors import Finding, InputError
from .exit_codes import Exit, exit_code
from .inputs import read_problem_and_profiles
from .options import PlanArgument, PricesOption, ProblemArgument, ProfilesOption
from .output import MOST_LINES, display, say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ..check.violation import Violation


def check(
    problem: ProblemArgument,
    plan: PlanArgument,
    profiles: ProfilesOption = None,
    prices: PricesOption = None,
) -> None:
    """Verify a plan against its problem, independently of any planner."""
    from ..check import check as violations_of
    from ..check.not_checked import not_checked
    from ..formats.plan_files import read_as_stated
    from ..model.digest import made_with
    from ..performance.resolve import resolve
    from ..wording.shown_names import shown_names

    parsed, known = read_problem_and_profiles(problem, profiles, prices)
    answer = read_as_stated(plan)
    resolve(parsed, known, str(problem))  # refuses what the problem refers to and does not exist
    violations = violations_of(parsed, answer, known)
    for line in violations_in_words(violations, shown_names(parsed)):
        say(line)
    if other := made_with(parsed, answer):
        say(f"It was made with the prices of {other}: check it with --prices {other}.")
    if violations:
        say(f"{plan} does not hold: {len(violations)} violation(s).")
        raise typer.Exit(Exit.WRONG_INPUT)
    if answer.gpus:
        say(f"{plan} holds: all that it states was recomputed from the problem and the profiles.")
    else:
        say(f"{plan} has no GPUs: its status is {answer.status}.")
    say(f"Not checked:\n{not_checked(answer)}")
    if not answer.gpus:
        raise typer.Exit(exit_code(answer))


def violations_in_words(violations: "Iterable[Violation]", names: "Mapping[str, str]") -> "Iterator[str]":
    """Yields a line for each violation; `names`: the labels of services that have one."""
    from ..wording.shown_names import as_shown, text_as_shown

    for violation in violations:
        line = str(as_shown(violation, names))
        # Of the plan as a whole, and not of a service that is called so.
        yield line if violation.where == "plan" else text_as_shown(line, names)


def show(
    plan: PlanArgument,
    most: Annotated[int | None, typer.Option("--most", min=1, help="Draw at most so many GPUs.")] = None,
) -> None:
    """Draw a plan's GPUs in the terminal."""
    from ..formats.plan_files import read_plan
    from ..model.catalogue import load_catalogue, load_cpus
    from ..wording.promise import promised
    from ..wording.shown_names import as_shown, shown_names
    from ..wording.summary import plan_summary
    from .terminal import draw_plan

    answer = read_plan(plan)
    known = {False: load_catalogue().keys(), True: load_cpus().keys()}
    unknown = sorted({gpu.gpu for gpu in answer.gpus if gpu.gpu not in known[gpu.sharing == "cores"]})
    if unknown:
        raise InputError([Finding(str(plan), "gpus", f"types not in the catalogue: {', '.join(unknown)}")])
    seen = as_shown(answer, shown_names(answer))
    display(draw_plan(seen, most))
    display(plan_summary(answer, answer.gap))
    for line in promised(answer):
        display(f"  {line}")
    for warning in seen.warnings[:MOST_LINES]:
        display(f"  note: {warning}")
