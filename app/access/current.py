"""Who this script run of the page is for, by the login that the page was started with."""

import getpass
import os
from functools import cache
from pathlib import Path

import streamlit as st

from .header_login import SECRET, header_user
from .identity import Identity, LoginError, Role
from .policy import HeaderLogin, OidcLogin, read_access
from .starting import ACCESS, is_local


def current_identity() -> Identity:
    """
    Returns who uses the page in this browser; raises LoginError with what they can do about it.

    Asked anew for every run and before everything that is saved, so that nothing in a session says who it is.
    """
    stated = os.environ.get(ACCESS)
    if not stated:
        return _local_identity()
    access = read_access(Path(stated))
    if isinstance(access.login, HeaderLogin):
        # Streamlit gives no address for one of this machine itself.
        peer = st.context.ip_address or "127.0.0.1"
        return access.identity(header_user(access.login, st.context.headers.get_all, peer, os.environ.get(SECRET)))
    return access.identity(_oidc_user(access.login))


def has_login() -> bool:
    """Tells whether people say who they are; else the page is reached from this machine alone."""
    return bool(os.environ.get(ACCESS))


def can_log_in() -> bool:
    """Tells whether the page itself leads to the login."""
    stated = os.environ.get(ACCESS)
    return bool(stated) and isinstance(read_access(Path(str(stated))).login, OidcLogin)


def _local_identity() -> Identity:
    address = st.get_option("server.address")
    # The tests' driver runs no server; `streamlit run` by hand listens on all addresses.
    if st.runtime.exists() and not is_local(address or ""):
        raise LoginError("This page is reached from other machines, and has no login. Start it by: sliceplan ui")
    return Identity(_account(), Role.EDITOR)


@cache
def _account() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "local"


def _oidc_user(login: OidcLogin) -> str:
    if not st.user.is_logged_in:
        raise LoginError("Log in to use the planner.")
    claims = st.user.to_dict()
    if login.claim == "email" and claims.get("email_verified") is False:
        raise LoginError("Your provider has not verified your e-mail address; verify it there, then log in again.")
    name = claims.get(login.claim)
    if not isinstance(name, str):
        raise LoginError(
            f"Your provider does not say your {login.claim}; whoever runs this page can name another claim."
        )
    return name
