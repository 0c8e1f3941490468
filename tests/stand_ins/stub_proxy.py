"""A reverse proxy that logs everybody in as one user: it replaces some headers of each connection, as real ones do."""

import asyncio
import threading
from contextlib import contextmanager


@contextmanager
def running_proxy(port, headers):
    """Gives the address of a proxy before a port of localhost; `headers`, as they are then, replace the browser's."""
    ready, started = threading.Event(), {}

    async def serve():
        stop = asyncio.Event()
        server = await asyncio.start_server(lambda *streams: _relay(port, headers, *streams), "127.0.0.1", 0)
        started.update(port=server.sockets[0].getsockname()[1], loop=asyncio.get_running_loop(), stop=stop)
        ready.set()
        await stop.wait()
        server.close()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield f"http://localhost:{started['port']}"
    finally:
        started["loop"].call_soon_threadsafe(started["stop"].set)
        thread.join(10)


async def _relay(port, headers, reader, writer):
    writers = [writer]
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        replaced = {name.casefold() for name in headers} | {"connection"}
        is_upgrade = any(line.casefold().startswith("upgrade:") for line in head)
        kept = [line for line in head[1:-2] if line.split(":")[0].casefold() not in replaced]
        # One request a connection, so that each has the headers.
        kept += [f"{name}: {value}" for name, value in headers.items()]
        kept += ["Connection: Upgrade" if is_upgrade else "Connection: close"]
        page_reader, page_writer = await asyncio.open_connection("localhost", port)
        writers.append(page_writer)
        page_writer.write("\r\n".join([head[0], *kept, "", ""]).encode("latin-1"))
        await asyncio.gather(_copy(reader, page_writer), _copy(page_reader, writer))
    except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
        pass
    finally:
        for one in writers:
            one.close()


async def _copy(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()
