"""What is shipped to try: six models rebuilt from what InSS printed, and an actor trained for them."""

from functools import cache
from pathlib import Path

from ..model.inss_problem import InssProblem
from ..model.parsing import read_record

FOLDER = Path(__file__).with_name("shipped")

SIX_MODELS = "six-models-reconstructed"


@cache
def shipped_problem() -> InssProblem:
    """Returns the problem; its file says what of it was published and what is assumed."""
    return read_record(InssProblem, FOLDER / f"{SIX_MODELS}.yaml")


def shipped_actor() -> Path:
    """Returns the file of the actor that was trained on the shipped problem."""
    return FOLDER / f"{SIX_MODELS}.npz"


def read_inss_problem(path: Path) -> InssProblem:
    """Reads a problem from a file, or the shipped one by its name; raises InputError with all that is wrong."""
    return shipped_problem() if str(path) == SIX_MODELS and not path.exists() else read_record(InssProblem, path)
