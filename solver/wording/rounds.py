"""Services that take turns on a partition, in words."""

from ..model.plan import Partition, PlannedGpu

ORDERS = {"any": "in any order", "fixed": "in fixed slots"}


def round_in_words(partition: Partition) -> str:
    """Returns how the services of a partition take turns, to stand behind their names; empty: they do not."""
    if partition.duty_cycle_ms is None:
        return ""
    if len(partition.serves) < 2:
        return f", a batch every {partition.duty_cycle_ms:.4g} ms"
    return f", in turn {_order(partition)}, a round of {partition.duty_cycle_ms:.4g} ms"


def orders_in_words(gpu: PlannedGpu) -> str:
    """Returns in which orders services take turns on a GPU, to stand behind its name; empty: nobody does."""
    orders = {_order(partition) for partition in gpu.partitions if len(partition.serves) > 1}
    return f", turns {' and '.join(sorted(orders))}" if orders else ""


def _order(partition: Partition) -> str:
    return ORDERS[partition.turns or "fixed"]
