"""The databases that the store is tested on: SQLite files, and a PostgreSQL server that runs for the session."""

import itertools
import os

import pytest
from stand_ins import postgresql_server
from support.needs import POSTGRESQL, skip_without

from sliceplan.app.store.opening import open_store

_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgresql():
    """A server's socket folder; without Debian's packages a skip, under continuous integration a failure."""
    if postgresql_server.binaries() is None:
        message = "PostgreSQL is not installed: apt-get install postgresql (sh .ci/test does)"
        if os.environ.get("CI", "").lower() in ("", "0", "false"):
            skip_without(POSTGRESQL)
        pytest.fail(message)
    with postgresql_server.server_folder() as folder, postgresql_server.running_server(folder) as socket:
        yield socket


@pytest.fixture
def postgresql_url(postgresql):
    """The URL of an empty PostgreSQL database of the test's own."""
    name = f"test_{next(_numbers)}"
    with postgresql_server.connection(postgresql) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        yield f"postgresql://{postgresql_server.USER}@/{name}?host={postgresql}"
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def sqlite_url(tmp_path):
    return f"sqlite:///{tmp_path}/store.sqlite3"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request):
    """The URL of an empty database; the test runs on each of the two."""
    return request.getfixturevalue(f"{request.param}_url")


@pytest.fixture
def store(url):
    """An open store on an empty database."""
    engine = open_store(url)
    yield engine
    engine.dispose()
