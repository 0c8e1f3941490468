"""
Reads `perf_analyzer -f FILE.csv` (Triton; `perf_client` before): one row a load, times in microseconds.

    Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,
    Server Compute Infer,Server Compute Output,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency

With `Request Rate` in the first place requests are sent at a rate. Early releases have one column `Server Compute`.
`--verbose-csv` adds `Avg latency` and GPU figures as `uuid:value;`, with a `;` at the end. Rows come in the order of
throughput. Model, batch size (-b) and instances are not in the file.
"""

import re

from .figures import positive
from .sample import Sample, SourceText, collected, refused
from .tables import Row, read_tables

MICROSECONDS_PER_MS = 1000.0
BYTES_PER_MIB = 2.0**20
THROUGHPUT = "Inferences/Second"
PERCENTILES = {f"{name} latency": name for name in ("p50", "p90", "p95", "p99")} | {"Avg latency": "avg"}
COMPUTE = ("Server Compute", "Server Compute Input", "Server Compute Infer", "Server Compute Output")
MEMORY = "Max GPU Memory Usage"

_GPU = re.compile(r"([^:;]+):([0-9.eE+]+)")


def read(files: list[SourceText]) -> list[Sample]:
    """Returns a sample for each row of each file; raises InputError with every finding."""
    rows = [row for file in files for row in _rows(file)]
    return collected(rows, _sample)


def _rows(file: SourceText) -> list[Row]:
    (table, *others) = read_tables(file.text, file.source)
    header = table[0].cells
    if others or THROUGHPUT not in header or not {"Concurrency", "Request Rate"} & set(header):
        expected = f"expected the columns Concurrency or Request Rate, and {THROUGHPUT}, in one table"
        raise refused(file.source, "line 1", f"is not the header of perf_analyzer's CSV; {expected}")
    return table


def _sample(row: Row) -> Sample:
    def figure(column: str) -> float:
        return positive(row.cells[column], row.source, f"{row.where}, {column}")

    latencies = {
        name: figure(column) / MICROSECONDS_PER_MS
        for column, name in PERCENTILES.items()
        if row.cells.get(column) not in (None, "")
    }
    compute = [figure(column) for column in COMPUTE if row.cells.get(column) not in (None, "", "0")]
    if compute:
        latencies["compute"] = sum(compute) / MICROSECONDS_PER_MS
    if not latencies:
        raise refused(row.source, row.where, f"has no latency; expected one of {', '.join(PERCENTILES)}")
    return Sample(
        source=row.source,
        where=row.where,
        inferences_per_s=figure(THROUGHPUT),
        latencies_ms=latencies,
        concurrency=figure("Concurrency") if "Concurrency" in row.cells else None,
        memory_mib=_memory(row),
    )


def _memory(row: Row) -> float | None:
    """Returns the memory of the only GPU; None: not said, or of several."""
    cell = row.cells.get(MEMORY, "")
    parts = [part for part in cell.split(";") if part.strip()]
    found = [_GPU.fullmatch(part.strip()) for part in parts]
    if any(match is None for match in found):
        raise refused(row.source, f"{row.where}, {MEMORY}", f"is {cell[:40]!r}; expected uuid:value;")
    values = [match[2] for match in found if match]
    return positive(values[0], row.source, f"{row.where}, {MEMORY}") / BYTES_PER_MIB if len(values) == 1 else None
