"""
Reads the report of OpenVINO's `benchmark_app -report_type no_counters`: one run a file, times in milliseconds.

    benchmark_report.csv     sections of `name;value`: Configuration setup, Execution results
    benchmark_report.json    the same below configuration_setup and execution_results (-json_stats of the C++ program)

A stream runs one inference at a time on its part of the cores, so streams are the instances of the model, and parallel
infer requests what is in flight. Throughput counts frames: inferences, whatever the batch. One percentile is in the
report, the median unless -latency_percentile says another (the C++ program's `latency_median` is that percentile, too).
The JSON of the Python program repeats the command line in every section (openvino tools, statistics_report.py): its
CSV is to be taken. On how many cores it ran is in no report (-nthreads, or the affinity of the process).
"""

import json
import re
from collections.abc import Mapping

from .figures import json_documents, positive, whole
from .sample import STATISTICS, LeftOut, Sample, SourceText, collected, refused

FROM_JSON = {
    "topology": "topology",
    "target_device": "target device",
    "benchmark_mode": "benchmark mode",
    "batch_size": "batch size",
    "nireq": "number of parallel infer requests",
    "latency_avg": "average latency (ms)",
    "throughput": "throughput",
    "error": "error",
}
"""Names in the JSON -> those in the CSV, in small letters."""

AVERAGE = ("average latency (ms)", "avg latency")
MEDIAN = ("median latency (ms)", "latency (ms)")
REQUESTS = "number of parallel infer requests"

_PERCENTILE = re.compile(r"latency \((\d+) percentile\) \(ms\)")
_STREAMS = re.compile(r"number of (.+) streams")

Entries = Mapping[str, str]
"""Name of an entry, in small letters -> what it says."""


def read(files: list[SourceText]) -> list[Sample | LeftOut]:
    """Returns a sample for each report, or why it is left out; raises InputError with every finding."""
    return collected(files, _of_file)


def _of_file(file: SourceText) -> Sample | LeftOut:
    found = _of_json(file) if file.text.lstrip().startswith("{") else _of_csv(file)
    if found.get("error"):
        raise refused(file.source, "error", f"is {found['error'][:80]!r}; the run failed")
    device = found.get("target device", "")
    if device.upper().startswith(("MULTI", "AUTO", "HETERO")):
        return LeftOut(file.source, "", f"is of several devices ({device[:40]}); measure each alone")
    latencies = _latencies(found, file.source)
    if not latencies or "throughput" not in found:
        missing = "latency" if not latencies else "throughput"
        message = f"has no {missing}; expected benchmark_report.csv or .json of benchmark_app, of a run of inferences"
        raise refused(file.source, "", message)
    streams = [value for name, value in found.items() if _STREAMS.fullmatch(name)]
    requests = whole(found[REQUESTS], file.source, REQUESTS) if REQUESTS in found else None
    processes = whole(streams[0], file.source, "streams") if len(streams) == 1 else None
    if requests is not None and processes is not None and requests > processes:
        message = (
            f"are {requests} on {processes} streams, so that latencies include waiting; run it with -nireq {processes}"
        )
        raise refused(file.source, REQUESTS, message)
    mode = found.get("benchmark mode", found.get("inference_only", "")).lower()
    return Sample(
        source=file.source,
        where="",
        inferences_per_s=positive(found["throughput"], file.source, "throughput"),
        latencies_ms=latencies,
        model=found.get("topology") or None,
        concurrency=requests,
        request_batch=whole(found["batch size"], file.source, "batch size") if "batch size" in found else None,
        processes=processes,
        remark="inputs were filled before the runs, not between them" if mode in ("inference only", "true") else None,
    )


def _latencies(found: Entries, source: str) -> dict[str, float]:
    latencies = {}
    for name, value in found.items():
        match = _PERCENTILE.fullmatch(name)
        statistic = "avg" if name in AVERAGE else "p50" if name in MEDIAN else f"p{match[1]}" if match else ""
        if statistic in STATISTICS:
            latencies[statistic] = positive(value, source, name)
    return latencies


def _of_csv(file: SourceText) -> Entries:
    """Returns the entries of all sections; the first of a repeated name, which is that of the run as a whole."""
    found: dict[str, str] = {}
    for line in file.text.splitlines():
        name, semicolon, value = line.strip().partition(";")
        if semicolon:
            found.setdefault(name.strip().lower(), value.strip().rstrip(";"))
    return found


def _of_json(file: SourceText) -> Entries:
    (report, *others) = json_documents(file.text, file.source)
    sections = (
        [report.get(name) for name in ("configuration_setup", "execution_results")] if isinstance(report, dict) else []
    )
    setup, results = sections if sections else (None, None)
    if others or not isinstance(setup, dict) or not isinstance(results, dict):
        message = "is not benchmark_app's; expected configuration_setup and execution_results in one JSON document"
        raise refused(file.source, "", message)
    entries = {
        name: value if isinstance(value, str) else json.dumps(value) for name, value in {**setup, **results}.items()
    }
    found = {FROM_JSON[name]: value for name, value in entries.items() if name in FROM_JSON}
    if "latency_median" in entries:
        percentile = entries.get("percentile_boundary", "50")
        found["median latency (ms)" if percentile == "50" else f"latency ({percentile} percentile) (ms)"] = entries[
            "latency_median"
        ]
    for name, value in entries.items():
        if name.endswith("_streams_num"):
            found[f"number of {name.removesuffix('_streams_num')} streams"] = value
    return found
