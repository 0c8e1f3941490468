"""`check` finds every metric that the plan's GPUs do not give, and what is left of a GPU by a way of its own."""

import random

import pytest
from problems.igniter_instances import example
from problems.instances import problem_of
from support.solved import Solved

from sliceplan.solver.api import solve
from sliceplan.solver.check import check
from sliceplan.solver.check.metrics import _sms
from sliceplan.solver.check.room import room
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.metrics.plan_metrics import measure
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.geometry import addable_placements, most_addable, placement_rules
from sliceplan.solver.model.plan import GpuCut, Metrics, Plan

CUT = problem_of(
    [
        {"model": "resnet50", "rate_rps": 900, "slo_ms": 200, "gpus": ["A100-80GB"]},
        {"model": "vgg19", "rate_rps": 20, "slo_ms": 200, "gpus": ["T4"]},
    ],
    fleet=[{"gpu": "A100-80GB"}, {"gpu": "T4", "sharing": ["exclusive"]}],
    name="cut-and-whole",
)
SHARED = example()
PLANS = Solved(CUT, SHARED)


def found(problem, change):
    plan = Plan.model_validate_json(PLANS[problem.name]).model_dump(mode="json")
    change(plan["metrics"])
    return [str(one) for one in check(problem, Plan.model_validate(plan), shipped_profiles())]


def others(value):
    """Returns other values of a metric."""
    if value is None:
        return [0, 1]
    if isinstance(value, dict):
        return [{**value, "1g.5gb": 1}, *([{}] if value else [])]
    return [None, value + 1, value + (1e-3 * max(value, 1) if isinstance(value, float) else 2)]


@pytest.mark.parametrize("problem", [CUT, SHARED], ids=lambda problem: problem.name)
@pytest.mark.parametrize("field", sorted(set(Metrics.model_fields) - {"gpus"}))
def test_a_wrong_metric_of_all_gpus_is_found_by_name(problem, field):
    stated = Plan.model_validate_json(PLANS[problem.name]).model_dump(mode="json")["metrics"][field]
    for other in others(stated):
        assert any(f"metrics: {field} is" in one for one in found(problem, lambda m, o=other: m.update({field: o})))


@pytest.mark.parametrize("problem", [CUT, SHARED], ids=lambda problem: problem.name)
@pytest.mark.parametrize("field", sorted(set(GpuCut.model_fields) - {"id"}))
def test_a_wrong_metric_of_a_gpu_is_found_by_name_and_gpu(problem, field):
    cuts = Plan.model_validate_json(PLANS[problem.name]).model_dump(mode="json")["metrics"]["gpus"]
    for g, cut in enumerate(cuts):
        for other in others(cut[field]):
            said = found(problem, lambda m, at=g, o=other: m["gpus"][at].update({field: o}))
            assert any(one.startswith(f"{cut['id']}: metrics: {field} is") for one in said), said


@pytest.mark.parametrize(
    "change",
    [
        lambda cuts: cuts.pop(),
        lambda cuts: cuts.append(cuts[0]),
        lambda cuts: cuts.reverse(),
        lambda cuts: cuts[0].update(id="A100-80GB/99"),
    ],
)
def test_metrics_are_those_of_the_plans_gpus_in_their_order(change):
    assert any("metrics.gpus does not list" in one for one in found(CUT, lambda metrics: change(metrics["gpus"])))


def test_plans_have_metrics_and_other_answers_none():
    plan = Plan.model_validate_json(PLANS[CUT.name]).model_copy(update={"metrics": None})
    assert any("metrics is null" in str(one) for one in check(CUT, plan, shipped_profiles()))
    impossible = problem_of([{"model": "resnet50", "rate_rps": 1, "slo_ms": 0.01}])
    none = solve(impossible)
    assert check(impossible, none, shipped_profiles()) == []
    some = none.model_copy(update={"metrics": measure(CUT, plan, shipped_profiles())})
    said = [str(one) for one in check(impossible, some, shipped_profiles())]
    assert any("metrics is given, but status is infeasible" in one for one in said)


def layouts(rules, draw, number):
    """Yields random instances of a GPU that fit together, from none to as many as there is room for."""
    for _ in range(number):
        layout = ()
        while (more := addable_placements(rules, layout)) and draw.random() < 0.8:
            layout = tuple(sorted((*layout, draw.choice(more))))
        yield layout


@pytest.mark.parametrize("gpu", ["A100-80GB", "A30-24GB", "H100-80GB-SXM", "B200-180GB", "RTX-PRO-6000-96GB"])
def test_what_is_left_of_a_gpu_is_what_trying_every_sequence_of_instances_leaves(gpu):
    rules = placement_rules(load_catalogue()[gpu].mig)
    reached = {}

    def most(layout):
        """Returns the most compute, and the most memory slices, that can be taken in the end."""
        if layout not in reached:
            taken = [rules.by_name[placement.profile] for placement in layout]
            own = (sum(one.compute_slices for one in taken), sum(one.memory_slices for one in taken))
            grown = [most(tuple(sorted((*layout, added)))) for added in addable_placements(rules, layout)]
            reached[layout] = tuple(map(max, zip(own, *grown, strict=True)))
        return reached[layout]

    for layout in layouts(rules, random.Random(gpu), 60):
        if len(layout) < 2:
            continue  # nearly every layout can be reached from these, which takes long
        left = room(gpu, tuple((placement.start, placement.profile) for placement in layout))
        taken = [rules.by_name[placement.profile] for placement in layout]
        compute, memory = most(layout)
        assert left.free_compute_slices == rules.compute_slices - sum(one.compute_slices for one in taken)
        assert left.free_memory_slices == rules.placement_units - sum(one.memory_slices for one in taken)
        assert left.wasted_compute_slices == rules.compute_slices - compute
        assert left.wasted_memory_slices == rules.placement_units - memory
        for rule in rules.profiles:
            assert left.addable.get(rule.name, 0) == most_addable(rules, layout, rule.name)


@pytest.mark.parametrize(
    ("gpu", "mig_profile", "percent", "sms"),
    [
        ("T4", None, None, 40),
        ("T4", None, 25.0, 10),
        ("A100-80GB", None, 50.0, 54),
        ("A100-80GB", "2g.20gb", None, 28),
        # Of this type not all figures are known: its part of the slices stands for it.
        ("B300-270GB", "1g.34gb", None, 148 / 7),
        ("Threadripper-3990X", "12 cores", None, 12),
    ],
)
def test_the_sms_of_a_partition_are_its_profiles_or_its_share(gpu, mig_profile, percent, sms):
    assert _sms(gpu, mig_profile, percent) == pytest.approx(sms)
