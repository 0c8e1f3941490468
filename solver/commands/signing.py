"""The command `sign`, which makes a plan one that agents take."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from ..model.errors import Finding, InputError
from .options import PlanArgument
from .output import say


def sign(
    plan: PlanArgument,
    key: Annotated[Path, typer.Option(help="Private key (`sliceplan-agent keygen`).")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Signed plan; default: stdout.")] = None,
    sequence: Annotated[
        int | None, typer.Option(min=1, help="Number, larger than the last; default: the seconds since 1970.")
    ] = None,
    valid_days: Annotated[
        float | None, typer.Option(min=0, help="No agent begins to apply it after so many days; default: no end.")
    ] = None,
) -> None:
    """Sign a plan, so that the agents of its nodes take it."""
    from ..extensions import signer
    from ..formats.plan_files import read_plan
    from ..formats.text_files import write_text

    now = datetime.now(UTC).replace(microsecond=0)
    try:
        expires_at = None if valid_days is None else now + timedelta(days=valid_days)
    except OverflowError as error:
        raise InputError([Finding("--valid-days", "", f"is {valid_days:g}; no calendar goes so far")]) from error
    text = signer()(read_plan(plan), key, str(plan), issued_at=now, sequence=sequence, expires_at=expires_at)
    if output is None:
        sys.stdout.write(text)
    else:
        write_text(output, text)
        say(str(output))
