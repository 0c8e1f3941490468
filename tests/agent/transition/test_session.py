"""How long steps may take, what hooks report, and which checkpoints a folder keeps."""

import sys

import pytest

from sliceplan.agent.devices.simulated.node import SimulatedNode
from sliceplan.agent.files.durable_files import NotWrittenError
from sliceplan.agent.model.core_services import CpuState
from sliceplan.agent.model.node import GpuState, Instance, Service
from sliceplan.agent.model.steps import CheckHealth, ResetGpu, StartMps, steps_between
from sliceplan.agent.transition.dry_run import DryRun, dry_run
from sliceplan.agent.transition.hooks import run_hooks
from sliceplan.agent.transition.session import Patience

NODE = SimulatedNode.in_state({0: GpuState("A100-80GB", True)})


@pytest.mark.parametrize(
    ("step_s", "step", "limit_s"),
    [
        (None, StartMps(0, None), 60.0),
        (5.0, StartMps(0, None), 5.0),
        (5.0, ResetGpu(0), 300.0),
        (None, CheckHealth(0, Service("a")), 900.0),
    ],
)
def test_steps_that_wait_for_others_have_a_limit_of_their_own(step_s, step, limit_s):
    assert Patience(step_s=step_s).limit_s(step) == limit_s


def test_a_hook_is_said_before_it_runs_and_its_last_line_where_it_fails(session_of, said):
    ends = {"sys.stderr": "on stderr", "sys.stdout": "on stdout"}
    hooks = [
        [sys.executable, "-Sc", f"import sys; print('x\\n{text}', file={to}); sys.exit(3)"] for to, text in ends.items()
    ]
    run_hooks(session_of(NODE, hooks=hooks))
    assert said == [
        *(f"Running {' '.join(hooks[0])}", "  failed with exit code 3: on stderr"),
        *(f"Running {' '.join(hooks[1])}", "  failed with exit code 3: on stdout"),
    ]


def test_a_checkpoint_has_a_name_that_no_other_has(folder):
    for name in ("checkpoint-T.json", "checkpoint-T-2.json", "checkpoint-T-3.json"):
        assert folder.new_name("T") == name
        folder.write(name, b"{}")


def test_only_checkpoints_are_forgotten(folder):
    for number in range(25):
        folder.write(f"checkpoint-{number:02}.json", b"{}")
        folder.write(f"other-{number:02}.json", b"{}")
    folder.forget_old_checkpoints(None)
    assert [name for name in folder.names() if name.startswith("other")] == [f"other-{n:02}.json" for n in range(25)]
    assert sum(name.startswith("checkpoint") for name in folder.names()) == 20


def test_a_folder_whose_files_go_away_meanwhile_says_so(folder, monkeypatch):
    monkeypatch.setattr(type(folder), "names", lambda _: ["checkpoint-gone.json"])
    with pytest.raises(NotWrittenError):
        folder.forget_old_checkpoints(None)


def test_steps_reach_a_state_where_none_is_refused_and_nothing_differs():
    assert DryRun((), None, ()).reached
    assert not DryRun((), "step 1: no", ()).reached
    assert not DryRun((), None, ("GPU 0: is missing",)).reached


def test_a_step_that_is_refused_is_named_by_its_number():
    wanted = {0: GpuState("A100-80GB", True, frozenset({Instance(0, "7g.80gb"), Instance(4, "3g.40gb")}))}
    tried = dry_run(NODE.state(), wanted)
    assert tried.refused.startswith("step 3: ")
    assert not tried.differences


@pytest.mark.parametrize(("key", "wanted"), [(0, CpuState("EPYC-9R14")), ("cpu0", GpuState("A100-80GB", True))])
def test_steps_lead_from_gpus_to_gpus_and_from_cpus_to_cpus(key, wanted):
    with pytest.raises(ValueError, match="is a GPU here and a CPU there"):
        steps_between({key: NODE.state()[0]}, {key: wanted})
