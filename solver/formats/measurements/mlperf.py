"""
Reads MLPerf inference logs of loadgen (mlcommons/inference, loadgen/): times in nanoseconds.

    mlperf_log_summary.txt    Scenario : Server / Result is : VALID / Completed samples per second    : 1234.5
                              (older: Scheduled samples per second) / 99.00 percentile latency (ns)   : 31234567
    mlperf_log_detail.txt     :::MLLOG {"key": "result_validity", "value": "VALID", ...}

Server and SingleStream (one sample at a time) tell a latency with its throughput. Offline and MultiStream hand over all
or many samples at once, so that a latency there is that of the run. An accuracy run has no figures: its summary tells
of warnings and errors only. The submission checker's summary.csv has results without latencies. Batch size and
processes are in none of them.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from .figures import MILLISECONDS, positive
from .sample import STATISTICS, LeftOut, Sample, SourceText, collected, refused

NS = MILLISECONDS["ns"]
RATES = (
    "Completed samples per second",
    "Scheduled samples per second",
    "result_completed_samples_per_sec",
    "result_scheduled_samples_per_sec",
)
"""In the order of preference; a scheduled rate is what was sent, which a valid run completes."""

_LATENCY = re.compile(r"(?:result_)?(\d+)(?:\.0+)?[_ ]percentile[_ ]latency[_ ]\(?ns\)?")
_MEAN = ("Mean latency (ns)", "result_mean_latency_ns")
_LOG = ":::MLLOG "
_ONLY_MESSAGES = re.compile(r"^No (warnings|errors) encountered during test", re.MULTILINE)
PERFORMANCE = "take that of a performance run"


def read(files: list[SourceText]) -> list[Sample | LeftOut]:
    """Returns a sample for each log, or why it is left out; raises InputError with every finding."""
    return collected(files, _of_file)


def _of_file(file: SourceText) -> Sample | LeftOut:
    found = _detail(file) if _LOG in file.text else _summary(file)
    why = _why_left_out(file, found)
    return _sample(file.source, found) if why is None else LeftOut(file.source, "", why)


def _why_left_out(file: SourceText, found: Mapping[str, Any]) -> str | None:
    """Returns why a run is no measurement of batches, None: it is one; raises InputError for what is no valid run."""
    if _text(found, "Organization") or file.text.startswith("Organization,"):
        message = "is the submission checker's table, which has no latencies; take mlperf_log_summary.txt of each run"
        raise refused(file.source, "", message)
    if not found and _ONLY_MESSAGES.search(file.text):
        return f"has no figures, as the summary of an accuracy run; {PERFORMANCE}"
    mode = _text(found, "Mode", "effective_test_mode", "requested_test_mode")
    if "Accuracy" in mode:
        return f"is of an accuracy run (Mode is {mode[:40]!r}); {PERFORMANCE}"
    scenario, validity = _scenario(found), _text(found, "Result is", "result_validity")
    if not scenario or not validity:
        message = "has no scenario or no result; expected mlperf_log_summary.txt or mlperf_log_detail.txt"
        raise refused(file.source, "", message)
    if validity != "VALID":
        raise refused(file.source, "Result is", f"{validity[:40]!r}; only a VALID run is a measurement")
    if scenario not in ("Server", "SingleStream"):
        return (
            f"is of the scenario {scenario[:40]!r}, whose latency is not that of a batch; take Server or SingleStream"
        )
    return None


def _sample(source: str, found: Mapping[str, Any]) -> Sample:
    """Returns the load of a valid run; raises InputError if it lacks its latency or its throughput."""
    latencies = _latencies_ms(source, found)
    if not latencies:
        raise refused(source, "", "has no latency; expected 99.00 percentile latency (ns)")
    single = _scenario(found) == "SingleStream"
    if single and "avg" not in latencies:
        raise refused(source, "", "has no mean latency, which gives the throughput of SingleStream")
    rate = next((name for name in RATES if name in found), None)
    if not single and rate is None:
        raise refused(source, "", f"has no {RATES[0]}; expected it in the scenario Server")
    one = 1 if single else None
    return Sample(
        source=source,
        where="",
        inferences_per_s=1000 / latencies["avg"] if single else positive(found[rate or ""], source, rate or ""),
        latencies_ms=latencies,
        concurrency=one,
        request_batch=one,
        processes=one,
    )


def _latencies_ms(source: str, found: Mapping[str, Any]) -> dict[str, float]:
    latencies = {}
    for name, value in found.items():
        match = _LATENCY.fullmatch(name)
        statistic = f"p{match[1]}" if match else "avg" if name in _MEAN else ""
        if statistic in STATISTICS:
            latencies[statistic] = positive(value, source, name) * NS
    return latencies


def _scenario(found: Mapping[str, Any]) -> str:
    return _text(found, "Scenario", "effective_scenario", "requested_scenario").replace(" ", "")


def _text(found: Mapping[str, Any], *names: str) -> str:
    """Returns what the first of the names says that is there; "": none is."""
    return next((str(found[name]) for name in names if name in found), "")


def _summary(file: SourceText) -> dict[str, Any]:
    """Returns what the lines `key : value` say; the first of a repeated key, which is the result proper."""
    found: dict[str, Any] = {}
    for line in file.text.splitlines():
        key, colon, value = line.strip().rpartition(":")
        if colon and key.strip():
            found.setdefault(key.strip(), value.strip())
    return found


def _detail(file: SourceText) -> dict[str, Any]:
    """Returns what the entries of the detailed log say."""
    found: dict[str, Any] = {}
    for number, line in enumerate(file.text.splitlines(), 1):
        if not line.startswith(_LOG):
            continue
        try:
            entry = json.loads(line.removeprefix(_LOG))
        except (ValueError, RecursionError) as error:
            raise refused(file.source, f"line {number}", "is no entry of loadgen's log: not JSON") from error
        if (
            isinstance(entry, dict)
            and isinstance(entry.get("key"), str)
            and isinstance(entry.get("value"), str | int | float)
        ):
            found[entry["key"]] = entry["value"]
    return found
