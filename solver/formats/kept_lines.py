"""Answers that a run keeps in a file, a line each, to go on from them when it was ended."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TextIO, TypeVar

from pydantic import BaseModel, ValidationError

from ..model.errors import Finding, InputError
from .text_files import hindrance

KEPT_VERSION = 1

Answer = TypeVar("Answer", bound=BaseModel)


class KeptLines(Generic[Answer]):
    """A file of answers by their index; a later line of one takes the place of an earlier one."""

    def __init__(self, stream: TextIO | None, answers: dict[int, Answer]) -> None:
        self._stream = stream
        self.answers = answers

    def add(self, index: int, answer: Answer) -> None:
        """Notes an answer, in the file at once."""
        self.answers[index] = answer
        if self._stream is not None:
            self._stream.write(answer.model_dump_json() + "\n")
            self._stream.flush()


@contextmanager
def kept_lines(
    path: Path | None, kind: str, of: Mapping[str, object], record: type[Answer], index: str, otherwise: str
) -> Iterator[KeptLines[Answer]]:
    """
    Gives the answers that a file holds, to which more are added; without a path nothing is kept.

    Parameters
    ----------
    kind
        Of the file, in its first line.
    of
        What they are answers to; a file of anything else is refused.
    index
        Field of a record that tells answers apart.
    otherwise
        What a file answers that is refused, as the end of a sentence.

    Raises
    ------
    InputError
        If the file cannot be written, is no file of answers, or answers something else.
    """
    if path is None:
        yield KeptLines(None, {})
        return
    if (reason := hindrance(path)) is not None:
        raise InputError([Finding(str(path), "", reason)])
    header = {kind: KEPT_VERSION, "sha256": _digest(of)}
    lines, whole = _read(path, header, kind, otherwise)
    found = {}
    for number, line in enumerate(lines, start=2):
        try:
            answer = record.model_validate_json(line)
        except ValidationError as error:
            message = "is no answer; remove the line, or name another file"
            raise InputError([Finding(str(path), f"line {number}", message)]) from error
        found[int(getattr(answer, index))] = answer
    with path.open("r+" if whole else "w", encoding="utf-8") as stream:
        stream.seek(whole)
        stream.truncate()
        if not whole:
            stream.write(json.dumps(header) + "\n")
        yield KeptLines(stream, found)


def _digest(of: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(of, sort_keys=True).encode()).hexdigest()


def _read(path: Path, header: dict[str, object], kind: str, otherwise: str) -> tuple[list[bytes], int]:
    """Returns the answers in a file, and how many bytes of it are whole lines; a run may have ended within one."""
    if not path.is_file() or path.stat().st_size == 0:
        return [], 0
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    first, *lines = data[:whole].splitlines() or [b""]
    if (said := _header(first, kind)) is None:
        raise InputError([Finding(str(path), "line 1", "is no file of answers that a run kept; name another file")])
    if said != header:
        raise InputError([Finding(str(path), "line 1", f"answers {otherwise}; name another file")])
    return lines, whole


def _header(line: bytes, kind: str) -> dict[str, object] | None:
    try:
        data = json.loads(line)
    except ValueError:
        return None
    return data if isinstance(data, dict) and kind in data else None
