"""
Reads the layer times that the VELTAIR artifact (ASPLOS 2022, no licence) publishes: two text files a model.

`prof_output/MODEL.out` has a row a layer and a column for 8, 16, 24, ... cores, in microseconds; `configs/MODEL.config`
has the layer's shape in the same row, from which its multiplications follow. Files of both kinds in one folder, as
`MODEL_layer_us.txt` and `MODEL_layers.txt`, are read as well. Models whose times are empty are left out, as most are.

GoogLeNet's rows are not in the order of execution: the modules come from the last to the first, their 1x1 branches at
the end and the stem in between. They are put in order; the artifact runs branches one after the other.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path

from ..model.errors import Finding, InputError
from ..model.layer_times import LayeredModel
from ..model.parsing import grouped, parse_record, read_text, shown

CORE_UNIT = 8
"""Cores of the first column, and between two (`MIN_CPU_UNIT` of the artifact)."""

MOST_US = 1e9

SHAPES = {"CONV": 11, "GEMM": 3}
"""Numbers of a shape by the kind of its layer."""


@dataclass(frozen=True)
class _Files:
    """The two files of a model."""

    model: str
    times: Path
    shapes: Path


def read_veltair(folder: Path) -> list[LayeredModel]:
    """
    Reads the artifact's folder, or one in which the files of both kinds lie together.

    Returns
    -------
    One chain of layers a model, by name, in the order of execution; times as published, in ms.

    Raises
    ------
    InputError
        If the folder cannot be read, has no times of any model, or a file is not as described; all findings at once.
    """
    models: dict[str, LayeredModel] = {}
    findings: list[Finding] = []
    for files in sorted(_pairs(folder), key=lambda found: (found.model, found.times)):
        try:
            if text := read_text(files.times).strip():
                name = files.model.lower()
                if name in models:
                    raise InputError([Finding(str(files.times), "", f"is a second file of the model {shown(name)}")])
                models[name] = _model(files, text)
        except InputError as error:
            findings += error.findings
    if findings:
        raise InputError(findings)
    if not models:
        message = "has no layer times; expected prof_output/MODEL.out, or MODEL_layer_us.txt, with numbers"
        raise InputError([Finding(str(folder), "", message)])
    return list(models.values())


def _pairs(folder: Path) -> Iterator[_Files]:
    if not folder.is_dir():
        found = "is a file" if folder.exists() else "does not exist"
        raise InputError([Finding(str(folder), "", f"{found}; expected the folder of the VELTAIR artifact")])
    for path in folder.glob("prof_output/*.out"):
        yield _Files(path.stem, path, folder / "configs" / f"{path.stem}.config")
    for path in folder.glob("*_layer_us.txt"):
        model = path.name.removesuffix("_layer_us.txt")
        yield _Files(model, path, folder / f"{model}_layers.txt")


def _model(files: _Files, text: str) -> LayeredModel:
    times = _times(text, str(files.times))
    shapes = _shapes(read_text(files.shapes), str(files.shapes))
    if len(times) != len(shapes):
        message = f"has {len(times)} layers, and {files.shapes.name} {len(shapes)}; expected files of one model"
        raise InputError([Finding(str(files.times), "", message)])
    rows = list(zip(times, shapes, strict=True))
    if files.model == "GoogLeNet" and len(rows) == _GOOGLENET_ROWS:
        rows = [rows[row] for row in _googlenet_order()]
    layers = tuple(
        {"name": f"{number}-{name}", "macs": macs, "ms": tuple(us / 1000 for us in of_layer)}
        for number, (of_layer, (name, macs)) in enumerate(rows, start=1)
    )
    data = {
        "model": files.model.lower(),
        "cores": tuple(CORE_UNIT * (column + 1) for column in range(len(times[0]))),
        "layers": layers,
        "provenance": {
            "source": f"VELTAIR (ASPLOS 2022) artifact, prof_output/{files.model}.out and configs/{files.model}.config",
            "method": "Medians of repeated runs by the artifact's authors, each layer alone on an AMD 3990X; one "
            "version of each layer, no interference.",
            "date": "2022",
        },
    }
    return parse_record(LayeredModel, data, str(files.times))


def _times(text: str, source: str) -> list[list[int]]:
    """Returns the microseconds by layer and count of cores."""
    rows: list[list[int]] = []
    findings = []
    for line, row in enumerate(text.splitlines(), start=1):
        cells = [cell.strip() for cell in row.split(",")]
        wrong = next(
            (cell for cell in cells if not (cell.isascii() and cell.isdigit() and 0 < float(cell) <= MOST_US)), None
        )
        if wrong is not None:
            found = f"a time is {shown(wrong)}" if wrong else "a time is missing"
            findings.append(Finding(source, f"line {line}", f"{found}; expected whole microseconds, above 0"))
            continue
        if rows and len(cells) != len(rows[0]):
            message = (
                f"has {len(cells)} times; expected {len(rows[0])}, for 8, 16, ... {CORE_UNIT * len(rows[0])} cores, "
                "as in the first line"
            )
            findings.append(Finding(source, f"line {line}", message))
            continue
        rows.append([int(cell) for cell in cells])
    if findings:
        raise InputError(grouped(findings))
    return rows


def _shapes(text: str, source: str) -> list[tuple[str, int]]:
    """Returns the name and the multiplications of each layer."""
    found: list[tuple[str, int]] = []
    findings = []
    for line, row in enumerate(text.strip().splitlines(), start=1):
        kind, _, shape = row.strip().rstrip(",").partition(",")
        numbers = [
            int(part) if part.isascii() and part.isdigit() and len(part) < 7 else -1 for part in shape.split("-")
        ]
        try:
            if len(numbers) != SHAPES.get(kind) or min(numbers) < 0:
                raise ValueError
            found.append(_convolution(*numbers) if kind == "CONV" else ("gemm", _positive(prod(numbers))))
        except (ValueError, ZeroDivisionError):
            message = (
                f"is {shown(row.strip())}; expected "
                "CONV,height-width-in-out-kernel-kernel-pad-pad-stride-stride-groups or GEMM,rows-columns-depth"
            )
            findings.append(Finding(source, f"line {line}", message))
    if findings:
        raise InputError(grouped(findings))
    return found


def _convolution(
    height: int, width: int, channels: int, filters: int, kernel_h: int, kernel_w: int,
    pad_h: int, pad_w: int, stride_h: int, stride_w: int, groups: int,
) -> tuple[str, int]:  # fmt: skip
    """Returns a layer's name and multiplications, each output point takes channels / groups x kernel of them."""
    out_h = (height + 2 * pad_h - kernel_h) // stride_h + 1
    out_w = (width + 2 * pad_w - kernel_w) // stride_w + 1
    return f"conv{kernel_h}x{kernel_w}", _positive(out_h * out_w * channels * filters * kernel_h * kernel_w // groups)


def _positive(macs: int) -> int:
    if macs < 1:
        raise ValueError
    return macs


_GOOGLENET_ROWS = 57

_MODULES = 9


def _googlenet_order() -> list[int]:
    """Returns the rows in the order of execution: the stem, then of each module the branches 1x1, 3x3, 5x5 and pool."""
    rows = [45, 46, 47]
    for module in range(_MODULES):
        first = 5 * (_MODULES - 1 - module)
        rows += [48 + module, *(first + row for row in (3, 4, 1, 2, 0))]
    return rows
