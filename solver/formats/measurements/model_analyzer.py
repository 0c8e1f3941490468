"""
Reads the tables of Triton's Model Analyzer, by their headers, since users choose the columns:

    metrics-model-inference.csv    Model,Batch,Concurrency,Model Config Path,Instance Group,Max Batch Size,...,
                                   Throughput (infer/sec),p99 Latency (ms)
    metrics-model-gpu.csv          the same key, and Max GPU Memory Usage (MB): joined to it if given too
    metrics-server-only.csv        the idle server: nothing for a profile

The batch is that of a request; with concurrency the server forms larger ones, up to `Max Batch Size`. `Request Rate`
stands in place of `Concurrency` if requests were sent at a rate.

A row of an ensemble has quoted lists of its models' settings ("2:GPU,2:GPU", "0,0"). Its requests pass from model to
model, so that as many are executed at once as there are instances of all its models: these are its processes, where all
models have as many. Left out are ensembles whose models differ in instances or largest batch, what runs on the CPU, and
several models measured at once.
"""

import re

from .figures import MILLISECONDS, in_ms, in_per_second, name_and_unit, positive, whole
from .sample import LeftOut, Sample, SourceText, collected, refused
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

_INSTANCES = re.compile(r"(\d+)[:/](GPU|CPU)")

ENSEMBLE = "it is an ensemble, whose processes are the instances of all its models together"


def read(files: list[SourceText]) -> list[Sample | LeftOut]:
    """Returns a sample for each row of the inference tables, or why it is left out; raises InputError as all do."""
    tables = [table for file in files for table in read_tables(file.text, file.source)]
    inference = [table for table in tables if _throughput_column(table[0]) is not None]
    memory = _memory([row for table in tables if table not in inference for row in table])
    if not inference:
        message = "has no column Throughput (infer/sec); expected metrics-model-inference.csv"
        raise refused(files[0].source, "", message)
    return collected([row for table in inference for row in table], lambda row: _sample(row, memory))


def _sample(row: Row, memory: dict[tuple[str, ...], float]) -> Sample | LeftOut:
    model = row.cells.get("Model", "")
    if (reason := _not_one_service(row)) is not None:
        return LeftOut(row.source, row.where, reason)
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
    groups, (largest, *_) = _parts(row, "Instance Group"), _parts(row, "Max Batch Size")
    instances = _INSTANCES.fullmatch(groups[0])
    optional = {name: row.cells.get(name) or None for name in ("Batch", "Concurrency")} | {"Max Batch Size": largest}
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
        max_batch=_optional(row, "Max Batch Size", optional) if largest != "0" else 1,
        processes=len(groups) * whole(instances[1], row.source, f"{row.where}, Instance Group") if instances else None,
        memory_mib=memory.get(_key(row)),
        remark=ENSEMBLE if len(groups) > 1 else None,
    )


def _parts(row: Row, column: str) -> list[str]:
    """Returns the settings of each model of an ensemble, or of the only one."""
    return [part.strip() for part in row.cells.get(column, "").split(",")]


def _not_one_service(row: Row) -> str | None:
    """Returns why a row is of no single service on the GPU; None: it is of one."""
    model, batch = row.cells.get("Model", ""), row.cells.get("Batch", "")
    if "," in model or "," in batch:
        return f"is of several models at once ({model[:40]}); measure each alone"
    groups, batches = _parts(row, "Instance Group"), _parts(row, "Max Batch Size")
    found = [_INSTANCES.fullmatch(group) for group in groups]
    if any(match and match[2] == "CPU" for match in found):
        return f"runs on the CPU ({', '.join(groups)[:40]})"
    if len(set(groups)) > 1:
        return f"is of an ensemble whose models have different numbers of instances ({', '.join(groups)[:40]})"
    if len(set(batches)) > 1:
        return f"is of an ensemble whose models have different largest batches ({', '.join(batches)[:40]})"
    return None


def _optional(row: Row, column: str, cells: dict[str, str | None]) -> int | None:
    value = cells[column] or None
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
