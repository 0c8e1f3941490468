"""
What the node agent adds to programs that plan: scripts of a plan for its nodes, and signatures that agents trust.

The library imports nothing of the agent; who asks for one of these has it looked up here, by name. So the agent knows
the records of plans, nothing of a plan knows the agent, and this table is all that joins the two.
"""

from collections.abc import Callable
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from .model.plan import Plan


class Sign(Protocol):
    """Signs a plan with the private key of a file; raises InputError if no agent would take it."""

    def __call__(
        self,
        plan: Plan,
        key: Path,
        source: str,
        *,
        issued_at: datetime,
        sequence: int | None,
        expires_at: datetime | None,
    ) -> str:
        """Returns the text of the signed plan; `sequence`: None: the seconds since 1970; `expires_at`: None: no end."""
        ...


NodeScripts = Callable[[Plan, str], dict[str, str]]
"""From a plan and the name of its file, for messages, to the script of each node; raises InputError."""


def node_scripts() -> NodeScripts:
    """Returns what turns a plan into shell scripts, one a node."""
    return cast(NodeScripts, _named("showing.script", "node_scripts"))


def signer() -> Sign:
    """Returns what signs a plan for the agents of its nodes."""
    return cast(Sign, _named("trust.signing", "sign_with_key_of"))


def _named(module: str, name: str) -> object:
    return getattr(import_module(f"sliceplan.agent.{module}"), name)
