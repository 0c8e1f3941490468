"""Every form that a plan can be exported to, for command line and page: the targets, and the agent's scripts."""

from collections.abc import Mapping, Sequence

from ..extensions import node_scripts
from ..formats.exports.registry import TARGETS, of_gpus
from ..formats.exports.target import Export, Options, Target
from ..model.errors import Finding, InputError
from ..model.parsing import closest
from ..model.plan import Plan


def _node_scripts(plan: Plan, options: Options) -> Export:
    return Export({f"{node}.sh": script for node, script in node_scripts()(plan, options.source).items()})


COMMANDS = Target("commands", "a plain shell script a node: exact placements", of_gpus(_node_scripts))


def export_formats() -> dict[str, Target]:
    """Returns every format by name: those of formats/exports, and the agent's scripts."""
    return {**TARGETS, COMMANDS.name: COMMANDS}


def values_by_name(texts: Sequence[str], option: str) -> dict[str, str]:
    """
    Returns what `NAME=VALUE` says by name, and a value without a name by "".

    Raises
    ------
    InputError
        If a value is empty, or given twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name, value = (name, value) if equals else ("", text)
        if not value or name in found:
            message = f"is given twice{f' for {name}' if name else ''}" if value else "is empty; expected NAME=VALUE"
            raise InputError([Finding(option, text, message)])
        found[name] = value
    return found


def by_service(values: Mapping[str, str], plan: Plan, option: str) -> dict[str, str]:
    """
    Returns values by the names of services, where some are given by their labels in a plan; names win.

    Raises
    ------
    InputError
        If a service is none of the plan, or given by its name and by its label.
    """
    names = plan.service_names
    of_label = {label: name for name, label in plan.labels.items() if label not in names}
    found: dict[str, str] = {}
    for written, value in values.items():
        name = of_label.get(written, written)
        if name and name not in names:
            known = [*sorted(names), *of_label]  # names and labels
            raise InputError([Finding(option, written, f"is no workload of the plan. {closest(written, known)}")])
        if name in found:
            raise InputError([Finding(option, written, f"is given twice for {name}")])
        found[name] = value
    return found
