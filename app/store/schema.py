"""Brings a database to the tables of this sliceplan: from nothing, or from any earlier version, by migrations."""

from pathlib import Path
from threading import Lock

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, text

from .errors import NewerSchemaError
from .location import shown
from .transactions import reading, writing

MIGRATIONS = Path(__file__).parent / "migrations"

VERSION_TABLE = "sliceplan_schema"
"""Holds the revision; a name of its own, as others may keep their tables beside these with Alembic too."""

ADVISORY_LOCK = 0x511CE
"""Key of PostgreSQL's lock under which one process at a time upgrades."""

_one_thread = Lock()
"""Alembic's context is global to the process."""


def bring_up_to_date(store: Engine, target: str = "head") -> None:
    """
    Creates or upgrades the tables, all in one transaction; does nothing where they are up to date.

    Raises
    ------
    NewerSchemaError
        If a later sliceplan has upgraded the database.
    StoreError
        If the database cannot be opened, or may not be changed.
    """
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    scripts = ScriptDirectory.from_config(config)
    with reading(store) as session:
        if _is_at(target, session.connection(), scripts, shown(store.url)):
            return
    with _one_thread, writing(store) as session:
        connection = session.connection()
        if store.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK})
        # Somebody else may have upgraded while this one waited.
        if not _is_at(target, connection, scripts, shown(store.url)):
            config.attributes |= {"connection": connection, "version_table": VERSION_TABLE}
            command.upgrade(config, target)


def _is_at(target: str, connection: Connection, scripts: ScriptDirectory, where: str) -> bool:
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    current = context.get_current_revision()
    if current is None:
        return False
    head = scripts.get_current_head()
    try:
        scripts.get_revision(current)
    except CommandError as error:
        raise NewerSchemaError(
            f"{where} was upgraded by a later sliceplan: its tables are at {current}, this one knows them up "
            f"to {head}; upgrade sliceplan, or use another database"
        ) from error
    return current == (head if target == "head" else target)
