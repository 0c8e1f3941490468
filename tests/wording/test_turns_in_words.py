"""Services that take turns on a partition, in words."""

import pytest
from problems.small_plans import gpu_of, in_turn, partition_of

from sliceplan.solver.wording.rounds import orders_in_words, round_in_words

ALONE = partition_of("1g.10gb@0", "a", 10)
FILLED = ALONE.model_copy(update={"duty_cycle_ms": 12.3456})
FIXED = in_turn(partition_of("1g.10gb@1", "a", 10), partition_of("1g.10gb@1", "b", 10))
ANY = in_turn(partition_of("1g.10gb@2", "a", 10), partition_of("1g.10gb@2", "b", 10), turns="any")
BEFORE = FIXED.model_copy(update={"turns": None})


@pytest.mark.parametrize(
    ("partition", "words"),
    [
        (ALONE, ""),
        (FILLED, ", a batch every 12.35 ms"),
        (FIXED, ", in turn in fixed slots, a round of 40 ms"),
        (ANY, ", in turn in any order, a round of 40 ms"),
        (BEFORE, ", in turn in fixed slots, a round of 40 ms"),
    ],
)
def test_a_partition_says_in_which_order_and_how_often(partition, words):
    assert round_in_words(partition) == words


@pytest.mark.parametrize(
    ("partitions", "words"),
    [
        ([ALONE, FILLED], ""),
        ([ALONE, FIXED], ", turns in fixed slots"),
        ([ANY, ANY], ", turns in any order"),
        ([FIXED, ANY, BEFORE], ", turns in any order and in fixed slots"),
    ],
)
def test_a_gpu_says_all_its_orders_each_once(partitions, words):
    assert orders_in_words(gpu_of("A100-80GB/0", *partitions)) == words
