"""
Boxes of surroundings: a range of numbers of residents, and for each thing shared one of what all ask together.

Boxes cover all surroundings that a GPU may have: at first those of a grid (`first_boxes`), whose ranges meet at
multiples of what is typical, and a box that is parted becomes two that cover the same (`parted`).
"""

from dataclasses import dataclass, fields

import numpy as np

from ...performance.interference.prediction import Floats, Ints

RESIDENTS = (0.55, 0.75, 1.0, 1.3, 1.7)
ASKED = (0.7, 0.85, 1.0, 1.2)
"""Multiples of what is typical at which ranges meet at first, of the number of residents and of what they ask."""

NARROWEST = 1 / 64
"""Part of what is typical than which no range becomes narrower."""

FURTHER = 1.3
"""How many times its lower end a range that has no upper end is parted at, or what is typical at first."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """Some boxes of one GPU type; arrays have shape (box,) or (box, thing shared)."""

    fewest: Ints
    most: Ints
    """Residents, both ends included."""
    low: Floats
    high: Floats
    """What all ask together; inf: no limit."""

    def __len__(self) -> int:
        return len(self.fewest)

    def of(self, rows: Ints) -> "Boxes":
        """Returns some of them."""
        return Boxes(*(getattr(self, field.name)[rows] for field in fields(self)))

    def and_also(self, others: "Boxes") -> "Boxes":
        """Returns these, and then others."""
        return Boxes(
            *(np.concatenate([getattr(self, field.name), getattr(others, field.name)]) for field in fields(self))
        )


def first_boxes(most: int, residents: float, asked: Floats) -> Boxes:
    """
    Returns boxes that cover all surroundings.

    Parameters
    ----------
    most
        Residents that a GPU can have.
    residents, asked
        What is typical: how many there are, and what they ask together of each thing shared, shape (thing shared,).
    """
    begins = {1, 2} | {round(residents * times) for times in RESIDENTS}
    fewest = np.array(sorted(n for n in begins if 1 <= n <= most))
    levels = [np.unique([0.0, *(typical * np.array(ASKED))]) for typical in asked]
    number, *low = np.meshgrid(np.arange(len(fewest)), *levels, indexing="ij")
    _, *high = np.meshgrid(np.arange(len(fewest)), *(np.append(own[1:], np.inf) for own in levels), indexing="ij")
    last = np.append(fewest[1:] - 1, most)
    return Boxes(
        fewest[number.ravel()],
        last[number.ravel()],
        np.stack([own.ravel() for own in low], axis=1),
        np.stack([own.ravel() for own in high], axis=1),
    )


def parted(boxes: Boxes, asked: Floats) -> tuple[Boxes, Ints]:
    """
    Returns the parts of boxes, two of each that can be parted, where it is widest; and of which box each is.

    `asked`: what is typical of each thing shared, by which widths are measured; numbers of residents by themselves.
    """
    unit = np.maximum(asked, 1e-9)
    width = (boxes.high - boxes.low) / unit
    width = np.where(width > NARROWEST, np.where(np.isfinite(width), width, 4.0), 0.0)
    crowd = (boxes.most - boxes.fewest) / (boxes.fewest + 1.0)
    axis = np.argmax(np.column_stack([crowd, width]), axis=1)
    of = np.flatnonzero((crowd > 0) | (width > 0).any(axis=1))
    lower, upper = (boxes.of(np.repeat(of, 1)) for _ in range(2))
    for row, (box, along) in enumerate(zip(of.tolist(), axis[of].tolist(), strict=True)):
        if along == 0:
            fewest, most = int(boxes.fewest[box]), int(boxes.most[box])
            end = min((fewest + most) // 2, 2 * fewest)
            lower.most[row], upper.fewest[row] = end, end + 1
        else:
            thing = along - 1
            low, high = float(boxes.low[box, thing]), float(boxes.high[box, thing])
            middle = (low + high) / 2 if np.isfinite(high) else max(low, float(unit[thing])) * FURTHER
            lower.high[row, thing] = upper.low[row, thing] = middle
    return lower.and_also(upper), np.tile(of, 2)
