"""The access file: how people log in, and which role each has. YAML without secrets; read when the page starts."""

import re
from collections.abc import Iterable
from functools import cache
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator

from ...solver.model.base import Record
from ...solver.model.parsing import read_record
from .identity import Identity, LoginError, Role

USER_CHARACTERS = 100
"""Longest name of a user; the store keeps as many of an author's."""

Pattern = Annotated[str, Field(min_length=1, max_length=200)]
HeaderName = Annotated[str, Field(min_length=1, max_length=100)]


class HeaderLogin(Record):
    """A reverse proxy logs people in, and says in a header who they are."""

    method: Literal["header"]
    header: HeaderName = Field(
        default="X-Forwarded-User", description="header with the user's name; the proxy must replace what browsers send"
    )
    proxies: tuple[IPv4Network | IPv6Network, ...] = Field(
        default=(), description="addresses or networks of the proxies; the header is believed from nobody else"
    )
    secret_header: HeaderName | None = Field(
        default=None,
        description="header in which the proxy sends the secret that the environment variable SLICEPLAN_PROXY_SECRET "
        "holds; without it, the user's header is not believed",
    )

    @field_validator("header", "secret_header")
    @classmethod
    def _is_token(cls, name: str | None) -> str | None:
        if name is not None and not re.fullmatch(r"[A-Za-z0-9-]+", name):
            raise ValueError(f"is {name!r}; expected letters, digits and '-'")
        return name


class OidcLogin(Record):
    """People log in with an OpenID Connect provider, by Streamlit's own means (st.login)."""

    method: Literal["oidc"]
    secrets: Path = Field(
        description="Streamlit's secrets.toml with the section [auth]: redirect_uri, cookie_secret, client_id, "
        "client_secret, server_metadata_url; relative to the access file"
    )
    claim: str = Field(default="email", min_length=1, description="claim of the identity token that names the user")


class Access(Record):
    """Who may use the page."""

    version: Literal[1]
    login: HeaderLogin | OidcLogin = Field(discriminator="method")
    editors: tuple[Pattern, ...] = Field(
        description="names of users, in which * stands for anything: these may save; upper and lower case are alike"
    )
    viewers: tuple[Pattern, ...] = Field(
        default=(),
        description="likewise: these may see, solve and sweep; ['*']: all who log in. All others are refused",
    )
    hosts: tuple[str, ...] = Field(
        default=(),
        description="names under which browsers reach the page, as planner.example.org; others are refused if given",
    )

    def identity(self, user: str) -> Identity:
        """Returns a user with the role; raises LoginError if there is none for them."""
        if not user or len(user) > USER_CHARACTERS or not user.isprintable() or user != user.strip():
            raise LoginError(
                f"The login gives no usable name: expected 1 to {USER_CHARACTERS} printable characters, no blank at "
                "either end."
            )
        if _is_among(user, self.editors):
            return Identity(user, Role.EDITOR)
        if _is_among(user, self.viewers):
            return Identity(user, Role.VIEWER)
        raise LoginError(f"{user} may not use this page. Whoever runs it can add you to its access file.")


@cache
def read_access(path: Path) -> Access:
    """Returns the access file; raises InputError with everything that is wrong in it."""
    return read_record(Access, path)


def _is_among(user: str, patterns: Iterable[str]) -> bool:
    return any(_regex(pattern).fullmatch(user.casefold()) for pattern in patterns)


@cache
def _regex(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.casefold().split("*"))))
