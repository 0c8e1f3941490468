"""
Reads a table of measurements on cores of CPUs: CSV with a header, a row for each operating point.

    model,cpu,cores,batch,processes,latency_ms,throughput_rps,memory_mib
    ranker,Graviton3,8,1,2,11.6,171,900

`memory_mib`, of all processes together, may be missing, or empty. Figures that rise with the cores stay as they are: a
point is what was measured there, and a plan takes another one where that is cheaper.
"""

from pathlib import Path, PurePath

from ..model.errors import Finding, InputError
from ..model.parsing import grouped, parse_part, parse_record, read_text
from ..model.profile import MeasuredPoint, Profile
from .measurements.figures import positive
from .measurements.sample import refused
from .measurements.tables import Row, Table, read_tables
from .profile_files import refuse_impossible

WHOLE = ("cores", "batch", "processes")
NEEDED = ("model", "cpu", *WHOLE, "latency_ms", "throughput_rps")
OPTIONAL = ("memory_mib",)


def read_core_table(path: Path) -> list[Profile]:
    """
    Returns one profile for each model and CPU type, in the order of the rows.

    Raises
    ------
    InputError
        If a column is missing or unknown, a row is not as described, two rows are of one operating point, or cores are
        no partition of their CPU type; all findings of a kind at once.
    """
    source = str(path)
    points: dict[tuple[str, str], dict[tuple[int | None, int, int], MeasuredPoint]] = {}
    findings: list[Finding] = []
    for row in _table(read_text(path), source):
        try:
            point = _point(row)
        except InputError as error:
            findings += error.findings
            continue
        of_model = points.setdefault((row.cells["model"], row.cells["cpu"]), {})
        key = (point.cores, point.batch, point.processes)
        if key in of_model:
            findings.append(Finding(source, row.where, "is an operating point that stands there already; remove one"))
        of_model[key] = point
    if findings:
        raise InputError(grouped(findings))
    provenance = {"source": PurePath(path).name, "method": "Measured; a table of points, read as it is."}
    made = [
        parse_record(
            Profile, {"model": model, "cpu": cpu, "provenance": provenance, "points": list(of_model.values())}, source
        )
        for (model, cpu), of_model in points.items()
    ]
    refuse_impossible(made, source)
    return made


def _table(text: str, source: str) -> Table:
    (table, *others) = read_tables(text, source)
    header = set(table[0].cells)
    missing = [name for name in NEEDED if name not in header]
    unknown = [name for name in table[0].cells if name not in (*NEEDED, *OPTIONAL)]
    if others or missing or unknown:
        wrong = (
            f"has no column {missing[0]}" if missing else f"has a column {unknown[0]!r}" if unknown else "is two tables"
        )
        expected = f"expected {', '.join(NEEDED)}, and perhaps {OPTIONAL[0]}"
        raise refused(source, "line 1", f"{wrong}; {expected}")
    return table


def _point(row: Row) -> MeasuredPoint:
    """Returns what a row says; raises InputError with the line and the column of what is wrong."""
    if missing := [name for name in NEEDED if not row.cells.get(name)]:
        raise InputError(
            [Finding(row.source, f"{row.where}, {name}", "is missing; it is required") for name in missing]
        )
    columns = [name for name in (*NEEDED[2:], *OPTIONAL) if row.cells.get(name)]
    data: dict[str, float] = {}
    for name in columns:
        value = positive(row.cells[name], row.source, f"{row.where}, {name}")
        data[name] = int(value) if name in WHOLE and value.is_integer() else value
    return parse_part(MeasuredPoint, data, row.source, row.where)
