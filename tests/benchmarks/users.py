"""
How long users of one page wait who all press Solve at the same moment.

    .venv/bin/python tests/benchmarks/users.py [--users 20] [--services 100]

Starts the page as `sliceplan ui` does. Each user is a session of its own over Streamlit's websocket, as a browser would
have it, but draws nothing: so what is measured is the server with its workers, and not as many browsers on its cores. A
user uploads a problem of their own on the screen Workloads, all wait for each other, press Solve, and wait until the
headline of their plan is on the page. Prints each wait and all errors. Times are this machine's, whatever else runs on
it.
"""

import argparse
import asyncio
import os
import re
import signal
import statistics
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from problems.instances import random_problem
from ran_on import RANDOM, say_what_it_ran_on
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from support.page_server import running_page
from websockets.asyncio.client import connect

from sliceplan.solver.formats.problem_files import dump_problem
from sliceplan.solver.model.problem import Problem

HEADLINE = re.compile(r"\d+ GPUs?, \$[\d,.]+ per hour")
COOKIE = "_streamlit_xsrf"
QUIET_S = 1.5
"""A page that says nothing for so long is drawn."""
LONGEST_S = 90.0


class User:
    """One session: sends what a browser would send, and reads what comes."""

    def __init__(self, port: int, problem: Problem) -> None:
        self.port, self.problem = port, problem
        self.query, self.session_id = "", ""
        self.buttons: dict[str, str] = {}
        self.uploaders: dict[str, str] = {}
        self.states: list[dict[str, object]] = []
        self.texts: list[str] = []
        self.errors: list[str] = []
        self.urls: asyncio.Queue[object] = asyncio.Queue()
        self.heard = asyncio.Event()
        self.opened_load = 0.0
        self.last = time.perf_counter()
        self.timers: dict[str, asyncio.Task[None]] = {}

    async def run(self, gate: asyncio.Barrier) -> float:
        """Returns how long the user waited for the headline."""
        async with connect(
            f"ws://localhost:{self.port}/_stcore/stream", max_size=None, ping_interval=None
        ) as self.socket:
            self.reading = asyncio.create_task(self._read())
            self.reading.add_done_callback(lambda _: self.heard.set())
            try:
                await self._rerun()
                await self._drawn(lambda: "Solve" in self.buttons and bool(self.uploaders))
                await self._upload()
                await self._drawn(lambda: any(self.problem.name in text for text in self.texts))
                async with asyncio.timeout(LONGEST_S):
                    await gate.wait()
                self.opened_load = os.getloadavg()[0]
                self.texts.clear()
                started = time.perf_counter()
                await self._rerun({"id": self.buttons["Solve"], "trigger_value": True})
                await self._until(lambda: any(HEADLINE.search(text) for text in self.texts))
                return time.perf_counter() - started
            finally:
                self.reading.cancel()
                self._stop_timers()

    async def _rerun(self, *more: dict[str, object], fragment: str = "") -> None:
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_name, state.fragment_id = self.query, "workloads", fragment
        state.is_auto_rerun = bool(fragment)
        for one in (*self.states, *more):
            widget = state.widget_states.widgets.add()
            widget.id = one["id"]
            if "trigger_value" in one:
                widget.trigger_value = True
            else:
                widget.file_uploader_state_value.CopyFrom(one["file_uploader_state_value"])
        await self.socket.send(message.SerializeToString())

    async def _upload(self) -> None:
        """Uploads the problem into the page's only place for files."""
        message = BackMsg()
        message.file_urls_request.request_id = "1"
        message.file_urls_request.file_names.append("problem.yaml")
        message.file_urls_request.session_id = self.session_id
        await self.socket.send(message.SerializeToString())
        urls = await asyncio.wait_for(self.urls.get(), LONGEST_S)
        contents = dump_problem(self.problem).encode()
        await asyncio.to_thread(put, self.port, urls.upload_url, contents)
        state = BackMsg().rerun_script.widget_states.widgets.add()
        info = state.file_uploader_state_value.uploaded_file_info.add()
        info.name, info.size, info.file_id = "problem.yaml", len(contents), urls.file_id
        info.file_urls.CopyFrom(urls)
        widget = next(iter(self.uploaders.values()))
        self.texts.clear()
        self.states = [{"id": widget, "file_uploader_state_value": state.file_uploader_state_value}]
        await self._rerun()

    async def _read(self) -> None:
        async for data in self.socket:
            message = ForwardMsg()
            message.ParseFromString(data)
            self.last = time.perf_counter()
            kind = message.WhichOneof("type")
            if kind == "new_session":
                self.session_id = message.new_session.initialize.session_id or self.session_id
            elif kind == "page_info_changed":
                self.query = message.page_info_changed.query_string
            elif kind == "file_urls_response":
                self.urls.put_nowait(message.file_urls_response.file_urls[0])
            elif kind == "auto_rerun":
                self._repeat_from_now(message.auto_rerun.fragment_id, message.auto_rerun.interval)
            elif kind == "stop_auto_rerun":
                self._stop_timers()
            elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
                self._note(message.delta.new_element)
            self.heard.set()

    def _note(self, element: object) -> None:
        kind = element.WhichOneof("type")
        if kind == "button":
            self.buttons[element.button.label] = element.button.id
        elif kind == "file_uploader":
            self.uploaders[element.file_uploader.label] = element.file_uploader.id
        elif kind == "exception":
            self.errors.append(element.exception.message)
        elif kind == "alert" and element.alert.format == element.alert.ERROR:
            self.errors.append(element.alert.body)
        elif kind in ("markdown", "heading"):
            # As one reads it: Markdown's signs are escaped, and links are broken by signs that nobody sees.
            self.texts.append(getattr(element, kind).body.replace("\\", "").replace("\u2060", ""))

    def _repeat_from_now(self, fragment: str, interval_s: float) -> None:
        if fragment in self.timers:
            self.timers[fragment].cancel()
        self.timers[fragment] = asyncio.create_task(self._repeat(fragment, interval_s))

    async def _repeat(self, fragment: str, interval_s: float) -> None:
        while True:
            await asyncio.sleep(interval_s)
            await self._rerun(fragment=fragment)

    def _stop_timers(self) -> None:
        for timer in self.timers.values():
            timer.cancel()
        self.timers.clear()

    async def _until(self, holds: object) -> None:
        async with asyncio.timeout(LONGEST_S):
            while not holds():
                if self.reading.done():
                    self.reading.result()
                    raise ConnectionError("the server ended the connection")
                self.heard.clear()
                await self.heard.wait()

    async def _drawn(self, holds: object) -> None:
        """Waits until something is on the page, and the page is at rest."""
        await self._until(holds)
        while time.perf_counter() - self.last < QUIET_S:
            await asyncio.sleep(0.1)


def put(port: int, url: str, contents: bytes) -> None:
    """Uploads a file as a browser does."""
    with urllib.request.urlopen(f"http://localhost:{port}/_stcore/health") as answer:
        token = re.search(rf"{COOKIE}=([^;]+)", answer.headers.get("Set-Cookie", ""))
    boundary = "a-file-of-the-benchmark"
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="problem.yaml"\r\n\r\n'.encode()
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    if token:
        headers |= {"Cookie": f"{COOKIE}={token[1]}", "X-Xsrftoken": token[1]}
    body = head + contents + f"\r\n--{boundary}--\r\n".encode()
    urllib.request.urlopen(urllib.request.Request(f"http://localhost:{port}{url}", body, headers, method="PUT")).close()


async def measured(port: int, problems: list[Problem]) -> None:
    """Prints the waits of as many users as there are problems."""
    gate = asyncio.Barrier(len(problems))
    users = [User(port, problem) for problem in problems]
    # No pings: a browser sends none, and a page that is late is to be waited for.
    waits = await asyncio.gather(*(user.run(gate) for user in users), return_exceptions=True)
    seconds = sorted(wait for wait in waits if isinstance(wait, float))
    errors = [text for user in users for text in user.errors]
    errors += [f"{type(wait).__name__} {wait}" for wait in waits if not isinstance(wait, float)]
    loads = [user.opened_load for user in users if user.opened_load]
    print(f"load when they pressed Solve: {max(loads, default=0.0):.1f}")
    print("waits (s):", " ".join(f"{wait:.2f}" for wait in seconds))
    if seconds:
        print(f"longest {seconds[-1]:.2f} s, median {statistics.median(seconds):.2f} s", end="; ")
    print(f"{len(seconds)} of {len(users)} users have their plan; {len(errors)} errors")
    for error in errors[:5]:
        print(f"  {error}")


def main() -> None:
    """Measures once."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--services", type=int, default=100)
    arguments = parser.parse_args()
    say_what_it_ran_on(f"{arguments.users} users, each with {arguments.services} {RANDOM}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended early"))
    problems = [random_problem(arguments.services, seed) for seed in range(arguments.users)]
    with tempfile.TemporaryDirectory() as folder, running_page(folder) as address:
        asyncio.run(measured(int(address.rpartition(":")[2]), problems))


if __name__ == "__main__":
    main()
