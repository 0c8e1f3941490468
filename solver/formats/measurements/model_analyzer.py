"""
Reads the tables of Triton's Model Analyzer, by their headers, since users choose the columns:

    metrics-model-inference.csv    Model,Batch,Concurrency,Model Config Path,Instance Group,Max Batch Size,...,
                                   Throughput (infer/sec),p99 Latency (ms)
    metrics-model-gpu.csv          the same key, and Max GPU Memory Usage (MB): joined to it if given too
    metrics-server-only.csv        the idle server: nothing for a profile

The batch is that of a request; with concurrency the server forms larger ones, up to `Max Batch Size`. `Request Rate`
stands in place of `Concurrency` if requests were sent at a rate. Rows of several models at once are refused.
"""

import re

from .figures import MILLISECONDS, in_ms, in_per_second, name_and_unit, positive, whole
from .sample import Sample, SourceText, collected, refused
from .tables import Row, read_tables

KEY = ("Model", "Batch", "Concurrency", "Request Rate", "Model Config Path")
MEMORY = ("Max GPU Memory Usage (MB)", "GPU Memory Usage (MB)")
MIB_PER_MB = 1e6 / 2**20
"""Model Analyzer's MB are 10^6 bytes."""

LATENCIES = {
    "p99 Latency": "p99",
    "p95 Latency": "p95",
    "p90 Latency": "p90",
    "p50 Latency": "p50",
    "Avg Latency": "avg",
}
COMPUTE = ("Server Compute Input time", "Server Compute Infer time", "Server Compute Output time")

_INSTANCES = re.compile(r"(\d+)[:/]GPU")


def read(files: list[SourceText]) -> list[Sample]:
    """Returns a sample for each row of the inference tables; raises InputError with every finding."""
    tables = [table for file in files for table in read_tables(file.text, file.source)]
    inference = [table for table in tables if _throughput_column(table[0]) is not None]
    memory = _memory([row for table in tables if table not in inference for row in table])
    if not inference:
        message = "has no column Throughput (infer/sec); expected metrics-model-inference.csv"
        raise refused(files[0].source, "", message)
    return collected([row for table in inference for row in table], lambda row: _sample(row, memory))


def _sample(row: Row, memory: dict[tuple[str, ...], float]) -> Sample:
    model, batch = row.cells.get("Model", ""), row.cells.get("Batch", "")
    if "," in model or "," in batch:
        raise refused(row.source, row.where, f"is of several models at once ({model[:40]}); measure each alone")
    column = _throughput_column(row) or ""
    latencies = {}
    compute = 0.0
    for header, cell in row.cells.items():
        name, unit = name_and_unit(header)
        where = f"{row.where}, {header}"
        if name in LATENCIES and cell:
            latencies[LATENCIES[name]] = in_ms(cell, unit, row.source, where)
        elif name in COMPUTE and cell and unit in MILLISECONDS and cell not in ("0", "0.0"):
            compute += in_ms(cell, unit, row.source, where)
    if compute:
        latencies["compute"] = compute
    if not latencies:
        raise refused(row.source, row.where, "has no latency; expected a column as p99 Latency (ms)")
    groups = _INSTANCES.fullmatch(row.cells.get("Instance Group", ""))
    optional = {name: row.cells.get(name) or None for name in ("Batch", "Max Batch Size", "Concurrency")}
    return Sample(
        source=row.source,
        where=row.where,
        inferences_per_s=in_per_second(
            row.cells[column], name_and_unit(column)[1], row.source, f"{row.where}, {column}"
        ),
        latencies_ms=latencies,
        model=model or None,
        concurrency=_optional(row, "Concurrency", optional),
        request_batch=_optional(row, "Batch", optional),
        max_batch=_optional(row, "Max Batch Size", optional) if optional["Max Batch Size"] != "0" else 1,
        processes=whole(groups[1], row.source, f"{row.where}, Instance Group") if groups else None,
        memory_mib=memory.get(_key(row)),
    )


def _optional(row: Row, column: str, cells: dict[str, str | None]) -> int | None:
    value = cells[column]
    return None if value is None else whole(value, row.source, f"{row.where}, {column}")


def _throughput_column(row: Row) -> str | None:
    return next((header for header in row.cells if name_and_unit(header)[0] == "Throughput"), None)


def _key(row: Row) -> tuple[str, ...]:
    return tuple(row.cells.get(name, "") for name in KEY)


def _memory(rows: list[Row]) -> dict[tuple[str, ...], float]:
    """Returns the memory by key, in MiB; the greatest where several GPUs are listed."""
    found: dict[tuple[str, ...], float] = {}
    for row in rows:
        for column in MEMORY:
            if row.cells.get(column) and row.cells.get("Model") not in (None, "triton-server"):
                value = positive(row.cells[column], row.source, f"{row.where}, {column}") * MIB_PER_MB
                found[_key(row)] = max(value, found.get(_key(row), 0.0))
    return found
