"""
Reads genai-perf: profile_export_genai_perf.json or .csv of one run, and analyze_export_genai_perf.csv of a sweep.

    Config Name,Concurrency,ISL,Num Prompts,...,p99 Request Latency (ms),...,Request Throughput (requests/sec)

A sweep has a second table with GPU figures, which says nothing of latencies. A profile is for one length of input and
output, so a sweep over several is refused.
"""

from .figures import in_ms, in_per_second, json_documents, name_and_unit, positive
from .metric_exports import LATENCY, THROUGHPUT, sample_of_metrics, sample_of_tables
from .sample import STATISTICS, Sample, SourceText, collected, refused
from .tables import Row, Table, read_tables

SWEEP = "Config Name"
LENGTHS = ("ISL", "OSL")


def read(files: list[SourceText]) -> list[Sample]:
    """Returns a sample for each run; raises InputError with every finding."""
    return [sample for found in collected(files, _of_file) for sample in found]


def _of_file(file: SourceText) -> list[Sample]:
    if file.text.lstrip().startswith(("{", "[")):
        documents = json_documents(file.text, file.source)
        if len(documents) != 1 or not isinstance(documents[0], dict):
            raise refused(file.source, "", "is JSON, but not one run's; expected profile_export_genai_perf.json")
        return [sample_of_metrics(documents[0], file.source, "")]
    tables = read_tables(file.text, file.source)
    if SWEEP in tables[0][0].cells:
        return _sweep(tables, file.source)
    return [sample_of_tables(tables, file.source)]


def _sweep(tables: list[Table], source: str) -> list[Sample]:
    rows = [row for table in tables for row in table if "Concurrency" in row.cells]
    for column in LENGTHS:
        found = sorted({row.cells[column] for row in rows if column in row.cells})
        if len(found) > 1:
            raise refused(
                source, column, f"has {', '.join(found[:5])}; a profile is for one length: keep one in the file"
            )
    return collected(rows, _row)


def _row(row: Row) -> Sample:
    latencies = {}
    rate = None
    for header, cell in row.cells.items():
        name, unit = name_and_unit(header)
        where = f"{row.where}, {header}"
        statistic = name.removesuffix(LATENCY).strip().lower().replace("avg.", "avg")
        if name.endswith(LATENCY) and statistic in STATISTICS:
            latencies[statistic] = in_ms(cell, unit, row.source, where)
        elif name == THROUGHPUT:
            rate = in_per_second(cell, unit, row.source, where)
    if rate is None or not latencies:
        raise refused(row.source, row.where, f"lacks the column {THROUGHPUT if rate is None else LATENCY}")
    concurrency = positive(row.cells["Concurrency"], row.source, f"{row.where}, Concurrency")
    return Sample(
        row.source,
        row.where,
        rate,
        latencies,
        concurrency=concurrency,
        request_batch=1,
        continuous=True,
        processes=1,
    )
