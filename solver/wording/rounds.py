"""Services that take turns on a partition, in words."""

from ..model.plan import Partition


def round_in_words(partition: Partition) -> str:
    """Returns how the services of a partition take turns, to stand behind their names; empty: they do not."""
    if partition.duty_cycle_ms is None:
        return ""
    if len(partition.serves) < 2:
        return f", a batch every {partition.duty_cycle_ms:.4g} ms"
    order = "in any order" if partition.turns == "any" else "in fixed slots"
    return f", in turn {order}, a round of {partition.duty_cycle_ms:.4g} ms"
