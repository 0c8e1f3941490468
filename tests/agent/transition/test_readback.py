"""What is read back after a step is compared with what was there: also of the instances that no step is about."""

import dataclasses

from sliceplan.agent.model.live import LiveGpu, LiveInstance
from sliceplan.agent.model.node import Slot
from sliceplan.agent.model.steps import CreateComputeInstance, CreateInstance
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
