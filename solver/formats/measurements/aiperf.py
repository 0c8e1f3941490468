"""
Reads AIPerf: profile_export_aiperf.json or .csv of one run, profile_export_aiperf_sweep.json of a sweep.

    {"aggregation_type": "sweep", "per_combination_metrics": [{"parameters": {"concurrency": 4}, "metrics": {
     "request_throughput_avg": {"mean": 90.1, "unit": "requests/sec"},
     "request_latency_p99": {"mean": 77, "unit": "ms"}}}]}

The sweep's CSV has no units, so it is refused in favour of the JSON. Of several trials the mean is taken. Parameters
may have a path in front (phases.profiling.concurrency). Other parameters than concurrency must not vary: a profile is
for one kind of request.
"""

from typing import Any

from .figures import in_ms, in_per_second, json_documents, positive
from .metric_exports import sample_of_metrics, sample_of_tables
from .sample import STATISTICS, Sample, SourceText, collected, refused
from .tables import read_tables

COMBINATIONS = "per_combination_metrics"


def read(files: list[SourceText]) -> list[Sample]:
    """Returns a sample for each run or combination; raises InputError with every finding."""
    return [sample for found in collected(files, _of_file) for sample in found]


def _of_file(file: SourceText) -> list[Sample]:
    if not file.text.lstrip().startswith(("{", "[")):
        tables = read_tables(file.text, file.source)
        if "Metric" not in tables[0][0].cells:
            message = "is not one run's CSV; a sweep's has no units: take profile_export_aiperf_sweep.json"
            raise refused(file.source, "line 1", message)
        return [sample_of_tables(tables, file.source)]
    documents = json_documents(file.text, file.source)
    if len(documents) > 1:
        message = f"holds {len(documents)} documents, as profile_export.jsonl does; take profile_export_aiperf.json"
        raise refused(file.source, "", message)
    (data,) = documents
    if not isinstance(data, dict):
        raise refused(file.source, "", "is JSON, but not AIPerf's; expected profile_export_aiperf.json")
    if COMBINATIONS not in data:
        return [sample_of_metrics(data, file.source, "")]
    return _sweep(data[COMBINATIONS], file.source)


def _sweep(combinations: Any, source: str) -> list[Sample]:
    if not isinstance(combinations, list) or not all(_is_combination(one) for one in combinations):
        raise refused(source, COMBINATIONS, "is not a list of parameters and metrics")
    values: dict[str, set[str]] = {}
    for one in combinations:
        for name, value in one["parameters"].items():
            values.setdefault(name, set()).add(str(value))
    varying = [name for name, found in values.items() if len(found) > 1 and _leaf(name) != "concurrency"]
    if varying:
        raise refused(source, COMBINATIONS, f"vary {', '.join(varying)}; a profile is for one: sweep concurrency alone")
    return collected(list(enumerate(combinations)), lambda one: _sample(one[0], one[1], source))


def _sample(number: int, combination: dict[str, Any], source: str) -> Sample:
    where = f"{COMBINATIONS}[{number}]"
    metrics = combination["metrics"]
    latencies = {
        name: in_ms(metric.get("mean"), metric.get("unit"), source, f"{where} request_latency_{name}")
        for name in STATISTICS
        if isinstance(metric := metrics.get(f"request_latency_{name}"), dict)
    }
    rate = metrics.get("request_throughput_avg")
    if not latencies or not isinstance(rate, dict):
        missing = "request_throughput_avg" if latencies else "request_latency_p99"
        raise refused(source, where, f"has no {missing}; expected it with mean and unit")
    load = next((v for name, v in combination["parameters"].items() if _leaf(name) == "concurrency"), None)
    return Sample(
        source=source,
        where=where,
        inferences_per_s=in_per_second(rate.get("mean"), rate.get("unit"), source, f"{where} request_throughput_avg"),
        latencies_ms=latencies,
        concurrency=None if load is None else positive(load, source, f"{where} concurrency"),
        request_batch=1,
        continuous=True,
        processes=1,
    )


def _is_combination(one: Any) -> bool:
    return isinstance(one, dict) and isinstance(one.get("parameters"), dict) and isinstance(one.get("metrics"), dict)


def _leaf(parameter: str) -> str:
    return parameter.rpartition(".")[2]
