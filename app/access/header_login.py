"""The user whom a reverse proxy names in a header: believed only from the proxy."""

import hmac
from collections.abc import Callable, Sequence
from ipaddress import ip_address

from .identity import LoginError
from .policy import HeaderLogin

SECRET = "SLICEPLAN_PROXY_SECRET"
"""Environment variable with the secret that the proxy sends."""

SHORTEST_SECRET = 16

AllOf = Callable[[str], Sequence[str]]
"""Gives all values of a header, by its name in any case."""


def header_user(login: HeaderLogin, headers: AllOf, peer: str, secret: str | None) -> str:
    """
    Returns the name that the proxy gives.

    Parameters
    ----------
    peer
        Address at the other end of the connection, not what a header says of it.
    secret
        What SLICEPLAN_PROXY_SECRET holds; needed if the login names a secret header.

    Raises
    ------
    LoginError
        If the connection does not come from the proxy, or the proxy names nobody, or more than one.
    """
    if not (_comes_from_proxy(login, peer) and _knows_secret(login, headers, secret)):
        raise LoginError("This page is reached through its proxy only, where you log in. Ask whoever runs it.")
    names = headers(login.header)
    if len(names) > 1:
        # The proxy must replace the header; one that only adds its own lets browsers send theirs.
        raise LoginError(f"The header {login.header} is there {len(names)} times; the proxy must set it once.")
    if not names or not names[0].strip():
        raise LoginError(f"The proxy names no user (header {login.header}). Log in there first.")
    return names[0].strip()


def _comes_from_proxy(login: HeaderLogin, peer: str) -> bool:
    if not login.proxies:
        return True
    try:
        address = ip_address(peer)
    except ValueError:
        return False
    # An IPv4 connection to a socket of both kinds.
    address = getattr(address, "ipv4_mapped", None) or address
    return any(address in network for network in login.proxies)


def _knows_secret(login: HeaderLogin, headers: AllOf, secret: str | None) -> bool:
    if login.secret_header is None:
        return True
    given = headers(login.secret_header)
    return bool(secret) and len(given) == 1 and hmac.compare_digest(given[0].encode(), str(secret).encode())
