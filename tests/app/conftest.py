"""The page's own tests: on localhost, as `sliceplan ui` starts it, with an empty store out of the user's folder."""

from functools import cache

import pytest
from streamlit import config
from streamlit.components.v2 import manifest_scanner


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


@pytest.fixture(scope="session", autouse=True)
def _installed_packages_looked_at_once():
    """Each `AppTest` reads the metadata of every package, for components that may be in there: a third of its CPU."""
    patch = pytest.MonkeyPatch()
    patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
    yield
    patch.undo()
