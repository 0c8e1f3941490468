"""Records in less memory say what they said before."""

import copy
import pickle

from sliceplan.solver.model.base import compact
from sliceplan.solver.model.problem import Workload

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
