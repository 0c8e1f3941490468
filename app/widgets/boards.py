"""How many GPUs a plan has, and how many CPUs beside them, as a figure."""

from collections.abc import Sequence

from streamlit.delta_generator import DeltaGenerator

from sliceplan.solver.model.plan import PlannedGpu
from sliceplan.solver.model.words import boards_of

NOUNS = ("GPUs", "CPUs")


def show_boards(
    place: DeltaGenerator, gpus: Sequence[PlannedGpu], before: Sequence[PlannedGpu] = (), help_text: str | None = None
) -> None:
    """Draws it; `before`: of another plan, beside which it is set."""
    counts = zip(NOUNS, boards_of(gpus), boards_of(before or gpus), strict=True)
    kinds = [(noun, now, then) for noun, now, then in counts if now or then] or [(NOUNS[0], 0, 0)]
    more = [f"{now - then:+,}" + (f" {noun}" if len(kinds) > 1 else "") for noun, now, then in kinds if now != then]
    place.metric(
        " + ".join(noun for noun, _, _ in kinds),
        " + ".join(f"{now:,}" for _, now, _ in kinds),
        ", ".join(more) or None,
        delta_color="inverse",
        help=help_text,
    )
