"""Sets of rates on four A100 by gpu-lets' own limits; all 1,023 are decided by tests/benchmarks/turns.py."""

import pytest
from problems.gpulets_optimum import limited


def test_there_are_as_many_contents_as_in_an_independent_prototype():
    numbers = {share: len(one.batch) for share, one in limited().contents.items()}
    assert numbers == {20: 43, 40: 139, 50: 169, 60: 263, 80: 298, 100: 392}


@pytest.mark.parametrize(
    ("rates", "what", "by"),
    [
        ((800, 800, 800, 400, 400), "possible", "program"),
        ((2400, 2400, 1600, 2400, 1600), "impossible", "program"),
        ((2400, 2400, 2400, 2400, 2400), "impossible", "bound"),
        ((0, 0, 0, 0, 0), "possible", "program"),
    ],
)
def test_sets_of_rates_are_decided(rates, what, by):
    decision = limited().decided(rates, 4)
    assert (decision.what, decision.by) == (what, by)
