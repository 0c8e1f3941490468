"""The fleet as static SVG: a bar a GPU, cut to scale, in columns of as many as keep it readable."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import ceil
from xml.etree import ElementTree as Xml

from sliceplan.app.charts.colours import SERVICES, text_on
from sliceplan.app.charts.fleet_blocks import Block, blocks_of
from sliceplan.app.charts.service_colours import service_colours
from sliceplan.app.charts.texts import letters_of, shortened
from sliceplan.solver.model.plan import Plan, PlannedGpu
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.wording.cores import noun_of
from sliceplan.solver.wording.sharing_words import SHARING_WORDS

WIDTH = 1160
GAP = 14
"""Between columns."""
HEADING = 13
"""Above each bar: the GPU's name."""
BAR = 22
ROW = HEADING + BAR + 7
ROWS = 20
"""In one picture at most, so that each fits on a printed page."""

COLUMNS = ((12, 1), (48, 2), (150, 3))
"""Up to so many GPUs, so many columns; beyond, MOST_COLUMNS."""
MOST_COLUMNS = 4

LETTER = 6.4
"""Width of a letter of 11 px, about."""
LEAST_LETTERS = 4


def fleet_pictures(plan: Plan, problem: Problem) -> list[str]:
    """Returns SVG elements, each with up to ROWS rows of GPUs, in the plan's order; none for a plan without GPUs."""
    colours = service_colours((workload.name for workload in problem.workloads), plan)
    of_gpu = {gpu: tuple(blocks) for gpu, blocks in groupby(blocks_of(plan, problem), key=lambda block: block.gpu_id)}
    columns = next((number for most, number in COLUMNS if len(plan.gpus) <= most), MOST_COLUMNS)
    rows = min(ROWS, ceil(len(plan.gpus) / columns))
    chunk = columns * rows
    chunks = [plan.gpus[i : i + chunk] for i in range(0, len(plan.gpus), chunk)] if rows else []
    return [_picture(gpus, columns, of_gpu, colours) for gpus in chunks]


def colour_rules() -> str:
    """Returns CSS rules for the classes of the blocks: .b0, .b1 and so on, with readable text on them."""
    return "\n".join(
        f"svg .b{number}{{fill:{colour}}} svg .t{number}{{fill:{text_on(colour)}}}"
        for number, colour in enumerate(SERVICES)
    )


def _picture(
    gpus: Sequence[PlannedGpu], columns: int, of_gpu: Mapping[str, Sequence[Block]], colours: Mapping[str, int]
) -> str:
    rows = ceil(len(gpus) / columns)
    width = (WIDTH - GAP * (columns - 1)) / columns
    names = f"{gpus[0].id} to {gpus[-1].id}" if len(gpus) > 1 else gpus[0].id
    root = Xml.Element("svg", viewBox=f"0 0 {WIDTH} {rows * ROW}", role="img")
    root.set("aria-label", f"How the GPUs {names} are cut; the same in words is in the table of all GPUs")
    for number, gpu in enumerate(gpus):
        column, row = divmod(number, rows)
        x, y = column * (width + GAP), row * ROW
        heading = Xml.SubElement(root, "text", {"x": _short(x), "y": _short(y + HEADING - 3), "class": "g"})
        heading.text = _clipped(_place(gpu), width)
        for block in of_gpu.get(gpu.id, ()):
            _draw(root, block, x + block.start * width, y + HEADING, block.width * width, colours)
    return Xml.tostring(root, encoding="unicode")


def _draw(root: Xml.Element, block: Block, x: float, y: float, width: float, colours: Mapping[str, int]) -> None:
    colour = None if block.workload is None else colours.get(block.workload, 0)
    kind = f"b{colour}" if colour is not None else _free(block)
    classes = f"{kind} late" if block.misses else kind
    at = {"x": _short(x + 0.5), "y": _short(y), "width": _short(max(width - 1, 0.5)), "height": str(BAR)}
    rectangle = Xml.SubElement(root, "rect", {**at, "class": classes})
    Xml.SubElement(rectangle, "title").text = " ".join(_said(block))
    text = _label(block, width - 6)
    if text:
        place = {
            "x": _short(x + width / 2),
            "y": _short(y + 15),
            "class": f"n t{colour}" if colour is not None else "n",
        }
        Xml.SubElement(root, "text", place).text = text


def _said(block: Block) -> Iterator[str]:
    yield block.workload or "free:"
    yield f"({block.size})" if block.workload else block.size
    if block.misses:
        yield "misses its SLO"


def _label(block: Block, width: float) -> str:
    if block.workload is None:
        return block.size if len(block.size) * LETTER <= width else ""
    both = f"{block.workload} · {block.size}"
    return both if letters_of(both) * LETTER <= width else _clipped(block.workload, width)


def _free(block: Block) -> str:
    if block.size == "kept free":
        return "kept"
    return "free" if block.reachable else "gone"


def _place(gpu: PlannedGpu) -> str:
    where = f"{gpu.id}, {gpu.node} {noun_of(gpu)} {gpu.index}" if gpu.node else gpu.id
    return f"{where}, {SHARING_WORDS[gpu.sharing]}"


def _clipped(text: str, width: float) -> str:
    letters = int(width / LETTER)
    return shortened(text, letters) if letters >= LEAST_LETTERS or letters_of(text) <= letters else ""


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
