"""
How long users of one page wait: for their plan, when all press Solve in one instant, or for a what-if, as people do.

    .venv/bin/python tests/benchmarks/users.py [--users 20] [--services 100] [--looks 1.5 --moves 6]

Starts the page as `sliceplan ui` does. Each user is a session of its own over Streamlit's websocket, as a browser would
have it, but draws nothing: so what is measured is the server with its workers, and not as many browsers on its cores. A
user uploads a problem of their own on the screen Workloads, all wait for each other, press Solve, and wait until the
headline of their plan is on the page. With `--looks` everyone then goes to What-if and moves the slider of all rates
`--moves` times, waits for the new cost each time, and looks at it for about so many seconds, drawn between half and one
and a half of it, before the next move; only these waits are counted. Prints the waits and all errors. Times are this
machine's, whatever else runs on it.
"""

import argparse
import asyncio
import os
import random
import re
import signal
import statistics
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
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
DEMO = "$13.72"
"""What the plan costs with which everyone begins."""
COOKIE = "_streamlit_xsrf"
QUIET_S = 1.5
"""A page that says nothing for so long is drawn."""
FACTORS = (0.5, 1.5, 2.0, 2.5, 3.0)
"""Of all rates, so far from each other that costs differ."""
LONGEST_S = 90.0
WARM_S = 5.0
"""Until all workers of a new server have loaded the solvers."""
MOST_SHOWN = 30
"""Waits up to which each is printed."""


@dataclass(frozen=True)
class Acts:
    """How users act."""

    moves: int
    looks_s: float
    """How long they look at a cost before the next move; 0: they press Solve, all in the same instant, and no more."""


class User:
    """One session: sends what a browser would send, and reads what comes."""

    def __init__(self, port: int, problem: Problem, acts: Acts) -> None:
        self.port, self.problem, self.acts = port, problem, acts
        self.page, self.pages = "", {"workloads": ""}
        self.headlines: list[str] = []
        self.slider, self.part_of_slider, self.cost = "", "", ""
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

    async def run(self, gate: asyncio.Barrier) -> list[float]:
        """Returns how long the user waited for the headline each time."""
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
                await asyncio.sleep(WARM_S)
                async with asyncio.timeout(LONGEST_S):
                    await gate.wait()
                self.opened_load = os.getloadavg()[0]
                wait_s = await self._solve()
                return await self._moves() if self.acts.looks_s else [wait_s]
            finally:
                self.reading.cancel()
                self._stop_timers()

    async def _solve(self) -> float:
        self.headlines.clear()
        started = time.perf_counter()
        await self._rerun({"id": self.buttons["Solve"], "trigger_value": True})
        await self._until(lambda: bool(self.headlines))
        return time.perf_counter() - started

    async def _moves(self) -> list[float]:
        """Returns the waits for the new cost after moves of the slider of all rates."""
        await self._drawn(lambda: True)
        self.page, self.cost = self.pages["what-if"], ""
        await self._rerun()
        await self._drawn(lambda: bool(self.slider and self.cost))
        drawn, waits, factor = random.Random(self.problem.name), [], 1.0
        for _ in range(self.acts.moves):
            await asyncio.sleep(drawn.uniform(0.5, 1.5) * self.acts.looks_s)
            factor = drawn.choice([one for one in FACTORS if abs(one - factor) > 0.4])
            before, started = self.cost, time.perf_counter()
            others = [one for one in self.states if one["id"] != self.slider]
            self.states = [*others, {"id": self.slider, "double_array_value": factor}]
            await self._rerun(fragment=self.part_of_slider)
            await self._until(lambda before=before: self.cost != before)
            waits.append(time.perf_counter() - started)
        return waits

    async def _rerun(self, *more: dict[str, object], fragment: str = "", is_auto: bool = False) -> None:
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.fragment_id = self.query, fragment
        state.page_script_hash, state.page_name = self.page, "" if self.page else "workloads"
        state.is_auto_rerun = is_auto
        for one in (*self.states, *more):
            widget = state.widget_states.widgets.add()
            widget.id = one["id"]
            if "trigger_value" in one:
                widget.trigger_value = True
            elif "double_array_value" in one:
                widget.double_array_value.data.append(one["double_array_value"])
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
                self.page = message.new_session.page_script_hash
                if not message.metadata.run.fragment_ids:
                    self._stop_timers()  # as a browser does: the run starts them anew
            elif kind == "navigation":
                self.page = message.navigation.page_script_hash
                self.pages = {one.url_pathname: one.page_script_hash for one in message.navigation.app_pages}
            elif kind == "page_info_changed":
                self.query = message.page_info_changed.query_string
            elif kind == "file_urls_response":
                self.urls.put_nowait(message.file_urls_response.file_urls[0])
            elif kind == "auto_rerun":
                self._repeat_from_now(message.auto_rerun.fragment_id, message.auto_rerun.interval)
            elif kind == "stop_auto_rerun":
                for fragment in message.stop_auto_rerun.fragment_ids:
                    if fragment in self.timers:
                        self.timers.pop(fragment).cancel()
            elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
                self._note(message.delta.new_element, message.delta.fragment_id)
            self.heard.set()

    def _note(self, element: object, part: str) -> None:
        kind = element.WhichOneof("type")
        if kind == "button":
            self.buttons[element.button.label] = element.button.id
        elif kind == "slider" and element.slider.label == "Every rate":
            self.slider, self.part_of_slider = element.slider.id, part
        elif kind == "metric" and element.metric.label == "Cost per hour":
            self.cost = element.metric.body
        elif kind == "file_uploader":
            self.uploaders[element.file_uploader.label] = element.file_uploader.id
        elif kind == "exception":
            self.errors.append(element.exception.message)
        elif kind == "alert" and element.alert.format == element.alert.ERROR:
            self.errors.append(element.alert.body)
        elif kind in ("markdown", "heading"):
            # As one reads it: Markdown's signs are escaped, and links are broken by signs that nobody sees.
            text = getattr(element, kind).body.replace("\\", "").replace("\u2060", "")
            self.texts.append(text)
            if DEMO not in text and HEADLINE.search(text):  # the demo's is there until the plan comes
                self.headlines.append(text)

    def _repeat_from_now(self, fragment: str, interval_s: float) -> None:
        if fragment in self.timers:
            self.timers[fragment].cancel()
        self.timers[fragment] = asyncio.create_task(self._repeat(fragment, interval_s))

    async def _repeat(self, fragment: str, interval_s: float) -> None:
        while True:
            await asyncio.sleep(interval_s)
            await self._rerun(fragment=fragment, is_auto=True)

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


async def measured(port: int, problems: list[Problem], acts: Acts) -> None:
    """Prints the waits of as many users as there are problems."""
    gate = asyncio.Barrier(len(problems))
    users = [User(port, problem, acts) for problem in problems]
    # No pings: a browser sends none, and a page that is late is to be waited for.
    found = await asyncio.gather(*(user.run(gate) for user in users), return_exceptions=True)
    waits = [one for one in found if isinstance(one, list)]
    seconds = sorted(wait for one in waits for wait in one)
    errors = [text for user in users for text in user.errors]
    errors += [f"{type(one).__name__} {one}" for one in found if not isinstance(one, list)]
    loads = [user.opened_load for user in users if user.opened_load]
    print(f"load when they pressed Solve: {max(loads, default=0.0):.1f}")
    if len(seconds) <= MOST_SHOWN:
        print("waits (s):", " ".join(f"{wait:.2f}" for wait in seconds))
    if seconds:
        print(f"longest {seconds[-1]:.2f} s, median {statistics.median(seconds):.2f} s", end="; ")
    print(f"{len(waits)} of {len(users)} users have their plan; {len(errors)} errors")
    for error in errors[:5]:
        print(f"  {error}")


def main() -> None:
    """Measures once."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--services", type=int, default=100)
    parser.add_argument("--looks", type=float, default=0.0, help="seconds that people look at a cost; 0: no what-if")
    parser.add_argument("--moves", type=int, default=1, help="of the slider, of everyone who looks")
    arguments = parser.parse_args()
    say_what_it_ran_on(f"{arguments.users} users, each with {arguments.services} {RANDOM}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended early"))
    problems = [random_problem(arguments.services, seed) for seed in range(arguments.users)]
    with tempfile.TemporaryDirectory() as folder, running_page(folder) as address:
        asyncio.run(measured(int(address.rpartition(":")[2]), problems, Acts(arguments.moves, arguments.looks)))


if __name__ == "__main__":
    main()
