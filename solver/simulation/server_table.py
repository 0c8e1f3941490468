"""Servers with their rules as arrays, so that all of them are advanced at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..performance.interference.prediction import Floats, Ints
from .batching.rule import BatchRule
from .server import Server


@dataclass(frozen=True, eq=False)
class ServerTable:
    """Servers with their rules, as arrays; sizes and times of batches of one server after those of the other."""

    batch: Ints
    least: Ints
    delay_ms: Floats
    slack_ms: Floats
    round_ms: Floats
    slot_ms: Floats
    after_ms: Floats
    processes: Ints
    table: Ints
    """Where each server's rows of `sizes` and `batch_ms` begin."""
    sizes: Ints
    batch_ms: Floats


def server_table(servers: Sequence[Server], rules: Sequence[BatchRule]) -> ServerTable:
    """Returns the arrays of servers and of their rules."""
    rows = np.array([server.batch + 1 for server in servers])
    return ServerTable(
        batch=rows - 1,
        least=np.array([rule.least for rule in rules]),
        delay_ms=np.array([rule.delay_ms for rule in rules]),
        slack_ms=np.array([rule.slack_ms for rule in rules]),
        round_ms=np.array([server.round_ms for server in servers]),
        slot_ms=np.array([server.slot_ms for server in servers]),
        after_ms=np.array([server.after_ms for server in servers]),
        processes=np.array([server.processes for server in servers]),
        table=np.cumsum(rows) - rows,
        sizes=np.concatenate([rule.sizes for rule in rules]),
        batch_ms=np.concatenate([server.batch_ms for server in servers]),
    )
