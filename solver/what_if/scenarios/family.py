"""Sets of rates of one problem's services: how a family is written, and what it makes of the problem."""

from itertools import product
from math import isfinite
from random import Random

from ...model.errors import Finding, InputError
from ...model.parsing import closest, parse_record
from ...model.problem import Problem
from ...model.scenario_report import Family, FamilyKind
from ..axes import values_of

KINDS: tuple[FamilyKind, ...] = ("grid", "scale", "random")

MOST_SCENARIOS = 100_000

GREATEST_FACTOR = 2.0
"""Of a random set: each service's rate is multiplied by a factor between 0 and this."""

WRITTEN = "grid=RATE,RATE,..., scale=FROM:TO:STEP (or factors with commas) or random=COUNT[:SEED]"


def parse_family(text: str, problem: Problem) -> Family:
    """
    Reads a family as the command line has it: `grid=0,200,400`, `scale=0.5:4:0.1`, `random=500:7`.

    Raises
    ------
    InputError
        If it is none, asks for too much, or makes rates that a problem cannot have.
    """
    kind, equals, written = text.partition("=")
    known = next((one for one in KINDS if one == kind), None)
    if known is None or not equals:
        hint = closest(kind, KINDS) if known is None else ""
        raise InputError([Finding("--family", text, f"is no family; expected {WRITTEN}. {hint}".rstrip())])
    try:
        family = _random(written) if known == "random" else _listed(known, written)
    except ValueError as error:
        why = str(error) if str(error).startswith("the ") else f"expected {WRITTEN}"
        raise InputError([Finding("--family", text, f"cannot be read: {why}")]) from error
    asked = number(family, problem)
    if not 1 <= asked <= MOST_SCENARIOS:
        raise InputError([Finding("--family", text, f"asks for {asked:,} sets of rates; 1 to {MOST_SCENARIOS:,} go")])
    if family.kind != "random":
        highest = _rates(family, problem, max(family.values))
        parse_record(Problem, with_rates(problem, highest).model_dump(), f"--family {text}")
    return family


def number(family: Family, problem: Problem) -> int:
    """Returns how many sets of rates there are."""
    match family.kind:
        case "grid":
            return int(len(family.values) ** len(problem.workloads)) - (0.0 in family.values)
        case "scale":
            return len(family.values)
        case "random":
            return family.count


def sets_of_rates(family: Family, problem: Problem) -> list[tuple[float, ...]]:
    """Returns the sets, requests/s of each service in the order of the problem; the one without any is left out."""
    match family.kind:
        case "grid":
            return [rates for rates in product(family.values, repeat=len(problem.workloads)) if any(rates)]
        case "scale":
            return [_rates(family, problem, factor) for factor in family.values]
        case "random":
            draw = Random(family.seed)
            return [
                tuple(one.rate_rps * GREATEST_FACTOR * (1.0 - draw.random()) for one in problem.workloads)
                for _ in range(family.count)
            ]


def with_rates(problem: Problem, rates_rps: tuple[float, ...]) -> Problem:
    """Returns the problem with these rates, unchecked; services of which nothing is asked are left out."""
    workloads = tuple(
        one.model_copy(update={"rate_rps": rate})
        for one, rate in zip(problem.workloads, rates_rps, strict=True)
        if rate > 0
    )
    return problem.model_copy(update={"workloads": workloads})


def _rates(family: Family, problem: Problem, value: float) -> tuple[float, ...]:
    scaled = family.kind == "scale"
    return tuple(round(value * one.rate_rps, 9) if scaled else value for one in problem.workloads)


def _listed(kind: FamilyKind, written: str) -> Family:
    values = tuple(sorted(set(values_of(written))))
    if not all(isfinite(one) and one >= 0 for one in values) or not any(values):
        raise ValueError("the values are to be finite and not below 0, and one above it")
    if kind == "scale" and values[0] <= 0:
        raise ValueError("the factors are to be above 0")
    return Family(kind=kind, values=values)


def _random(written: str) -> Family:
    count, _, seed = written.partition(":")
    if int(count) < 1 or int(seed or 0) < 0:
        raise ValueError("the number of random sets is to be at least 1, and the seed not below 0")
    return Family(kind="random", count=int(count), seed=int(seed or 0))
