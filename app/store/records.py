"""What the store tells about what it holds: without the content, which is loaded when it is needed."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ...solver.model.sweep_report import AxisKind
from .tables import DocumentRow, PlanRow, SweepRow, VersionRow


@dataclass(frozen=True, order=True)
class VersionKey:
    """A version of a problem: the name under which it is saved, and a number that counts from 1."""

    document: str
    number: int

    def __str__(self) -> str:
        return f"{self.document}, version {self.number}"


@dataclass(frozen=True)
class Version:
    """One state of a problem: who saved it, when, why, and what it was edited from."""

    key: VersionKey
    parent: VersionKey | None
    """The version that it followed; of a copy's first version, the one that was copied; None: it began the problem."""
    restored_from: int | None
    """Number of the version whose content it repeats; None: it is no restored one."""
    sha256: str
    """Digest of the problem (solver/model/digest.py), as plans name it."""
    author: str
    saved_at: datetime
    """UTC."""
    note: str


@dataclass(frozen=True)
class Archived:
    """Who put it out of sight, and when (UTC)."""

    by: str
    at: datetime


@dataclass(frozen=True)
class Document:
    """A problem under the name that it is saved as, which need not be the problem's own."""

    name: str
    created_at: datetime
    """UTC."""
    archived: Archived | None
    """None: in use."""
    latest: Version


@dataclass(frozen=True)
class SavedPlan:
    """A plan that was saved for a version of a problem; the figures are the plan's (solver/model/plan.py)."""

    id: int
    problem: VersionKey
    planner: str
    status: str
    cost_per_hour: float | None
    gpus_used: int
    bound_cost_per_hour: float | None
    gap: float | None
    runtime_s: float
    author: str
    saved_at: datetime
    """UTC."""
    note: str
    archived: Archived | None
    """None: in use."""


@dataclass(frozen=True)
class SavedSweep:
    """A sweep that was saved for a version of a problem."""

    id: int
    problem: VersionKey
    axes: tuple[tuple[AxisKind, str | None], ...]
    """What it varies: kind, and the service (by its label, if it has one) or GPU type; None: all services."""
    points: int
    missing: int
    """Points that were not solved because the sweep was ended."""
    author: str
    saved_at: datetime
    """UTC."""
    note: str
    archived: Archived | None
    """None: in use."""


def version_of(row: VersionRow) -> Version:
    """Returns a row as a record; its document, its parent and the parent's document must be loaded."""
    return Version(
        key=key_of(row),
        parent=None if row.parent is None else key_of(row.parent),
        restored_from=row.restored_from,
        sha256=row.sha256,
        author=row.author,
        saved_at=row.saved_at,
        note=row.note,
    )


def document_of(row: DocumentRow, latest: VersionRow) -> Document:
    """Returns a row and that of its latest version as a record."""
    return Document(row.name, row.created_at, _archived(row), version_of(latest))


def plan_of(row: PlanRow) -> SavedPlan:
    """Returns a row as a record; its version and that one's document must be loaded."""
    return SavedPlan(
        id=row.id,
        problem=key_of(row.version),
        planner=row.planner,
        status=row.status,
        cost_per_hour=row.cost_per_hour,
        gpus_used=row.gpus_used,
        bound_cost_per_hour=row.bound_cost_per_hour,
        gap=row.gap,
        runtime_s=row.runtime_s,
        author=row.author,
        saved_at=row.saved_at,
        note=row.note,
        archived=_archived(row),
    )


def sweep_of(row: SweepRow) -> SavedSweep:
    """Returns a row as a record; its version and that one's document must be loaded."""
    return SavedSweep(
        id=row.id,
        problem=key_of(row.version),
        axes=_axes_of(row.parameters),
        points=row.parameters["points"],
        missing=row.parameters["missing"],
        author=row.author,
        saved_at=row.saved_at,
        note=row.note,
        archived=_archived(row),
    )


def key_of(row: VersionRow) -> VersionKey:
    """Returns a version's name and number; its document must be loaded."""
    return VersionKey(row.document.name, row.number)


def _axes_of(parameters: dict[str, Any]) -> tuple[tuple[AxisKind, str | None], ...]:
    called = parameters.get("labels", {})
    return tuple((axis["kind"], called.get(axis["of"], axis["of"])) for axis in parameters["axes"])


def _archived(row: DocumentRow | PlanRow | SweepRow) -> Archived | None:
    return None if row.archived_at is None else Archived(row.archived_by or "", row.archived_at)
