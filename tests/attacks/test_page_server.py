"""What a visitor's browser, or another site in it, can ask of the page's server."""

import asyncio
import http.client
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.page_server import running_page

from sliceplan.app.access.guarding import HEADERS, MOST_OF_ALL, MOST_OF_SESSION, Admitted, Guard
from sliceplan.app.access.uploads import KEPT_S, Abandoned, Uploads

MIB = 2**20


class Streamlit:
    """Stands for Streamlit's server: notes what reaches it, and how many bytes of it are read."""

    def __init__(self):
        self.reached = []
        self.read = 0

    async def __call__(self, scope, receive, send):
        self.reached.append(scope["path"])
        if scope["type"] == "http":
            message = await receive()
            self.read += len(message.get("body", b""))
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})


def to_its_end(coroutine):
    """Runs a coroutine in a thread of its own; once a browser has been driven, the main thread's loop never ends."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


def asked(guard, path, method="GET", kind="http", **headers):
    """Returns the status and the headers of the answer; of a connection, with which code it was closed."""
    sent = []

    async def receive():
        return {"type": f"{kind}.request", "body": b"x" * 10}

    async def send(message):
        sent.append(message)

    given = [(name.replace("_", "-").encode(), str(text).encode()) for name, text in headers.items()]
    scope = {"type": kind, "path": path, "method": method, "headers": given}
    to_its_end(guard(scope, receive, send))
    if kind == "websocket":
        return [message["code"] for message in sent]
    return sent[0]["status"], {name.decode(): text.decode() for name, text in sent[0]["headers"]}


@pytest.fixture
def served():
    """Gives a guard, what it guards, who was admitted, and what is kept."""
    streamlit, admitted, kept = Streamlit(), Admitted(most=3), {}
    uploads = Uploads(lambda: kept, lambda _: True, kept.pop)
    return Guard(streamlit, uploads, ("planner.example.org",), admitted), streamlit, admitted, kept


def upload(guard, session="a", size=MIB):
    return asked(guard, f"/_stcore/upload_file/{session}/1", "PUT", content_length=size)[0]


def test_an_upload_of_somebody_who_was_not_let_in_is_refused_before_it_is_read(served):
    """Ten of 60 MiB each were read and kept."""
    guard, streamlit, admitted, _ = served
    assert upload(guard) == 403
    assert (streamlit.reached, streamlit.read) == ([], 0)
    admitted.add("a")
    assert upload(guard) == 204
    assert upload(guard, "b") == 403
    admitted.discard("a")
    assert upload(guard) == 403


def test_uploads_are_bounded_by_session_and_for_all_together(served):
    guard, streamlit, admitted, kept = served
    admitted.add("a")
    kept["a"] = MOST_OF_SESSION - MIB
    assert upload(guard, size=MIB) == 204
    assert upload(guard, size=MIB + 1) == 413
    kept |= {"a": 0, "others": MOST_OF_ALL - MIB}
    assert upload(guard, size=MIB) == 204
    assert upload(guard, size=MIB + 1) == 503
    assert asked(guard, "/_stcore/upload_file/a/1", "PUT")[0] == 411
    assert asked(guard, "/_stcore/upload_file/a/1", "PUT", content_length="-1")[0] == 411
    assert len(streamlit.reached) == 2


def test_uploads_that_are_under_way_count(served):
    guard, _, admitted, _ = served
    admitted.add("a")
    statuses = []

    async def nested(*_):
        statuses.append(await started(MOST_OF_SESSION - MIB + 1))
        statuses.append(await started(MIB))

    async def started(size):
        refused = guard._refusal("a", {"content-length": str(size)})
        return refused.status_code if refused else 0

    guard._app = nested
    scope = {"type": "http", "path": "/_stcore/upload_file/a/1", "method": "PUT"}
    to_its_end(guard({**scope, "headers": [(b"content-length", str(MIB).encode())]}, None, None))
    assert statuses == [413, 0]
    assert not guard._coming


def test_uploads_go_some_time_after_the_browser_has_gone():
    kept, connected = {"a": MIB, "b": MIB}, {"a", "b"}
    abandoned = Abandoned(Uploads(lambda: dict(kept), connected.__contains__, kept.pop))
    abandoned.release(0.0)
    connected -= {"a", "b"}
    abandoned.release(10.0)
    assert set(kept) == {"a", "b"}
    connected.add("b")  # it comes back
    abandoned.release(10 + KEPT_S / 2)
    connected.discard("b")
    abandoned.release(10 + KEPT_S)
    assert set(kept) == {"b"}
    abandoned.release(10 + 2 * KEPT_S)
    assert not kept


def test_files_are_looked_at_when_a_connection_ends(monkeypatch):
    """Streamlit itself would look when the next browser goes: the files of the last one stayed for ever."""
    monkeypatch.setattr("sliceplan.app.access.uploads.KEPT_S", 0.05)
    monkeypatch.setattr("sliceplan.app.access.guarding.KEPT_S", 0.05 - 1)
    kept = {"a": MIB}

    async def connected(*_):
        assert kept

    async def closed_and_waited_for():
        guard = Guard(connected, Uploads(lambda: dict(kept), lambda _: False, kept.pop))
        await guard({"type": "websocket", "path": "/_stcore/stream", "headers": []}, None, None)
        assert kept
        while kept:
            await asyncio.sleep(0.01)

    to_its_end(asyncio.wait_for(closed_and_waited_for(), 30))


def test_of_many_who_were_let_in_the_last_are_known():
    admitted = Admitted(most=2)
    for session in ("a", "b", "a", "c"):
        admitted.add(session)
    assert ["a" in admitted, "b" in admitted, "c" in admitted] == [True, False, True]


@pytest.mark.parametrize(
    ("origin", "host", "closed"),
    [
        ("http://localhost:8501", "localhost:8501", []),
        (None, "localhost:8501", []),
        ("https://planner.example.org", "10.0.0.7:8501", []),
        ("http://localhost:9999", "localhost:8501", [1008]),
        ("http://evil.example", "localhost:8501", [1008]),
        ("https://planner.example.org.evil.example", "10.0.0.7:8501", [1008]),
        ("null", "localhost:8501", [1008]),
        ("http://localhost:8501@evil.example", "localhost:8501", [1008]),
    ],
)
def test_only_a_page_of_this_server_opens_a_connection(served, origin, host, closed):
    """Another site, or another server of this machine, could open one by the name alone."""
    headers = {"host": host} | ({"origin": origin} if origin else {})
    assert asked(served[0], "/_stcore/stream", kind="websocket", **headers) == closed
    assert bool(served[1].reached) == (not closed)


def test_the_server_that_is_started_keeps_these_rules(tmp_path):
    with running_page(tmp_path) as address:
        with urllib.request.urlopen(f"{address}/") as page:
            assert {name: page.headers[name] for name in HEADERS} == HEADERS
        connection = http.client.HTTPConnection(address.removeprefix("http://"))
        for method, path, headers, status in [
            ("GET", "/_stcore/metrics", {}, 404),
            ("GET", "/_stcore/health", {}, 200),
            ("PUT", "/_stcore/upload_file/nobody/1", {"Content-Length": str(60 * MIB)}, 403),
            ("GET", "/_stcore/stream", UPGRADE | {"Origin": "http://localhost:9"}, 403),
        ]:
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            answer.read()
            connection.close()
            assert answer.status == status, path


UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}
