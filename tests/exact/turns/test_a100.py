"""Sets of rates on four A100 by gpu-lets' own limits; all 1,023 are decided by tests/benchmarks/turns.py."""

import pytest
from problems.gpulets_optimum import decided, every_content


def test_there_are_as_many_contents_as_in_an_independent_prototype():
    numbers = {share: len(one.batch) for share, one in every_content().items()}
    assert numbers == {20: 43, 40: 139, 50: 169, 60: 263, 80: 298, 100: 392}


@pytest.mark.parametrize(
    ("rates", "possible", "by_the_bound"),
    [
        ((800, 800, 800, 400, 400), True, False),
        ((2400, 2400, 1600, 2400, 1600), False, False),
        ((2400, 2400, 2400, 2400, 2400), False, True),
    ],
)
def test_sets_of_rates_are_decided(rates, possible, by_the_bound):
    assert decided(rates) == (possible, by_the_bound)
