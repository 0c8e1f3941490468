"""
Run by Alembic for every upgrade (schema.py hands in the connection).

To change the tables: change tables.py, add a file to versions/ whose `down_revision` is the last one's `revision`, and
run tests/app/store/test_schema.py, which names every difference that is left. A migration that was released is never
changed, and imports nothing of the store, whose code moves on. There is no downgrade.
"""

from alembic import context

from sliceplan.app.store.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    version_table=context.config.attributes["version_table"],
    target_metadata=Base.metadata,
    render_as_batch=True,
    # True of SQLite as well, as the store begins its transactions itself.
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
