"""Why a form cannot be written, in words of the page, each reason and each advice once."""

from collections.abc import Iterable, Sequence

from sliceplan.solver.model.errors import InputError

from .words_here import NOT_HERE, listed_here, said_here

MOST_REASONS = 3
"""Reasons of a form that cannot be written that are written out."""

COMMAND_LINE = "it takes the output of lscpu of each host: `sliceplan export PLAN --help` says how it is given"
"""Of a form whose options the page has no fields for."""

ADVICE = "use "
"""How what is to be done instead begins, after the last semicolon of a reason."""


def reasons(error: InputError, own: Sequence[str] = ()) -> str:
    """Returns the first reasons of a form that cannot be written, as Markdown; what all of them advise stands last."""
    said = [COMMAND_LINE] if NOT_HERE.search(str(error)) else [str(one) for one in error.findings]
    more = len(said) - MOST_REASONS
    counted = [f"and {more} more like these"] if more > 1 else said[MOST_REASONS:]
    ends = {text.rpartition("; ")[2] for text in said}
    advice = ends.pop() if len(said) > 1 and len(ends) == 1 else ""
    if not advice.startswith(ADVICE):
        return listed_here([*said[:MOST_REASONS], *counted], own)
    listed = [text.removesuffix(f"; {advice}") for text in (*said[:MOST_REASONS], *counted)]
    return f"{listed_here(listed, own)}\n\nInstead, {said_here(advice, own)}."


def without_repeats(warnings: Iterable[str], refused: Iterable[InputError]) -> list[str]:
    """Returns what is to be known of files, each once; what is left out for a reason said above says that alone."""
    above = [one.message for error in refused for one in error.findings]
    return [
        f"{text.partition(': ')[0]}: the reason is above."
        if ": " in text and any(message in text for message in above)
        else text
        for text in dict.fromkeys(warnings)
    ]
