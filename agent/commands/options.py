"""The options with which a command opens an agent, each said once, and how a command takes several of them together."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from ..setup.opening import Words

Plan = Annotated[
    str | None, typer.Argument(metavar="PLAN", help="Signed plan, a file or an HTTPS URL; default: as configured.")
]
Config = Annotated[
    Path | None, typer.Option("--config", help="Default: /etc/sliceplan/agent.yaml.", envvar="SLICEPLAN_CONFIG")
]
Node = Annotated[str | None, typer.Option("--node", help="Name of the node in plans.", envvar="SLICEPLAN_NODE")]
Device = Annotated[
    str | None, typer.Option("--device", help="nvml, cores, nvml+cores or simulated:FILE.", envvar="SLICEPLAN_DEVICE")
]
State = Annotated[Path | None, typer.Option("--state", help="Folder of the agent's state.", envvar="SLICEPLAN_STATE")]
Unsigned = Annotated[bool, typer.Option("--unsigned", help="Take a plan that nobody signed, for a simulated node.")]
Drain = Annotated[
    float | None,
    typer.Option("--drain", min=0, metavar="SECONDS", help="Wait so long for processes of others to leave."),
]

OF_THE_NODE: dict[str, Any] = {"config": Config, "node": Node, "device": Device, "state": State}
CHANGING: dict[str, Any] = {**OF_THE_NODE, "drain_s": Drain}
FOLLOWING: dict[str, Any] = {"plan": Plan, **OF_THE_NODE, "unsigned": Unsigned, "drain_s": Drain}
"""Field of Words -> option, in the order of --help."""


def taking(options: dict[str, Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """
    Lets a command take `Words` in place of these options.

    Parameters
    ----------
    options
        OF_THE_NODE, CHANGING or FOLLOWING; the command's own options come after them.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        _, *own = inspect.signature(command).parameters.values()
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        of_words = [
            inspect.Parameter(name, kind, default=getattr(Words(), name), annotation=option)
            for name, option in options.items()
        ]

        @wraps(command)
        def taken(**values: Any) -> None:
            words = Words(**{name: values.pop(name) for name in options})
            command(words, **values)

        vars(taken)["__signature__"] = inspect.Signature([*of_words, *own])
        return taken

    return decorate
