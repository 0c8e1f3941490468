"""What free partitions are kept for, and how many the worst case takes, by trying all sets of services."""

from itertools import combinations

import numpy as np
import pytest

from sliceplan.solver.exact.mig.spare_rules import SpareRules, spare_rules, worst_case
from sliceplan.solver.model.problem import Settings


@pytest.mark.parametrize(
    ("services", "rate", "loss", "expected"),
    [
        (0, 0.0, False, None),
        (2, 0.5, False, SpareRules(2, 0.5, False)),
        (1, 1e-6, False, SpareRules(1, 1e-6, False)),
        (0, 0.0, True, SpareRules(0, 0.0, True)),
        (2, 0.5, True, SpareRules(2, 0.5, True)),
    ],
)
def test_free_partitions_are_for_more_rate_of_some_services_or_for_a_lost_gpu(services, rate, loss, expected):
    assert spare_rules(Settings(spare_services=services, spare_rate=rate, spare_gpu_loss=loss)) == expected


@pytest.mark.parametrize("services", [0, 1, 2, 3, 9])
def test_the_worst_case_is_the_greatest_of_any_so_many_services_of_each_size(services):
    draw = np.random.default_rng(services)
    for _ in range(10):
        extra = draw.integers(0, 4, (4, 3))
        together = [list(rows) for rows in combinations(range(4), min(services, 4))]
        expected = [max(extra[rows, k].sum() for rows in together) for k in range(3)]
        assert worst_case(extra, services).tolist() == expected
