"""From any earlier version's tables to this one's, by Alembic."""
