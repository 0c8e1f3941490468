"""
A plan as a table: CSV as RFC 4180 and spreadsheets read it, UTF-8, one row for each workload on a partition.

A spreadsheet takes a cell that begins with = + - @, a tab or a return for a formula. Such a text gets an apostrophe in
front, as OWASP ("CSV Injection") advises; of the plan's texts a GPU's id and a label can begin so. Numbers stay as
they are.
"""

import csv
import io

from ...model.plan import Plan
from ..cells import Cell, no_formula
from .planned_gpus import legal_gpus
from .target import Export, Options

COLUMNS = (
    "plan",
    "node",
    "gpu_index",
    "gpu_id",
    "gpu_type",
    "sharing",
    "partition",
    "mig_profile",
    "start_memory_slice",
    "sm_percent",
    "workload",
    "batch_size",
    "processes",
    "latency_ms",
    "capacity_rps",
    "rate_rps",
    "memory_per_process_mib",
    "duty_cycle_ms",
    "basis",
    "turns",
    "cores",
    "first_core",
    "label",
)
"""The columns in their order, which later versions only add to."""


def export(plan: Plan, options: Options) -> Export:
    """Returns one file; a field that does not apply is empty. Partitions that are kept free have no row."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    free = 0
    for planned in legal_gpus(plan, options.source):
        for number, one in enumerate(planned.partitions):
            free += not one.serves
            for served in one.serves:
                row: tuple[Cell, ...] = (
                    plan.problem.name,
                    planned.node,
                    planned.index,
                    planned.id,
                    planned.gpu,
                    planned.sharing,
                    number,
                    one.mig_profile,
                    one.start if one.cores is None else None,
                    one.sm_percent,
                    served.workload,
                    served.batch,
                    served.processes,
                    served.latency_ms,
                    served.capacity_rps,
                    served.rate_rps,
                    served.memory_mib,
                    one.duty_cycle_ms,
                    served.basis,
                    one.turns,
                    one.cores,
                    None if one.cores is None else one.start,
                    plan.labels.get(served.workload),
                )
                writer.writerow([no_formula(cell) for cell in row])
    warnings = (f"Partitions that are kept free have no row: {free}.",) if free else ()
    return Export({f"{plan.problem.name}.csv": text.getvalue()}, warnings)
