"""What can be added beside instances that stay, against every layout that has them."""

from collections import Counter
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from ortools.math_opt.python import mathopt
from problems.instances import problem_of, random_problem
from problems.plan_pairs import planned

from sliceplan.solver.analysis.replanning import replan as analysis
from sliceplan.solver.api import replan
from sliceplan.solver.exact.replanning import replanning
from sliceplan.solver.exact.replanning.replanning import _maximal_additions
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.geometry import placement_rules, valid_layouts


def profiles_of(layout):
    return tuple(sorted(place.profile for place in layout))


@pytest.mark.parametrize("gpu", ["A30-24GB", "A100-80GB"])
def test_additions_are_those_of_the_layouts_that_hold_what_stands_and_no_more_than_usable(gpu):
    """Property: one layout for each largest multiset of usable instances."""
    rules, draw = placement_rules(load_catalogue()[gpu].mig), Random(gpu)
    layouts = list(valid_layouts(rules))
    names = [rule.name for rule in rules.profiles]
    for _ in range(12):
        one = draw.choice(layouts)
        standing = tuple(sorted(draw.sample(one, draw.randint(0, min(2, len(one))))))
        usable = frozenset(draw.sample(names, draw.randint(1, 3)))
        holding = [layout for layout in layouts if set(standing) <= set(layout)]
        rests = [tuple(sorted(set(layout) - set(standing))) for layout in holding]
        beside = [rest for rest in rests if {place.profile for place in rest} <= usable]
        counts = {profiles_of(rest) for rest in beside}
        largest = [own for own in counts if not any(own != more and Counter(own) <= Counter(more) for more in counts)]
        found = _maximal_additions(rules, standing, usable)
        assert sorted(map(profiles_of, found)) == sorted(largest)
        assert set(found) <= set(beside)


def test_a_known_plan_is_where_the_search_begins(monkeypatch):
    """Its values of the variables are those of the same plan, and keep every constraint that is asked about."""
    heard = []
    values = replanning._ReplanningProgram.values

    def noted(program, known):
        own = values(program, known)
        heard.append((known, program.decoded(own, known.stopped, "", None, frozenset())))
        return own

    monkeypatch.setattr(replanning._ReplanningProgram, "values", noted)
    services = [{"model": model, "rate_rps": 500, "slo_ms": 250} for model in ("resnet50", "vgg16", "bert")]
    more = [{**one, "rate_rps": 1900} for one in services]
    replan(problem_of(more), planned(problem_of(services), "parvagpu"), move_price=0.1)
    assert heard
    for known, again in heard:
        assert known.patterns
        assert known.partitions
        assert (dict(again.patterns), again.partitions) == (dict(known.patterns), dict(known.partitions))
        assert [(one.number, one.kept) for one in again.kept] == [(one.number, one.kept) for one in known.kept]
        assert again.moved <= known.moved


def asked_of_the_program(monkeypatch, problem, running):
    """Returns what `solve_replanning` is asked first of a problem and a plan that runs."""
    heard = []
    real = replanning.solve_replanning

    def noted(*arguments, **options):
        heard.append(arguments)
        return real(*arguments, **options)

    monkeypatch.setattr(analysis, "solve_replanning", noted)
    replan(problem, running)
    return heard[0]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_of_equally_cheap_plans_it_is_one_that_moves_fewest(monkeypatch, seed):
    """Property: with one move less the program that counts them as a limit finds no plan of that cost."""
    problem = random_problem(5, seed)
    asked = asked_of_the_program(monkeypatch, problem, planned(problem, "parvagpu"))
    found = replanning.solve_replanning(*asked, time_limit_s=30)
    assert found.stopped == "proved"
    if found.moved:
        fewer = replanning.solve_replanning(*asked, most_moves=len(found.moved) - 1, time_limit_s=30)
        assert fewer.least is None or fewer.least > found.least


def test_a_search_that_ended_early_proves_what_its_dual_bound_says_and_no_more(monkeypatch):
    problem = random_problem(5, 1)
    asked = asked_of_the_program(monkeypatch, problem, planned(problem, "parvagpu"))
    real = replanning.run_highs

    def early(*arguments, **options):
        result = real(*arguments, **options)
        bounds = SimpleNamespace(dual_bound=-np.inf, primal_bound=np.inf)
        ending = SimpleNamespace(reason=mathopt.TerminationReason.FEASIBLE, detail="", objective_bounds=bounds)
        return SimpleNamespace(
            gscip_specific_output=None,
            termination=ending,
            has_primal_feasible_solution=lambda: True,
            variable_values=result.variable_values,
            objective_value=result.objective_value,
        )

    monkeypatch.setattr(replanning, "run_highs", early)
    found = replanning.solve_replanning(*asked, time_limit_s=30)
    assert (found.stopped, found.least) == ("time_limit", None)
    assert found.patterns is not None
