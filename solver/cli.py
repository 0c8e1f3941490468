"""
The command line `sliceplan`: what there is, in the order of --help, and how it ends. The commands are in commands/.

Exit codes
    0    done
    1    no plan exists for this problem, which is proven; or the planner's plan does not hold; or a simulated service
         misses its SLO
    2    the input is wrong
    3    a limit, or the first Ctrl-C, ended the search, with a usable answer
    4    the planner does not take this problem (size, rules), which says nothing about the problem
    5    a limit, or the first Ctrl-C, came before any answer, which says nothing about the problem
    6    the search is complete and found no plan, and it is not proven that there is none
    7    something in sliceplan failed, or two planners contradict each other: a mistake of its own, please report it
    130  interrupted a second time

Where several planners answer (`compare`), or several points (`sweep`), it is the first of 7, 0, 3, 1, 5, 6, 4 that one
of them gives; 3 for 0 where Ctrl-C ended a comparison, or a limit a point. Machine-readable output goes to stdout or a
file, the rest to stderr.
"""

import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Annotated, Any, NoReturn, cast

import typer
from typer.core import TyperGroup

from .commands.destinations import looking_first
from .commands.exit_codes import Exit
from .commands.standard_output import minding_its_output
from .model.errors import InputError, MissingExtraError, SliceplanError, printable
from .runtime.interruption import runs_on
from .starting import INTERRUPTED


class _Named(Mapping[str, Any]):
    """The commands by name, each imported when it is asked for: all of them take as long as a small plan."""

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        return _alone(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Commands(TyperGroup):
    """All commands."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**{**given, "commands": _Named()})


@cache
def _alone(name: str) -> Any:
    """Returns a command as a command line of its own."""
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command(name)(minding_its_output(looking_first(command_named(name))))
    return typer.main.get_command(alone)


app = typer.Typer(
    name="sliceplan",
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

COMMANDS = {
    "solve": "planning.solve",
    "compare": "planning.compare",
    "price": "pricing.price",
    "sweep": "sweeping.sweep",
    "scenarios": "scenarios.scenarios",
    "capacity": "capacity.capacity",
    "headroom": "capacity.headroom",
    "shed": "capacity.shed",
    "check": "reviewing.check",
    "simulate": "simulating.simulate",
    "follow": "following.follow",
    "cores": "on_cores.cores",
    "choose-versions": "choosing_versions.choose_versions",
    "fit-proxy": "fitting_proxy.fit_proxy",
    "inss": "on_inss.inss",
    "train-inss": "on_inss.train_inss",
    "show": "reviewing.show",
    "transition": "moving.transition",
    "replan": "moving.replan",
    "planners": "listing.planners",
    "gpus": "listing.gpus",
    "cpus": "listing.cpus",
    "price-books": "listing.price_books",
    "profiles": "listing.list_profiles",
    "import-profile": "importing.import_profile",
    "import-measurements": "measuring.import_measurements",
    "estimate-profile": "importing.estimate_profile",
    "import-state": "live_state.import_state",
    "check-catalogue": "live_state.check_catalogue",
    "assign": "exporting.assign",
    "sign": "signing.sign",
    "export": "exporting.export",
    "schema": "listing.schema",
    "ui": "page.ui",
}
"""Names in the order of --help, with the module of commands/ and the function in it."""


def command_named(name: str) -> Callable[..., None]:
    """Returns the function of a command."""
    module, function = COMMANDS[name].split(".")
    return cast(Callable[..., None], getattr(import_module(f".commands.{module}", __package__), function))


def main() -> None:
    """Runs the command line; every expected error ends in a message and an exit code, never in a traceback."""
    try:
        app()
    except SystemExit as end:
        if runs_on() and isinstance(end.code, int):
            _leave(end.code)
        raise
    except InputError as error:
        for finding in error.findings:
            print(finding, file=sys.stderr)
        sys.exit(2)
    except SliceplanError as error:
        print(printable(str(error), keep="\n"), file=sys.stderr)
        sys.exit(2)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("sliceplan"):
            _fail(error)
        extra = "ui" if error.name in ("streamlit", "plotly", "pandas") else "solve"
        print(MissingExtraError(error.name, extra), file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print(INTERRUPTED, file=sys.stderr)
        _leave(130)
    except Exception as error:
        _fail(error)


def _fail(error: Exception) -> NoReturn:
    """Ends as failed; Python itself would end with 1, which says that no plan exists."""
    traceback.print_exception(error)
    print("sliceplan failed: this is a mistake of its own, not in the input; please report it", file=sys.stderr)
    _leave(Exit.FAILED)


def _leave(code: int) -> NoReturn:
    """Ends the process at once: a solver may still run in a thread that nothing can stop."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"sliceplan {version('sliceplan')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Plans GPUs for inference services: cut by MIG, shared by MPS or whole, at the least cost, with proof."""


if __name__ == "__main__":
    main()
