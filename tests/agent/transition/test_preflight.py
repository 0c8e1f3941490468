"""Before a transition begins it is known who is in the way, and what becomes of the devices of the last plan."""

import pytest

from sliceplan.agent.model.live import Client, LiveCpu, LiveGpu
from sliceplan.agent.model.node import GpuState, Service
from sliceplan.agent.model.steps import (
    CreateInstance,
    DestroyComputeInstance,
    DestroyInstance,
    ResetGpu,
    SetMigMode,
    StopService,
)
from sliceplan.agent.transition.applied import Applied
from sliceplan.agent.transition.preflight import clients_in_the_way, names_of, plan_transition

ON_IT, BESIDE, WHOLE = Client(1, "a", 0), Client(2, "b", 4), Client(3)
LIVE = {0: LiveGpu("A100-80GB", "GPU-1", mig_enabled=True, mig_pending=True, clients=(ON_IT, BESIDE, WHOLE))}


@pytest.mark.parametrize(
    ("step", "in_the_way"),
    [
        (SetMigMode(0, False), [ON_IT, BESIDE, WHOLE]),
        (ResetGpu(0), [ON_IT, BESIDE, WHOLE]),
        (DestroyComputeInstance(0, "3g.40gb", 0), [ON_IT]),
        (DestroyInstance(0, "3g.40gb", 4), [BESIDE]),
        (CreateInstance(0, "3g.40gb", 0), []),
        (StopService(0, Service("a", 0)), []),
    ],
)
def test_who_holds_what_a_step_needs_idle_is_in_the_way_and_nobody_else(step, in_the_way):
    assert clients_in_the_way(step, LIVE) == in_the_way


def test_nobody_holds_a_cpu():
    assert clients_in_the_way(ResetGpu(0), {0: LiveCpu(())}) == []


def test_processes_are_named_by_id_and_by_name_where_there_is_one():
    assert names_of((ON_IT, WHOLE)) == "pid 1 (a), pid 3"


def test_gpus_of_the_last_plan_are_freed_as_far_as_they_are_there():
    """GPU 0 is wanted, GPU 1 was in the last plan alone, GPU 2 was, and is not there any more."""
    off = GpuState("A100-80GB", False)
    on = GpuState("A100-80GB", True)
    live = {index: LiveGpu("A100-80GB", f"GPU-{index}", mig_enabled=True, mig_pending=True) for index in (0, 1)}
    applied = Applied("2026-11-01T00:00:00Z", dict.fromkeys(range(3), on), None, "")
    transition = plan_transition(live, {0: on}, applied)
    assert transition.new == {0: on, 1: off}
    assert transition.interrupted_gpus == transition.reset_gpus == [1]
