"""Room for sweeps of a version of a problem."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "sweeps",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("version_id", sa.Integer, nullable=False),
        sa.Column("parameters", sa.JSON, nullable=False),
        sa.Column("results", sa.JSON, nullable=False),
        sa.Column("author", sa.String(100), nullable=False),
        sa.Column("saved_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("archived_at", sa.DateTime(timezone=True)),
        sa.Column("archived_by", sa.String(100)),
        sa.PrimaryKeyConstraint("id", name="pk_sweeps"),
        sa.ForeignKeyConstraint(["version_id"], ["versions.id"], name="fk_sweeps_version_id_versions"),
    )
    op.create_index("ix_sweeps_version_id", "sweeps", ["version_id"])
