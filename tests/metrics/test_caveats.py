"""What is to know about a plan's predictions has a kind, and the gravest comes first."""

from problems.instances import problem_of

from sliceplan.solver.api import solve
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.metrics.caveats import CaveatKind, caveats
from sliceplan.solver.model.plan import Plan

TWO_TYPES = problem_of(
    [
        {"name": "images", "model": "vgg19", "rate_rps": 20, "slo_ms": 200, "gpus": ["T4"]},
        {"name": "texts", "model": "bert", "rate_rps": 10, "slo_ms": 500},
    ],
    fleet=[{"gpu": "T4", "sharing": ["exclusive"]}, {"gpu": "A100-80GB"}],
)


def beyond_what_was_measured(plan):
    """Returns a plan with a batch size and a share that no profile has."""
    data = plan.model_dump(mode="json")
    for gpu in data["gpus"]:
        if gpu["gpu"] == "T4":
            gpu["partitions"][0]["sm_percent"] = 0.5
            gpu["partitions"][0]["serves"][0]["batch"] = 9999
    return Plan.model_validate(data)


def test_a_plan_carries_the_texts_in_order_of_gravity():
    plan = solve(TWO_TYPES)
    known = caveats(TWO_TYPES, plan, shipped_profiles())
    assert plan.warnings == tuple(caveat.text for caveat in known)
    assert [caveat.kind for caveat in known] == [CaveatKind.ESTIMATED, CaveatKind.PLANNED_WITHOUT]


def test_estimates_are_graver_than_extrapolations_and_these_than_what_was_left_out():
    plan = beyond_what_was_measured(solve(TWO_TYPES))
    estimated, share, batch, without = caveats(TWO_TYPES, plan, shipped_profiles())
    assert estimated.kind < share.kind == batch.kind < without.kind
    assert estimated.text.startswith("vgg19 on T4 is estimated from V100-SXM2-16GB")
    assert share.text.startswith("images on T4/0: a share of 0.5 % extrapolates; measured were ")
    assert batch.text.startswith("images on T4/0: a batch of 9999 extrapolates; measured were ")
    assert without.text == "nothing is known of bert on T4 used whole: planned without"
