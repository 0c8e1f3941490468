"""
Reads the measurements that the iGniter artifact publishes (one JSON object a line: section, field, value).

The section `hardware` describes the GPU, every other one a model. Times are ms, power W, frequencies MHz, sizes
bytes of one request, cache use percent. Solo runs are matrices: a row for each of the batch sizes 1, 16, 32, a
column for each of the shares 10, 50, 100 %; cache use was measured on their diagonal.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..model.errors import Finding, InputError
from ..model.parsing import grouped, parse_record, read_text
from ..model.profile import Profile
from ..performance.interference.fitting import (
    DivergedFitError,
    GpuMeasurements,
    ModelMeasurements,
    PairTrace,
    Residual,
    SoloRuns,
    fit_gpu,
    fit_model,
)

GPU = "V100-SXM2-16GB"
"""The GPU type of the artifact's measurements (EC2 p3.2xlarge)."""

BATCHES, PERCENTS = (1, 16, 32), (10, 50, 100)

LEAST, MOST = 1e-12, 1e12
"""Of a figure: of others ratios are lost in rounding."""

_HARDWARE = {
    "idlepower": (),
    "maxGPUpower": (),
    "maxGPUfrequency": (),
    "bandwidth": (),
    "power": (None,),
    "frequency": (None,),
    "idletime": (None,),
}
_MODEL = {
    "inputdata": (),
    "outputdata": (),
    "kernel": (),
    "idletime_1": (),
    "activetime_1": (),
    "activetime_2": (),
    "frequency_2": (),
    "l2cache": (),
    "gpulatency": (3, 3),
    "power": (3, 3),
    "frequency": (3, 3),
    "l2caches": (3,),
}
"""Field -> shape of its numbers; () is one number, None any length."""


def igniter_profiles(path: Path) -> tuple[list[Profile], dict[str, tuple[Residual, ...]]]:
    """
    Reads a file of the artifact and fits iGniter's coefficients to it.

    Returns
    -------
    One profile a model, and the residual of every point: of the GPU's own coefficients under `GPU`, then by model.

    Raises
    ------
    InputError
        If the file is not as described (`read_igniter`), or a fit fails.
    """
    gpu_measured, models = read_igniter(path)
    provenance = {
        "source": f"iGniter artifact (icloud-ecnu/igniter), read as {path.name}",
        "method": (
            "Measured by the artifact's authors on EC2 p3.2xlarge; coefficients fitted by "
            "sliceplan.solver.performance.interference.fitting (least squares, equations 1 to 11 of the paper)."
        ),
        "date": "2022",
    }
    try:
        gpu, of_gpu = fit_gpu(gpu_measured)
    except DivergedFitError as error:
        raise InputError([Finding(str(path), "hardware", str(error))]) from error
    profiles, findings, residuals = [], [], {"GPU": of_gpu}
    for measured in models:
        try:
            interference, residuals[measured.name] = fit_model(measured, gpu, of_gpu)
        except DivergedFitError as error:
            findings.append(Finding(str(path), measured.name, str(error)))
            continue
        data = {"model": measured.name, "gpu": GPU, "provenance": provenance, "interference": interference}
        try:
            profiles.append(parse_record(Profile, data, str(path)))
        except InputError as error:
            findings += error.findings
    if findings:
        raise InputError(findings)
    return profiles, residuals


def read_igniter(path: Path) -> tuple[GpuMeasurements, list[ModelMeasurements]]:
    """
    Reads a file of the artifact, as `v100_profile.jsonl`.

    Raises
    ------
    InputError
        If a line is no JSON object, or a field is missing or not of its shape; all findings at once.
    """
    sections = read_sections(path)
    source = str(path)
    if "hardware" not in sections:
        raise InputError([Finding(source, "hardware", "is missing; expected the measurements of the GPU")])
    models = [name for name in sections if name != "hardware"]
    findings = _findings(source, "hardware", sections["hardware"], _HARDWARE)
    for name in models:
        findings += _findings(source, name, sections[name], _MODEL)
    if not models:
        findings.append(Finding(source, "", "has no model; expected one section a model beside hardware"))
    if not findings:
        lengths = {len(sections["hardware"][field]) for field in ("power", "frequency", "idletime")}
        if len(lengths) > 1:
            message = (
                "power, frequency and idletime have different lengths; expected one number for each count of copies"
            )
            findings.append(Finding(source, "hardware", message))
    if findings:
        raise InputError(grouped(findings))
    return _gpu(sections["hardware"]), [_model(name, sections[name]) for name in models]


def read_sections(path: Path) -> dict[str, dict[str, Any]]:
    """Returns the sections of a file of JSON lines, fields of the same section joined; raises InputError."""
    source = str(path)
    sections: dict[str, dict[str, Any]] = {}
    findings = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):  # ValueError: no JSON, or an integer of thousands of digits
            row = None
        if not isinstance(row, dict) or not all(isinstance(fields, dict) for fields in row.values()):
            findings.append(
                Finding(source, f"line {number}", 'expected one JSON object, as {"resnet50": {"kernel": 80}}')
            )
            continue
        for section, fields in row.items():
            sections.setdefault(section, {}).update(fields)
    if findings:
        raise InputError(grouped(findings))
    return sections


def _findings(
    source: str, section: str, fields: Mapping[str, Any], expected: Mapping[str, Sequence[int | None]]
) -> list[Finding]:
    return [
        Finding(source, f"{section}.{name}", f"{_found(fields.get(name))}; expected {_words(shape)}")
        for name, shape in expected.items()
        if not _has_shape(fields.get(name), shape)
    ]


def _has_shape(value: Any, shape: Sequence[int | None]) -> bool:
    """Tells whether a value is numbers above 0, nested as the shape says."""
    if not shape:
        return isinstance(value, int | float) and not isinstance(value, bool) and LEAST <= value < MOST
    right_length = isinstance(value, list) and len(value) == (shape[0] or len(value)) and len(value) > 0
    return right_length and all(_has_shape(item, shape[1:]) for item in value)


def _found(value: Any) -> str:
    return "is missing" if value is None else f"is {str(value)[:40]!r}"


def _words(shape: Sequence[int | None]) -> str:
    if not shape:
        return "a number above 0"
    sizes = " x ".join("any number" if size is None else str(size) for size in shape)
    return f"{sizes} of numbers above 0"


def _gpu(fields: Mapping[str, Any]) -> GpuMeasurements:
    return GpuMeasurements(
        max_power_w=float(fields["maxGPUpower"]),
        idle_power_w=float(fields["idlepower"]),
        max_frequency_mhz=float(fields["maxGPUfrequency"]),
        pcie_bytes_per_ms=float(fields["bandwidth"]),
        power_w=np.array(fields["power"], dtype=np.float64),
        frequency_mhz=np.array(fields["frequency"], dtype=np.float64),
        scheduling_ms_per_kernel=np.array(fields["idletime"], dtype=np.float64),
    )


def _model(name: str, fields: Mapping[str, Any]) -> ModelMeasurements:
    batch, percent = (axis.ravel().astype(np.float64) for axis in np.meshgrid(BATCHES, PERCENTS, indexing="ij"))
    l2_percent = np.full((3, 3), np.nan)
    np.fill_diagonal(l2_percent, fields["l2caches"])
    return ModelMeasurements(
        name=name,
        input_bytes=float(fields["inputdata"]),
        output_bytes=float(fields["outputdata"]),
        kernels=round(fields["kernel"]),
        scheduling_ms=float(fields["idletime_1"]),
        solo=SoloRuns(
            batch=batch,
            percent=percent,
            gpu_ms=np.array(fields["gpulatency"], dtype=np.float64).ravel(),
            power_w=np.array(fields["power"], dtype=np.float64).ravel(),
            frequency_mhz=np.array(fields["frequency"], dtype=np.float64).ravel(),
            l2_percent=l2_percent.ravel(),
        ),
        pair=PairTrace(
            active_one_ms=float(fields["activetime_1"]),
            active_two_ms=float(fields["activetime_2"]),
            frequency_two_mhz=float(fields["frequency_2"]),
            l2_one_percent=float(fields["l2cache"]),
        ),
    )
