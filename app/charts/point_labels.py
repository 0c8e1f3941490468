"""Labels of points in a picture of cost against time: above their points, or below where something is in their way."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

PLOT_PX = (740, 320)
"""Width and height of the plot where the page is 1,280 px wide, about."""

LETTER_PX, LINE_PX, OFF_PX = 6.5, 16, 14


@dataclass(frozen=True)
class Label:
    """The names of some points that are beside each other, at one cost."""

    at: float
    """Middle of its points, as power of ten of seconds."""
    cost: float
    names: tuple[str, ...]
    points: tuple[float, ...]
    """Where its points are, as `at`."""

    @property
    def height_px(self) -> float:
        """A line a name."""
        return LINE_PX * len(self.names)


def highest_of(labels: Sequence[Label], bound: float | None) -> float:
    """Returns the cost at the picture's upper end: the bound is below it, and each label that is not half as high."""
    ends = [label.cost / max(1 - (OFF_PX + label.height_px) / PLOT_PX[1], 0.5) for label in labels]
    return max([*ends, 1.05 * (bound or 0.0)]) or 1.0


def with_sides(labels: Sequence[Label], highest: float, bound: float | None) -> Iterator[tuple[Label, bool]]:
    """Yields each label and whether it goes above its points: below only where something is above and nothing below."""
    ends = [at for label in labels for at in label.points]
    width, height = PLOT_PX
    per_power = width / max(1.1 * (max(ends, default=0.0) - min(ends, default=0.0)), 0.1)
    taken = [
        _Box(at * per_power, label.cost / highest * height - OFF_PX / 2, OFF_PX, OFF_PX)
        for label in labels
        for at in label.points
    ]
    if bound is not None:
        # What the line is, at its right end below it.
        taken.append(_Box(max(ends, default=0.0) * per_power, bound / highest * height - 30, 24 * LETTER_PX, LINE_PX))
    for label in labels:
        tall = label.height_px
        foot = label.cost / highest * height
        wide = LETTER_PX * max(map(len, label.names))
        above, below = (
            _Box(label.at * per_power, y, wide, tall) for y in (foot + OFF_PX - 4, foot - OFF_PX + 4 - tall)
        )
        is_above = not any(map(above.meets, taken)) or any(map(below.meets, taken)) or foot < tall + OFF_PX
        taken.append(above if is_above else below)
        yield label, is_above


@dataclass(frozen=True)
class _Box:
    """A rectangle in pixels."""

    middle: float
    bottom: float
    width: float
    height: float

    def meets(self, other: "_Box") -> bool:
        """Tells whether they have room in common."""
        return (
            2 * abs(self.middle - other.middle) < self.width + other.width
            and self.bottom < other.bottom + other.height
            and other.bottom < self.bottom + self.height
        )
