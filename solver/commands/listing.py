"""The commands that list what sliceplan knows."""

import sys
from enum import StrEnum
from typing import Annotated

import typer

from ..model.errors import Finding, InputError
from .inputs import known_profiles
from .options import ProfilesOption
from .output import display, two_columns


def planners() -> None:
    """List the planners and where they come from."""
    from .. import api

    display(two_columns(api.planner_sources()))


def gpus(
    name: Annotated[str | None, typer.Argument(help="A GPU type: print its whole entry, sources included.")] = None,
) -> None:
    """List the GPU catalogue."""
    import yaml

    from ..model.catalogue import load_catalogue
    from ..model.parsing import closest
    from ..terminal import gpu_table

    known = load_catalogue()
    if name is None:
        display(gpu_table(known.values()))
    elif name in known:
        sys.stdout.write(yaml.safe_dump(known[name].model_dump(mode="json"), sort_keys=False, allow_unicode=True))
    else:
        raise InputError([Finding("GPU", name, f"is not in the catalogue. {closest(name, known)}")])


def list_profiles(profiles: ProfilesOption = None) -> None:
    """List the model profiles and their quality."""
    from ..model.profile import merged
    from ..terminal import profile_table

    display(profile_table(merged(known_profiles(profiles)).values()))


class RecordKind(StrEnum):
    """The files whose JSON Schema can be printed."""

    PROBLEM = "problem"
    PLAN = "plan"
    PROFILE = "profile"
    TRANSITION = "transition"


def schema(kind: Annotated[RecordKind, typer.Argument(help="problem, plan, profile or transition")]) -> None:
    """Print the JSON Schema of a file format."""
    from ..formats.schemas import schema_text

    sys.stdout.write(schema_text(kind.value))
