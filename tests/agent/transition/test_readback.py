"""What is read back after a step is compared with what was there: also of the instances that no step is about."""

import dataclasses

import pytest

from sliceplan.agent.model.core_services import CoreService
from sliceplan.agent.model.core_steps import StartOnCores, StopOnCores
from sliceplan.agent.model.live import LiveCpu, LiveGpu, LiveInstance, RunningOnCores, RunningService
from sliceplan.agent.model.node import Service, Slot
from sliceplan.agent.model.steps import CreateComputeInstance, CreateInstance, ResetGpu, StartService, StopMps
from sliceplan.agent.transition.readback import broken_promise

BYSTANDER = LiveInstance(start=0, profile="3g.40gb", gi_id=1, ci_ids=(0,), uuid="MIG-1")
BEFORE = LiveGpu("A100-80GB", "GPU-1", mig_enabled=True, mig_pending=True, instances=(BYSTANDER,))
STEP = CreateInstance(gpu_index=0, start=4, profile="3g.40gb")
KNOWN = {Slot(0, 0): "MIG-1"}


def after(bystander):
    made = LiveInstance(start=4, profile="3g.40gb", gi_id=2)
    return {0: dataclasses.replace(BEFORE, instances=(bystander, made))}


def test_an_instance_that_no_step_is_about_keeps_its_uuid():
    """It was destroyed and made anew by somebody else meanwhile, so what ran on it is gone."""
    assert broken_promise(STEP, {0: BEFORE}, after(BYSTANDER), KNOWN) is None
    other = dataclasses.replace(BYSTANDER, uuid="MIG-2")
    said = broken_promise(STEP, {0: BEFORE}, after(other), KNOWN)
    assert said == "3g.40gb at 0 has the UUID MIG-2, not MIG-1 as before"


def test_an_instance_that_no_step_is_about_stays():
    gone = {0: dataclasses.replace(after(BYSTANDER)[0], instances=after(BYSTANDER)[0].instances[1:])}
    assert broken_promise(STEP, {0: BEFORE}, gone, KNOWN) == "3g.40gb at 0 is gone, and no step is about it"


def test_a_compute_instance_that_is_not_there_is_named():
    step = CreateComputeInstance(gpu_index=0, start=4, profile="3g.40gb")
    said = broken_promise(step, {0: BEFORE}, after(BYSTANDER), KNOWN)
    assert said == "3g.40gb at 4 has no compute instance of its full size"


def test_another_profile_in_the_place_of_an_instance_is_one_that_is_gone():
    other = dataclasses.replace(BYSTANDER, profile="2g.20gb")
    said = broken_promise(STEP, {0: BEFORE}, after(other), KNOWN)
    assert said == "3g.40gb at 0 is gone, and no step is about it"


def test_a_reset_may_take_instances_away_and_nothing_else_may():
    empty = {0: dataclasses.replace(BEFORE, instances=())}
    assert broken_promise(ResetGpu(0), {0: BEFORE}, empty, KNOWN) is None
    assert "is gone, and no step is about it" in broken_promise(StopMps(0, 4), {0: BEFORE}, empty, KNOWN)


@pytest.mark.parametrize(("healthy", "runs"), [(True, True), (None, True), (False, False)])
def test_a_service_that_is_not_healthy_does_not_run_with_its_settings(healthy, runs):
    service = Service("a", 0)
    there = {0: dataclasses.replace(BEFORE, services=(RunningService(service, (1,), healthy),))}
    said = broken_promise(StartService(0, service), {0: BEFORE}, there, KNOWN)
    assert said == (None if runs else "a does not run with its settings")


def on_cores(*services):
    return LiveCpu((), tuple(RunningOnCores(name, service, (1,)) for name, service in services))


OWN, BESIDE = CoreService("a", 0, 4), CoreService("b", 4, 4)


@pytest.mark.parametrize(
    ("services", "words"),
    [
        ([("a-cpu0", OWN), ("b-cpu0", BESIDE)], None),
        ([("a-cpu0", OWN)], "b on cores 4-7 is gone, and no step is about it"),
        (
            [("a-cpu0", OWN), ("b-cpu0", CoreService("b", 8, 4))],
            "b on cores 4-7 is gone, and no step is about it",
        ),
        ([("b-cpu0", BESIDE)], "a on cores 0-3 does not run with its settings"),
        (
            [("a-cpu0", CoreService("a", 0, 4, batch=2)), ("b-cpu0", BESIDE)],
            "a on cores 0-3 does not run with its settings",
        ),
    ],
)
def test_a_service_on_cores_that_no_step_is_about_keeps_them(services, words):
    step = StartOnCores(0, "a-cpu0", OWN, "0-3", "0")
    said = broken_promise(step, {"cpu0": on_cores(("b-cpu0", BESIDE))}, {"cpu0": on_cores(*services)}, {})
    assert said == words


def test_a_service_that_the_kernel_lets_have_other_cores_is_not_where_it_was_started():
    step = StartOnCores(0, "a-cpu0", OWN, "0-3", "0")
    found = LiveCpu((), (RunningOnCores("a-cpu0", OWN, (1,), found_on="cores 0-7"),))
    said = broken_promise(step, {"cpu0": on_cores()}, {"cpu0": found}, {})
    assert said == "a on cores 0-3 is not confined to them: cores 0-7"


def test_an_instance_of_another_profile_is_not_the_one_that_was_made():
    other = LiveInstance(start=4, profile="2g.20gb", gi_id=2)
    there = {0: dataclasses.replace(BEFORE, instances=(BYSTANDER, other))}
    assert broken_promise(STEP, {0: BEFORE}, there, KNOWN) == "there is no 3g.40gb at 4"


def test_a_cpu_in_the_place_of_a_gpu_is_not_what_a_step_was_about():
    for step, key in ((STEP, 0), (StopOnCores(0, "a-cpu0", OWN), "cpu0")):
        for before, there in ((BEFORE, on_cores()), (on_cores(), BEFORE)):
            said = broken_promise(step, {key: before}, {key: there}, {})
            assert said.endswith(" is a GPU here and a CPU there")
