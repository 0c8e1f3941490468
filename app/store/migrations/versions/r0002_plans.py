"""Plans for a version of a problem."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "plans",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("version_id", sa.Integer, nullable=False),
        sa.Column("planner", sa.Text, nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("cost_per_hour", sa.Double),
        sa.Column("gpus_used", sa.Integer, nullable=False),
        sa.Column("bound_cost_per_hour", sa.Double),
        sa.Column("gap", sa.Double),
        sa.Column("runtime_s", sa.Double, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.Column("author", sa.String(100), nullable=False),
        sa.Column("saved_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("archived_at", sa.DateTime(timezone=True)),
        sa.Column("archived_by", sa.String(100)),
        sa.PrimaryKeyConstraint("id", name="pk_plans"),
        sa.ForeignKeyConstraint(["version_id"], ["versions.id"], name="fk_plans_version_id_versions"),
    )
    op.create_index("ix_plans_version_id", "plans", ["version_id"])
