"""
Fetching from an HTTPS server, and from nothing else; imported only where a plan comes from one.

The server is not trusted. All of a fetch, from the look-up of the name through every redirect to the last byte, has one
deadline: at it the connection is cut, whatever the server is doing, for a limit on each read lets a server send a byte
now and then for ever. Headers are bounded by http.client (100 of 64 KiB), the body by `refuse_large`, and the bodies of
redirects and errors are not read at all. Only a 200 with all of its body counts, or a 304 for what is there already.
"""

import http.client
import os
import socket
import ssl
import threading
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .plan_source import Fetched, refuse_large, refuse_unless_https
from .strict_json import refusal

USER_AGENT = "sliceplan-agent"

MAX_REDIRECTS = 3

REDIRECTS = (301, 302, 303, 307, 308)

PIECE = 1 << 16


def fetch(url: str, timeout_s: float, ca_file: Path | None, etag: str | None) -> Fetched | None:
    """
    Returns the answer of a server; None: it is still the version that `etag` names.

    Parameters
    ----------
    timeout_s
        For all of it.

    Raises
    ------
    InputError
        If there is no complete answer in time that may be a plan.
    """
    deadline = time.monotonic() + timeout_s
    context = _context(ca_file)
    at = url
    try:
        for _ in range(MAX_REDIRECTS + 1):
            answer = _asked(at, deadline, context, etag)
            if not isinstance(answer, str):
                return answer
            further = urllib.parse.urljoin(at, answer)
            refuse_unless_https(further, f"{at}: the redirect to {further!r}")
            at = further
    except (OSError, ValueError, http.client.HTTPException) as error:
        if time.monotonic() >= deadline:
            raise refusal(url, "", f"cannot be fetched: not complete after {timeout_s:g} s") from error
        ended = isinstance(error, ssl.SSLEOFError | http.client.IncompleteRead)
        reason = "it ended before all of the answer was there" if ended else str(error) or type(error).__name__
        raise refusal(url, "", f"cannot be fetched: {reason}") from error
    raise refusal(url, "", f"redirects more than {MAX_REDIRECTS} times")


def _asked(url: str, deadline: float, context: ssl.SSLContext, etag: str | None) -> Fetched | str | None:
    """Asks once; returns a redirect's target as text, else as `fetch` does."""
    parts = urllib.parse.urlsplit(url)
    host, port = parts.hostname or "", parts.port or http.client.HTTPS_PORT
    with _connected(host, port, deadline, context) as tls:
        connection = http.client.HTTPSConnection(host, port, context=context)
        connection.sock = tls
        headers = {"User-Agent": USER_AGENT, "Connection": "close", "Host": parts.netloc}
        if etag is not None:
            headers["If-None-Match"] = etag
        target = urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, ""))
        connection.request("GET", target, headers=headers)
        with connection.getresponse() as response:
            if response.status == 304 and etag is not None:
                return None
            if response.status in REDIRECTS and (location := response.headers.get("Location")):
                return str(location)
            if response.status != 200:
                raise refusal(url, "", f"answers {response.status} {response.reason}; expected 200 and a signed plan")
            return Fetched(_body(response, url), response.headers.get("ETag"))


def _body(response: http.client.HTTPResponse, url: str) -> bytes:
    """Returns all of an answer's body; a part of it is refused, and a body that does not say where it ends."""
    if response.length is None and not response.chunked:
        raise refusal(url, "", "does not say how long its answer is (Content-Length), so a part could pass for all")
    if response.length is not None:
        refuse_large(response.length, url)
    data = bytearray()
    while piece := response.read1(PIECE):
        data += piece
        refuse_large(len(data), url)
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return bytes(data)


@contextmanager
def _connected(host: str, port: int, deadline: float, context: ssl.SSLContext) -> Iterator[ssl.SSLSocket]:
    """Gives a connection that is cut at the deadline, also in the middle of a handshake or a read."""
    plain = _reached(host, port, deadline)
    # The descriptor's own copy: what a handshake or a read holds on to is not touched from the other thread.
    copy = socket.socket(fileno=os.dup(plain.fileno()))
    timer = threading.Timer(max(deadline - time.monotonic(), 0.0), _cut, [copy])
    timer.daemon = True
    timer.start()
    try:
        # An end without TLS's own word for it is an error: http.client takes any end within the last chunk for the end.
        with context.wrap_socket(plain, server_hostname=host, suppress_ragged_eofs=False) as tls:
            yield tls
    finally:
        timer.cancel()
        timer.join()
        copy.close()
        plain.close()


def _cut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it has ended by itself


def _reached(host: str, port: int, deadline: float) -> socket.socket:
    """Returns a connection to the first address of a host that answers in time."""
    failed: OSError = TimeoutError(f"the name {host} was not looked up in time")
    for family, kind, protocol, _, address in _addresses(host, port, deadline):
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            break
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(left_s)
            connection.connect(address)
        except OSError as error:
            connection.close()
            failed = error
            continue
        return connection
    raise failed


def _addresses(host: str, port: int, deadline: float) -> list[Any]:
    """Returns the addresses of a host as `getaddrinfo` has them; none if the look-up, which nothing ends, is late."""
    found: list[Any] = []
    failed: list[OSError] = []

    def look_up() -> None:
        try:
            found.extend(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except OSError as error:
            failed.append(error)

    looking = threading.Thread(target=look_up, daemon=True)
    looking.start()
    looking.join(max(deadline - time.monotonic(), 0.0))
    if failed:
        raise failed[0]
    return [] if looking.is_alive() else found


def _context(ca_file: Path | None) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise refusal(str(ca_file), "", f"cannot be read as certificates (PEM): {error}") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
