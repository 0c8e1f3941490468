"""The page's own tests: on localhost, as `sliceplan ui` starts it, with an empty store out of the user's folder."""

import pytest
from streamlit import config


@pytest.fixture(scope="session", autouse=True)
def _page_on_localhost(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setenv("SLICEPLAN_DATABASE", f"sqlite:///{tmp_path_factory.mktemp('store')}/store.sqlite3")
    patch.delenv("SLICEPLAN_ACCESS", raising=False)
    before = config.get_option("server.address")
    config.set_option("server.address", "localhost")
    yield
    config.set_option("server.address", before)
    patch.undo()
