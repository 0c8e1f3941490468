"""Records in less memory say what they said before."""

import copy
import pickle

import pytest

from sliceplan.solver.model import base
from sliceplan.solver.model.base import compact
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.parsing import parse_record
from sliceplan.solver.model.problem import Problem, Workload

GIVEN = (
    {"name": "a", "model": "m", "rate_rps": 1, "slo_ms": 10},
    {"name": "b", "model": "m", "rate_rps": 2, "slo_ms": 10, "gpus": ["H100"], "max_replicas": 3},
    {"name": "c", "model": "m", "rate_rps": 3, "slo_ms": 10},
)


def test_every_field_and_which_were_given_stay():
    records = [Workload.model_validate(one) for one in GIVEN]
    before = copy.deepcopy(records)
    compact(records)
    assert records == before
    for record, given, was in zip(records, GIVEN, before, strict=True):
        assert record.model_fields_set == set(given)
        assert list(vars(record)) == list(vars(was))  # the order of fields, in which they are written
        assert record.model_dump_json(exclude_unset=True) == was.model_dump_json(exclude_unset=True)
        assert pickle.loads(pickle.dumps(record)) == was == record.model_copy()
    assert records[0].model_fields_set is records[2].model_fields_set
    compact([])


def test_a_copy_with_another_value_leaves_the_others_alone():
    records = [Workload.model_validate(one) for one in GIVEN]
    compact(records)
    other = records[0].model_copy(update={"value": 2.0})
    assert other.model_fields_set == {*GIVEN[0], "value"}
    assert records[0].model_fields_set == records[2].model_fields_set == set(GIVEN[0])
    assert records[2].value is None


def problem_of(workloads):
    return {"version": 1, "name": "p", "fleet": [{"gpu": "H100"}], "workloads": workloads}


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_workloads_that_are_validated_part_by_part_are_those_of_one_validation(monkeypatch, at_once):
    whole = Problem.model_validate(problem_of([*GIVEN]))
    monkeypatch.setattr(base, "AT_ONCE", at_once)
    parts = Problem.model_validate(problem_of([*GIVEN]))
    assert parts == whole
    assert isinstance(parts.workloads, tuple)
    assert [one.model_fields_set for one in parts.workloads] == [set(given) for given in GIVEN]
    assert parts.model_dump_json(exclude_unset=True) == whole.model_dump_json(exclude_unset=True)


@pytest.mark.parametrize("at_once", [1, 2, 99])
def test_what_is_wrong_in_any_part_is_said_with_its_place(monkeypatch, at_once):
    monkeypatch.setattr(base, "AT_ONCE", at_once)
    wrong = [dict(one) for one in GIVEN]
    wrong[1]["slo_ms"], wrong[2]["rate_rps"] = -1, "fast"
    with pytest.raises(InputError) as error:
        parse_record(Problem, problem_of(wrong), "p.yaml")
    assert [found.path for found in error.value.findings] == ["workloads[1].slo_ms", "workloads[2].rate_rps"]
