"""
The tables, as SQLAlchemy maps them; migrations/ makes them, and a test holds the two together.

Nothing is ever deleted, and versions, plans and sweeps never change: only `archived_at` and `archived_by` are updated.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, CheckConstraint, Double, ForeignKey, MetaData, String, Text, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from .columns import PackedJson, UtcTime

NAME_CHARACTERS = 120
AUTHOR_CHARACTERS = 100

NAMING = {
    "pk": "pk_%(table_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
}


class Base(DeclarativeBase):
    """Base of all tables; constraints have names, so that migrations can change them."""

    metadata = MetaData(naming_convention=NAMING)


class Saved:
    """Who saved it, when, and what they say about it."""

    author: Mapped[str] = mapped_column(String(AUTHOR_CHARACTERS))
    saved_at: Mapped[datetime] = mapped_column(UtcTime)
    note: Mapped[str] = mapped_column(Text)


class Archivable:
    """Out of sight, but restorable."""

    archived_at: Mapped[datetime | None] = mapped_column(UtcTime)
    archived_by: Mapped[str | None] = mapped_column(String(AUTHOR_CHARACTERS))


class DocumentRow(Archivable, Base):
    """A name under which versions are saved."""

    __tablename__ = "documents"
    __table_args__ = (UniqueConstraint("kind", "name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(String(20))
    name: Mapped[str] = mapped_column(String(NAME_CHARACTERS))
    created_at: Mapped[datetime] = mapped_column(UtcTime)


class VersionRow(Saved, Base):
    """
    One state of a document.

    A version's number is its parent's plus 1, but for a copy's first version, whose parent belongs to the document
    that was copied. So two who saved from one parent have the same number, of which the database takes one.
    """

    __tablename__ = "versions"
    __table_args__ = (UniqueConstraint("document_id", "number"), CheckConstraint("number >= 1", name="number"))

    id: Mapped[int] = mapped_column(primary_key=True)
    document_id: Mapped[int] = mapped_column(ForeignKey("documents.id"))
    number: Mapped[int]
    parent_id: Mapped[int | None] = mapped_column(ForeignKey("versions.id"))
    restored_from: Mapped[int | None]
    sha256: Mapped[str] = mapped_column(String(64))
    content: Mapped[bytes] = mapped_column(PackedJson, deferred=True)

    document: Mapped[DocumentRow] = relationship(lazy="raise")
    parent: Mapped["VersionRow | None"] = relationship(remote_side=[id], lazy="raise")


class PlanRow(Saved, Archivable, Base):
    """A plan for a version of a problem; the figures that lists show stand beside the content."""

    __tablename__ = "plans"

    id: Mapped[int] = mapped_column(primary_key=True)
    version_id: Mapped[int] = mapped_column(ForeignKey("versions.id"), index=True)
    planner: Mapped[str] = mapped_column(Text)
    status: Mapped[str] = mapped_column(String(20))
    cost_per_hour: Mapped[float | None] = mapped_column(Double)
    gpus_used: Mapped[int]
    bound_cost_per_hour: Mapped[float | None] = mapped_column(Double)
    gap: Mapped[float | None] = mapped_column(Double)
    runtime_s: Mapped[float] = mapped_column(Double)
    content: Mapped[bytes] = mapped_column(PackedJson, deferred=True)

    version: Mapped[VersionRow] = relationship(lazy="raise")


class SweepRow(Saved, Archivable, Base):
    """One problem planned many times with parameters varied."""

    __tablename__ = "sweeps"

    id: Mapped[int] = mapped_column(primary_key=True)
    version_id: Mapped[int] = mapped_column(ForeignKey("versions.id"), index=True)
    parameters: Mapped[dict[str, Any]] = mapped_column(JSON)
    results: Mapped[dict[str, Any]] = mapped_column(JSON, deferred=True)

    version: Mapped[VersionRow] = relationship(lazy="raise")
