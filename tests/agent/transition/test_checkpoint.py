"""Checkpoints have the numbers that NVIDIA's own tools read."""

import json

import pytest

from sliceplan.agent.model.desired import PlanReference
from sliceplan.agent.model.live import LiveGpu, LiveInstance
from sliceplan.agent.model.node import GpuState
from sliceplan.agent.transition.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from sliceplan.solver.model.errors import InputError

# NVML_COMPUTE_INSTANCE_PROFILE_n_SLICE of nvml.h.
NUMBERS = {"1g.10gb": 0, "2g.20gb": 1, "3g.40gb": 2, "4g.40gb": 3, "7g.80gb": 4}


class Folder:
    """Keeps what is written."""

    def write(self, _name, content):
        self.content = json.loads(content)


@pytest.mark.parametrize("profile", NUMBERS)
def test_a_compute_instance_of_full_size_has_the_number_of_its_profile(profile):
    instance = LiveInstance(start=0, profile=profile, gi_id=1, ci_ids=(0,), uuid="MIG-1")
    live = {0: LiveGpu("A100-80GB", "GPU-1", mig_enabled=True, mig_pending=True, instances=(instance,))}
    folder = Folder()
    write_checkpoint(folder, "c.json", live, Checkpoint(when="now", state={}, plan=None))
    (found,) = folder.content["MigState"]["Devices"][0]["GpuInstances"]
    assert found["ComputeInstances"] == [{"ProfileID": NUMBERS[profile], "EngProfileID": 0}]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "is missing; there is nothing to go back to"),
        (b"", "is not a checkpoint of sliceplan-agent"),
        (b"[]", "is not a checkpoint of sliceplan-agent"),
        (b'{"Version": "v1"}', "is not a checkpoint of sliceplan-agent"),
        (b'{"Sliceplan": {"when": "now"}}', "c.json"),
    ],
)
def test_a_file_that_is_none_is_no_state_to_come_back_to(folder, content, said):
    if content is not None:
        folder.write("c.json", content)
    with pytest.raises(InputError) as error:
        read_checkpoint(folder, "c.json")
    assert said in str(error.value)


def test_what_is_written_is_read_again(folder):
    one = Checkpoint("now", {0: GpuState("A100-80GB", True)}, PlanReference("p.json", "0" * 64))
    write_checkpoint(folder, "c.json", {}, one)
    assert read_checkpoint(folder, "c.json") == one


@pytest.mark.parametrize(
    ("gpu", "profile", "number"),
    [("A100-80GB", "3g.40gb", 1), ("A100-80GB", "9g.9gb", 0), ("T4", "x", 0), ("?", "x", 0)],
)
def test_instances_that_the_catalogue_does_not_know_are_left_out(gpu, profile, number):
    instance = LiveInstance(start=0, profile=profile, gi_id=1, ci_ids=(0,), uuid="MIG-1")
    live = {0: LiveGpu(gpu, "GPU-1", mig_enabled=True, mig_pending=True, instances=(instance,))}
    folder = Folder()
    write_checkpoint(folder, "c.json", live, Checkpoint(when="now", state={}, plan=None))
    (device,) = folder.content["MigState"]["Devices"]
    assert len(device["GpuInstances"]) == number
