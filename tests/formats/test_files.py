"""Problems and plans survive being written and read; a failed write leaves what was there."""

import pytest
from hypothesis import given, settings
from problems.instances import problem_of, problems

from sliceplan.solver.api import solve
from sliceplan.solver.formats.plan_files import dump_plan, read_plan, write_plan
from sliceplan.solver.formats.problem_files import dump_problem, parse_problem, read_problem, write_problem
from sliceplan.solver.formats.text_files import write_text
from sliceplan.solver.model.errors import InputError

FULL = problem_of(
    [
        {
            "model": "resnet50",
            "rate_rps": 900.25,
            "slo_ms": 200,
            "gpus": ["A100-80GB"],
            "batch_sizes": [4, 8],
            "min_replicas": 2,
            "max_replicas": 5,
            "memory_mib": 1500,
        }
    ],
    fleet=[{"gpu": "A100-80GB", "price_per_hour": 2, "sharing": ["mig"], "nodes": [{"name": "n", "count": 8}]}],
    headroom=0.2,
    time_limit_s=5,
)


@settings(max_examples=100, deadline=None)
@given(problems())
def test_a_problem_read_back_is_the_one_written(problem):
    """Property: read(write(x)) = x."""
    assert parse_problem(dump_problem(problem), "p.yaml") == problem


@pytest.mark.parametrize("name", ["p.yaml", "p.json"])
def test_a_problem_with_every_field_survives_a_file(tmp_path, name):
    write_problem(FULL, tmp_path / name)
    assert read_problem(tmp_path / name) == FULL


def test_a_plan_with_every_field_survives_a_file(tmp_path):
    plan = solve(FULL)
    write_plan(plan, tmp_path / "plan.json")
    assert read_plan(tmp_path / "plan.json") == plan
    assert dump_plan(read_plan(tmp_path / "plan.json")) == dump_plan(plan)


def test_fields_that_do_not_apply_are_null_and_never_absent():
    text = dump_plan(solve(FULL, "parvagpu"))
    for field in ("sm_percent", "duty_cycle_ms", "gap", "unserved", "bound"):
        assert f'"{field}"' in text


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "plan.json"
    write_text(path, "old")

    def full_disk(*_arguments, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full_disk)
    with pytest.raises(InputError, match="No space left on device"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_plan_in_place_of_a_problem_is_named_so_and_the_other_way_round(tmp_path):
    plan, problem = tmp_path / "plan.json", tmp_path / "problem.json"
    write_plan(solve(FULL), plan)
    write_problem(FULL, problem)
    with pytest.raises(InputError, match="is a plan; expected a problem") as wrong:
        read_problem(plan)
    assert len(wrong.value.findings) == 1
    with pytest.raises(InputError, match="is a problem; expected a plan") as wrong:
        read_plan(problem)
    assert len(wrong.value.findings) == 1
