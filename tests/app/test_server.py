"""What the page's process does before it listens, and what it answers itself."""

import subprocess
import sys

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from sliceplan.app.screens.start.address import StartAddress

SCRIPT = """
import sys
import sliceplan.app.page
print(*(name for name in ("ortools", "highspy", "distributed", "alembic") if name in sys.modules))
"""


def test_loading_the_page_says_nothing_and_leaves_the_solvers_to_the_workers():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("", "")


@pytest.mark.parametrize(
    ("asked", "led_to"), [("/start", "./"), ("/gpus/start?whatif=a", "./?whatif=a"), ("/", None), ("/start/x", None)]
)
def test_the_first_screen_is_found_by_its_path_too(asked, led_to):
    async def server(scope, receive, send):
        await PlainTextResponse("the page")(scope, receive, send)

    answer = TestClient(StartAddress(server)).get(asked, follow_redirects=False)
    assert answer.headers.get("location") == led_to
    assert led_to is not None or answer.text == "the page"
