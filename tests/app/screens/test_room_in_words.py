"""How far all rates can grow, in words: two figures, both true as they stand."""

from types import SimpleNamespace

import pytest

from sliceplan.app.screens.plan.next_questions import in_words

PROVEN = "they cannot, which is proven."


@pytest.mark.parametrize(
    ("factor", "limit", "said"),
    [
        (None, None, "no factor was found in time."),
        (1.0617, 1.0618, f"all rates can grow by 6.1% on these GPUs, divided anew; by 6.2% {PROVEN}"),
        (1.0621, 1.0624, f"all rates can grow by 6.2% on these GPUs, divided anew; by 6.3% {PROVEN}"),
        (1.2, 1.27, f"all rates can grow by 20.0% on these GPUs, divided anew; by 27.0% {PROVEN}"),
        (1.0004, 1.0008, f"none on these GPUs; by 0.1% {PROVEN}"),
        (1.0, None, "none on these GPUs."),
        (2.5, None, "all rates can grow by 150.0% on these GPUs, divided anew."),
    ],
)
def test_what_can_be_and_what_cannot(factor, limit, said):
    assert in_words(SimpleNamespace(factor=factor, factor_limit=limit)) == said
