"""
What genai-perf and AIPerf write of one run: metrics by name, each with its unit and statistics.

    JSON    {"request_latency": {"unit": "ms", "avg": 41.0, "p99": 77.1}, ..., "input_config": {...}}
    CSV     Metric,avg,min,max,p99,...  blank line  Metric,Value        names with units: Request Latency (ms)

Early releases of AIPerf put the metrics below "records"; numbers of the CSV have commas ("6,406.20"). These tools test
servers that batch whatever is in flight, so the requests in flight are the batch. The number is in the JSON's
input_config; the CSV does not have it.
"""

from typing import Any

from .figures import in_ms, in_per_second, name_and_unit, positive
from .sample import STATISTICS, Sample, refused
from .tables import Table

LATENCY, THROUGHPUT = "Request Latency", "Request Throughput"


def sample_of_metrics(data: dict[str, Any], source: str, where: str) -> Sample:
    """Returns the sample of one run's JSON; raises InputError if it was cut short, or lacks what a profile needs."""
    nested = data.get("records")
    metrics = {**data, **nested} if isinstance(nested, dict) else data
    if data.get("was_cancelled") is True:
        raise refused(source, where, "was cancelled (was_cancelled); a run that was cut short is no measurement")
    if errors := data.get("error_summary"):
        raise refused(source, where, f"had errors (error_summary has {len(errors)}); repeat the run without them")
    latency, throughput = metrics.get("request_latency"), metrics.get("request_throughput")
    if not isinstance(latency, dict) or not isinstance(throughput, dict):
        raise refused(source, where, "lacks request_latency or request_throughput; expected one run's export")
    latencies = {
        name: in_ms(latency[name], latency.get("unit"), source, f"{where} request_latency.{name}".strip())
        for name in STATISTICS
        if latency.get(name) is not None
    }
    rate = in_per_second(
        throughput.get("avg"), throughput.get("unit"), source, f"{where} request_throughput.avg".strip()
    )
    config = data.get("input_config")
    concurrency = _only(_values(config, "concurrency"))
    return Sample(
        source=source,
        where=where,
        inferences_per_s=rate,
        latencies_ms=latencies,
        model=_only_text([*_values(config, "model_names"), *_values(config, "model_name"), *_values(config, "model")]),
        concurrency=None if concurrency is None else positive(concurrency, source, f"{where} concurrency".strip()),
        request_batch=1,
        continuous=True,
        processes=1,
    )


def sample_of_tables(tables: list[Table], source: str) -> Sample:
    """Returns the sample of one run's CSV; raises InputError if it lacks what a profile needs."""
    latencies: dict[str, float] = {}
    rate = None
    for row in (row for table in tables for row in table):
        name, unit = name_and_unit(row.cells.get("Metric", ""))
        where = f"{row.where}, {name}"
        if name == LATENCY:
            known = [one for one in STATISTICS if row.cells.get(one)]
            latencies = {one: in_ms(row.cells[one], unit, source, f"{where} {one}") for one in known}
        elif name == THROUGHPUT:
            value = row.cells.get("Value") or row.cells.get("avg")
            rate = in_per_second(value, unit, source, where)
    if rate is None or not latencies:
        message = f"lacks the row {THROUGHPUT if rate is None else LATENCY}; expected one run's export"
        raise refused(source, "", message)
    return Sample(source, "", rate, latencies, request_batch=1, continuous=True, processes=1)


def _values(config: Any, key: str, depth: int = 0) -> list[Any]:
    """Returns every value of a key, however deep it stands."""
    if depth > 12:
        return []
    if isinstance(config, dict):
        here = [config[key]] if key in config and config[key] is not None else []
        return here + [found for value in config.values() for found in _values(value, key, depth + 1)]
    if isinstance(config, list):
        return [found for value in config for found in _values(value, key, depth + 1)]
    return []


def _only(values: list[Any]) -> Any:
    """Returns the number that all agree on; None: there is none, or they do not."""
    numbers = {value for value in values if isinstance(value, int | float) and not isinstance(value, bool)}
    return numbers.pop() if len(numbers) == 1 else None


def _only_text(values: list[Any]) -> str | None:
    """Returns the text that all agree on, each of them a text or a list of texts; None: there is none."""
    texts = [text for value in values for text in (value if isinstance(value, list) else [value])]
    found = {text for text in texts if text} if all(isinstance(text, str) for text in texts) else set()
    return found.pop() if len(found) == 1 else None
