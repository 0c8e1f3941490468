"""
What can go wrong with the store.

    StoreError
    ├── StoreUrlError       the URL names no database that the store can use
    ├── UnreachableError    nothing that answers as a database is there
    ├── GoneError           the file was taken away, or emptied, since it was opened
    ├── LockedError         somebody else's transaction did not end in time
    ├── RightsError         the database may not be written, or not read
    ├── NewerSchemaError    a later sliceplan has upgraded the database
    ├── NotFoundError       no such problem, version, plan or sweep
    ├── NameTakenError      another problem has that name
    ├── ArchivedError       the problem is archived
    └── ConflictError       somebody saved in between (conflicts.py)
"""

from ...solver.model.errors import SliceplanError


class StoreError(SliceplanError):
    """Base of what the store raises; every message says what happened, where, and what would be right."""


class StoreUrlError(StoreError):
    """The URL names no database that the store can use; the message does not repeat it, as it may hold a password."""


class UnreachableError(StoreError):
    """Nothing that answers as a database is there."""


class GoneError(StoreError):
    """The SQLite file was taken away, or emptied, since it was opened; no new one is made in its place."""


class LockedError(StoreError):
    """Somebody else's transaction did not end in time; nothing was changed, and trying again may do."""


class RightsError(StoreError):
    """The database may not be written, or not read."""


class NewerSchemaError(StoreError):
    """A later sliceplan has upgraded the database; this one would not understand it."""


class NotFoundError(StoreError):
    """No such problem, version, plan or sweep."""


class NameTakenError(StoreError):
    """Another problem has that name."""


class ArchivedError(StoreError):
    """The problem is archived; nothing can be added to it."""
