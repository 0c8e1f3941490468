"""
Reads what `onnxruntime_perf_test` of ONNX Runtime prints: one run a file.

    Total inference time cost: 5.88 s              of all requests, each from its start to its end
    Average inference time cost total: 5.88 ms     (older: Average inference time cost)
    Total inference run time: 5.89 s               from the first start to the last end
    Number of inferences per second: 170.04
    Peak working set size: 123456789 bytes
    P99 Latency: 0.0619517 s                       with -s, or without a result file

The first time over the third is how many requests were in flight (-c) on average. An "inference" is a run of the
session; how many inputs it had at once is not printed, nor how many sessions there were, nor the cores.
"""

import re

from .figures import positive, whole
from .sample import STATISTICS, Sample, SourceText, collected, refused

RATE = "Number of inferences per second"
AVERAGE = ("Average inference time cost total", "Average inference time cost")
TOGETHER, LASTED = "Total inference time cost", "Total inference run time"
MEMORY = "Peak working set size"
BYTES_PER_MIB = 2.0**20

_LINE = re.compile(r"\s*([A-Za-z0-9][^:]*?)\s*:\s*(-?[0-9.eE+]+)\s*(\S*)\s*")
_PERCENTILE = re.compile(r"P(\d+) Latency")
_THREADS = re.compile(r"Setting intra_op_num_threads to (\d+)")


def read(files: list[SourceText]) -> list[Sample]:
    """Returns a sample for each run; raises InputError with every finding."""
    return collected(files, _of_file)


def _of_file(file: SourceText) -> Sample:
    matches = [match for line in file.text.splitlines() if (match := _LINE.fullmatch(line))]
    found = {match[1]: match[2] for match in matches}
    if RATE not in found:
        message = f"has no line {RATE!r}; expected what onnxruntime_perf_test prints (1.4 or newer), one run a file"
        raise refused(file.source, "", message)
    if sum(match[1] == RATE for match in matches) > 1:
        raise refused(file.source, RATE, "stands there twice; put each run into a file of its own")
    together = max(1, round(_figure(file, found, TOGETHER) / _figure(file, found, LASTED)))
    threads = _THREADS.search(file.text)
    return Sample(
        source=file.source,
        where="",
        inferences_per_s=_figure(file, found, RATE),
        latencies_ms=_latencies(file, found),
        concurrency=whole(together, file.source, TOGETHER),
        counts_batches=True,
        processes=1 if together == 1 else None,
        memory_mib=_figure(file, found, MEMORY) / BYTES_PER_MIB if _told(found.get(MEMORY)) else None,
        remark=f"it ran with {threads[1]} intra-op threads" if threads else None,
    )


def _latencies(file: SourceText, found: dict[str, str]) -> dict[str, float]:
    """Returns the latencies in milliseconds; percentiles are printed in seconds, the average in milliseconds."""
    latencies = {}
    for name in found:
        match = _PERCENTILE.fullmatch(name)
        if match and f"p{match[1]}" in STATISTICS:
            latencies[f"p{match[1]}"] = _figure(file, found, name) * 1000
    average = next((name for name in AVERAGE if name in found), None)
    if average is not None:
        latencies["avg"] = _figure(file, found, average)
    if not latencies:
        raise refused(file.source, "", f"has no latency; expected {AVERAGE[0]!r}, or P99 Latency (-s)")
    return latencies


def _figure(file: SourceText, found: dict[str, str], name: str) -> float:
    if name not in found:
        raise refused(file.source, "", f"has no line {name!r}; expected all that onnxruntime_perf_test prints")
    return positive(found[name], file.source, name)


def _told(text: str | None) -> bool:
    """Tells whether a figure is there; 0 is printed where the system does not tell it."""
    return text is not None and text.strip("0.") != ""
