"""A transition in sentences: what changes, who is disturbed or falls short, what each step does, and when."""

import pytest
from problems.instances import ROOT

from sliceplan.solver.formats.plan_files import read_plan
from sliceplan.solver.model.transition import Disturbance, Shortfall, Transition, TransitionGpu, TransitionStep
from sliceplan.solver.wording.transition_text import (
    by_set_in_words,
    draw_transition,
    few_names,
    rates_in_words,
    shortfall_in_words,
    step_in_words,
    summary,
)

REFERENCE = read_plan(ROOT / "plans" / "demo.plan.json").problem
UNDISTURBED = Disturbance(services=(), fewest=None, proven=False, partitions=0, method="none")


def step(kind="start", number=0, **changed):
    fields = {
        "id": number,
        "kind": kind,
        "gpu": "n/0",
        "mig_profile": None,
        "start": None,
        "sm_percent": None,
        "mode": None,
        "needs_reset": False,
        "workloads": ("a",),
        "capacity_rps": None,
        "temporary": False,
        "after": (),
        "starts_s": 0.0,
        "ends_s": 1.0,
    }
    return TransitionStep(**fields | changed)


def gpu(name, kind="T4"):
    return TransitionGpu(name=name, gpu=kind, node=None, index=None, old_id=None, new_id=None, assigned_id=None, kept=0)


def transition(*steps, **changed):
    fields = {
        "version": 1,
        "old": REFERENCE,
        "new": REFERENCE,
        "strategy": "least-disturbance",
        "kept": 1,
        "created": 2,
        "destroyed": 3,
        "moved": 4,
        "temporary": 5,
        "mode_changes": 0,
        "resets": 0,
        "disturbed": UNDISTURBED,
        "shortfalls": (),
        "estimated_s": 65.0,
        "peak_gpus": 2,
        "gpus": (gpu("n/0"),),
        "steps": steps,
    }
    return Transition.model_construct(**fields | changed)


WHAT = "1 partition not touched, 4 moved or stopped, 5 temporary; 2 MIG instances created, 3 destroyed."
KEPT = "Every service keeps the lower of its two rates at every moment."
SHORT = Shortfall(workload="a", required_rps=100, missing_rps=40, from_s=1, until_s=61, lost_requests=2400)


def disturbing(*services, fewest=None, proven=False):
    return UNDISTURBED.model_copy(update={"services": services, "fewest": fewest, "proven": proven})


@pytest.mark.parametrize(
    ("changed", "lines"),
    [
        ({}, [WHAT, "No service is disturbed.", KEPT, "About 1 min 5 s, on at most 2 GPUs at once."]),
        (
            {"repinned": 2, "gpus": (gpu("n/0", "EPYC-9654"),), "peak_gpus": 1},
            [
                WHAT,
                "2 partitions of CPUs given other cores while running.",
                "No service is disturbed.",
                KEPT,
                "About 1 min 5 s, on at most 1 CPU at once.",
            ],
        ),
        (
            {"gpus": (gpu("n/0", "EPYC-9654"), gpu("n/1")), "disturbed": disturbing("a", "b")},
            [WHAT, "2 services disturbed: a, b.", KEPT, "About 1 min 5 s, on at most 2 of the GPUs and CPUs at once."],
        ),
        (
            {"disturbed": disturbing("a", fewest=1, proven=True)},
            [WHAT, "1 service disturbed, proven fewest: a.", KEPT, "About 1 min 5 s, on at most 2 GPUs at once."],
        ),
        (
            {"disturbed": disturbing("a", "b", fewest=0)},
            [
                WHAT,
                "2 services disturbed, proven: not below 0: a, b.",
                KEPT,
                "About 1 min 5 s, on at most 2 GPUs at once.",
            ],
        ),
        (
            {"mode_changes": 2, "resets": 1, "shortfalls": (SHORT,)},
            [
                "! 2 mode changes, 1 of them by a reset: n/1",
                "! a lacks up to 40 of 100 req/s from 1 s to 1 min 1 s: 2,400 requests",
                WHAT,
                "No service is disturbed.",
                "About 1 min 5 s, on at most 2 GPUs at once.",
            ],
        ),
    ],
)
def test_what_is_worst_comes_first(changed, lines):
    found = transition(step(), step("change_mode", 1, gpu="n/1", mode="mig"), **changed)
    assert summary(found) == lines


def test_a_mode_that_takes_no_reset_is_named_without_one():
    changing = transition(step("change_mode", gpu="n/1", mode="mig"), mode_changes=1)
    assert summary(changing)[0] == "! 1 mode change: n/1"


def test_where_there_is_no_step_nothing_is_to_do():
    assert summary(transition(kept=13)) == ["Nothing to do: all 13 partitions stay as they are."]


@pytest.mark.parametrize(
    ("shortfalls", "by_set", "lines"),
    [
        ((), (), [KEPT]),
        ((SHORT,), (), []),
        (
            (),
            ("b",),
            [
                "Every other service keeps the lower of its two rates at every moment.",
                "Not promised: that b keeps its rate while partitions come or go; the router deals by state.",
            ],
        ),
        (
            (SHORT,),
            ("b", "c"),
            ["Not promised: that b, c keep their rates while partitions come or go; the router deals by state."],
        ),
    ],
)
def test_a_rate_is_promised_where_nobody_falls_short(shortfalls, by_set, lines):
    found = transition(shortfalls=shortfalls, by_set=by_set)
    assert list(rates_in_words(found)) == lines
    assert by_set_in_words(found, "these").startswith("that these keep")


@pytest.mark.parametrize("unknown", [{"from_s": None}, {"until_s": None}, {"from_s": None, "until_s": None}])
def test_who_falls_short_only_at_other_times_is_said_so(unknown):
    short = SHORT.model_copy(update=unknown)
    words = "it lacks up to 40 of 100 req/s if steps take other times than estimated"
    assert shortfall_in_words(short, "it") == words


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (step("change_mode", mode="mig"), "n/0: change mode to mig"),
        (step("change_mode", mode="mps", needs_reset=True), "n/0: change mode to mps (GPU reset)"),
        (step("create", mig_profile="1g.10gb", start=4, workloads=()), "n/0 1g.10gb at 4: create"),
        (step("start", sm_percent=12.5, workloads=("a", "b")), "n/0 12.5 %: start a, b"),
        (step("stop", temporary=True), "n/0 whole GPU: stop a (temporary)"),
        (step("drain", cores=4, start=8), "n/0 4 cores from 8 on: drain a"),
        (
            step("repin", cores=4, start=8, from_start=0),
            "n/0 4 cores from 8 on: move a here from 0 on, while it runs",
        ),
        (step("redirect", capacity_rps={"a": 0.5}), "n/0 whole GPU: send requests to a"),
        (step("redirect", capacity_rps={"a": 5.0, "b": 5.0}), "n/0 whole GPU: send requests to a"),
        (step("redirect", capacity_rps={"a": -5.0}), "n/0 whole GPU: send requests away from a"),
        (step("redirect", capacity_rps={"a": 5.0, "b": -5.0}), "n/0 whole GPU: send requests away from a"),
        (step("redirect", capacity_rps={"a": 0.0}), "n/0 whole GPU: send requests away from a"),
        (step("redirect"), "n/0 whole GPU: send requests away from a"),
    ],
)
def test_a_step_says_what_it_does_and_where(one, words):
    assert step_in_words(one) == words


@pytest.mark.parametrize(("most", "shown"), [(None, 4), (4, 4), (3, 3), (1, 1)])
def test_steps_come_in_waves_and_of_many_the_first(most, shown):
    late, first = step("stop", 0, starts_s=30.0), step("change_mode", 1, mode="mig")
    also, other = step("create", 2, gpu="n/1"), step("redirect", 3, starts_s=30.0, gpu="n/1")
    found = transition(late, first, also, other)
    lines = [text.plain for text in draw_transition(found, most).renderables]
    every = [
        "at once",
        "  ! n/0: change mode to mig",
        "  + n/1 whole GPU: create a",
        "after 30 s",
        "  - n/0 whole GPU: stop a",
        "  ~ n/1 whole GPU: send requests away from a",
    ]
    wanted = {4: every, 3: [*every[:5], "… and 1 more steps (--most, --json)"]}
    wanted[1] = [*every[:2], "… and 3 more steps (--most, --json)"]
    assert lines[lines.index("") + 1 :] == wanted[shown]


def test_of_many_names_each_is_there_once_and_the_first_eight():
    assert few_names(["b", "a", "b"]) == "b, a"
    assert few_names(list("abcdefgh")) == "a, b, c, d, e, f, g, h"
    assert few_names(list("abcdefghij")) == "a, b, c, d, e, f, g, h and 2 more"
