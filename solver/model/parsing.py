"""The one seam at which input becomes trusted records: text to data to record, every finding at once."""

import difflib
import json
import reprlib
import stat
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import yaml
from pydantic import BaseModel, ValidationError

from .collector import collector_paused
from .errors import Finding, InputError
from .first_wrong import Looked, until_wrong

MAX_BYTES = 1024 * 1024 * 1024
"""Largest file that is read; a problem of 100,000 workloads takes about 15 MB."""

MAX_FINDINGS = 50
"""Findings of one kind beyond this are counted, not listed."""

MOST_KEYS = 10_000
"""Of one mapping; no record has mappings that grow with what is planned."""

MOST_BITS = 1024
"""Of an integer that is shown; Python refuses to write out very long ones."""

MOST_SHOWN = 60
"""Characters of a value that a message shows."""

MOST_MEANT = 3
"""Names that a hint offers in place of an unknown one."""

_SHORT = reprlib.Repr()
_SHORT.maxlevel = 8
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = MOST_SHOWN
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 5 * MOST_SHOWN

RecordT = TypeVar("RecordT", bound=BaseModel)


MAX_DEPTH = 32
"""Deepest nesting that is read; the deepest file of sliceplan has 7 levels."""


# mypy knows no base class that is looked up; PyYAML may have been built without libyaml.
class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Safe YAML without repeated keys."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        keys = [(key.value, key.start_mark) for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        seen: set[str] = set()
        for key, mark in keys:
            if key in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key!r} stands twice", problem_mark=mark)
            seen.add(key)
        if len(keys) > MOST_KEYS:
            problem = f"a mapping has {len(keys):,} keys; no file of sliceplan has more than {MOST_KEYS:,}"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
        return super().construct_mapping(node, deep=deep)


def read_text(path: Path) -> str:
    """
    Reads a text file of at most MAX_BYTES bytes.

    Raises
    ------
    InputError
        If the file is missing, unreadable, too large or not UTF-8.
    """
    source = str(path)
    try:
        if path.is_dir():
            raise InputError([Finding(source, "", "is a folder; expected a file")])
        status = path.stat()
        if status.st_size > MAX_BYTES:
            message = f"has {status.st_size / 2**20:.0f} MiB; at most {MAX_BYTES / 2**20:.0f} MiB are read"
            raise InputError([Finding(source, "", message)])
        with path.open("rb") as file:
            if stat.S_ISCHR(status.st_mode) and not file.isatty():
                raise InputError([Finding(source, "", "is a device; expected a file")])
            content = file.read(MAX_BYTES + 1)  # a pipe has no size
        if len(content) > MAX_BYTES:
            raise InputError(
                [Finding(source, "", f"is larger than {MAX_BYTES / 2**20:.0f} MiB, the most that is read")]
            )
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError([Finding(source, "", f"is not UTF-8 text (byte {error.start})")]) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError([Finding(source, "", f"cannot be read: {reason}")]) from error


@collector_paused()
def parse_text(text: str, source: str, *, is_json: bool | None = None, most_values: int | None = None) -> Any:
    """
    Parses YAML or JSON.

    Parameters
    ----------
    is_json
        None: it is JSON if the source's name ends in .json.
    most_values
        Numbers, texts, lists and mappings that are read, in YAML keys as well; None: as many as there are. A value of
        YAML takes some 10 us and 500 bytes until it is a record's, one of JSON a tenth of that.

    Raises
    ------
    InputError
        If the text is neither, has an alias or a repeated key, is nested too deeply, or has too many values. The last
        is found out before anything is built.
    """
    try:
        if source.endswith(".json") if is_json is None else is_json:
            if most_values is not None and sum(map(text.count, ",[{")) > most_values:
                raise ValueError(f"it has more than {most_values:,} values")
            return json.loads(text, object_pairs_hook=without_repeated_keys)
        _refuse_what_expands(text, most_values)
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = error.problem or error.context or "cannot be parsed"
        raise InputError([Finding(source, where, f"is not valid YAML: {problem}")]) from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InputError([Finding(source, where, f"is not valid JSON: {error.msg}")]) from error
    except (yaml.YAMLError, ValueError) as error:
        raise InputError([Finding(source, "", f"cannot be parsed: {error}")]) from error
    except (KeyError, AttributeError) as error:  # PyYAML's own, of `!!bool x` and `!!timestamp x`
        message = "cannot be parsed: a value is not of the type that its tag (!!...) names"
        raise InputError([Finding(source, "", message)]) from error
    except RecursionError as error:
        raise InputError([Finding(source, "", "is nested too deeply to be a file of sliceplan")]) from error


@collector_paused()
def parse_record(record: type[RecordT], data: Any, source: str) -> RecordT:
    """
    Turns data into a record.

    Raises
    ------
    InputError
        With one finding for every field that is wrong: its path, the value found, what is accepted.
    """
    if not isinstance(data, dict):
        found = "empty" if data is None else f"a {type(data).__name__}"
        message = f"is {found}; expected a mapping with the fields {', '.join(record.model_fields)}"
        raise InputError([Finding(source, "", message)])
    try:
        return cast(RecordT, until_wrong(record).validate_python(data))
    except ValidationError as first:
        looked, error = Looked(data, first), first
    try:
        record.model_validate(looked.data)
    except ValidationError as complete:
        error = complete
    items = error.errors(include_url=False)
    # A list whose only entries are wrong is also called too short; the entries say enough.
    broken = {item["loc"][:end] for item in items for end in range(len(item["loc"]))}
    items = [item for item in items if item["type"] != "too_short" or item["loc"] not in broken]
    wrong = FirstFindings(source, is_part=looked.is_part)
    for item in items:
        wrong.add(partial(_path_and_message, record, item))
    raise InputError(wrong.findings) from error


def parse_part(record: type[RecordT], data: Any, source: str, where: str) -> RecordT:
    """Turns what stands at a place within a file into a record, as `parse_record` does; findings name the place."""
    try:
        return parse_record(record, data, source)
    except InputError as error:
        findings = [
            Finding(one.source, f"{where}, {one.path}" if one.path else where, one.message) for one in error.findings
        ]
        raise InputError(findings) from None


def read_record(record: type[RecordT], path: Path) -> RecordT:
    """Reads a YAML or JSON file as a record; raises InputError as `read_text`, `parse_text`, `parse_record` do."""
    return parse_record(record, parse_text(read_text(path), str(path)), str(path))


def closest(name: str, names: Iterable[str]) -> str:
    """
    Returns a hint at the known names that an unknown one may stand for, or the known names if none is near.

    Those that begin with what was written come first, the shortest MOST_MEANT of them: of 'A100' the rest was left out,
    while by letters 'A10' is the nearest. If there are none, it is the one nearest by letters.
    """
    known = list(names)
    written = name[:MOST_SHOWN].casefold()
    meant = sorted(
        (item for item in known if written and item.casefold().startswith(written)), key=lambda item: (len(item), item)
    )
    if not meant:
        folded = {item.casefold(): item for item in known}
        meant = [folded[near] for near in difflib.get_close_matches(written, folded, n=1, cutoff=0.6)]
    if meant:
        *before, last = map(repr, meant[:MOST_MEANT])
        return f"Did you mean {', '.join(before)}{' or ' if before else ''}{last}?"
    shown = ", ".join(item[:MOST_SHOWN] for item in known[:12]) + (
        f" and {len(known) - 12} more" if len(known) > 12 else ""
    )
    return f"Known: {shown}." if known else "None is known."


class FirstFindings:
    """The first MAX_FINDINGS findings of one kind, and how many there were: the words of the others are not made."""

    def __init__(self, source: str, *, is_part: bool = False) -> None:
        """`is_part`: whether more may be wrong than will be added."""
        self._source, self._is_part = source, is_part
        self._first: list[Finding] = []
        self._number = 0

    def add(self, describe: Callable[[], tuple[str, str]]) -> None:
        """Adds a finding; `describe` returns its path and message."""
        self._number += 1
        if self._number <= MAX_FINDINGS:
            self._first.append(Finding(self._source, *describe()))

    @property
    def findings(self) -> list[Finding]:
        """Those that are said, with a last one for the others."""
        rest = self._number - len(self._first)
        if self._is_part:
            more = f"and {f'at least {rest}' if rest else 'perhaps'} more findings; what follows was not looked at"
        else:
            more = f"and {rest} more findings of this kind" if rest else ""
        return [*self._first, Finding(self._source, "", more)] if more else self._first


def shown(value: Any) -> str:
    """Returns a value as a message shows it: as Python writes it, cut; no more of it is written out than is shown."""
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        return f"an integer of {value.bit_length()} bits"
    text = repr(value[: MOST_SHOWN + 1]) if isinstance(value, str) else _SHORT.repr(value)
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 3] + "..."


def grouped(findings: list[Finding]) -> list[Finding]:
    """Cuts a long list of findings: the first MAX_FINDINGS, then how many more there are."""
    if len(findings) <= MAX_FINDINGS:
        return findings
    rest = len(findings) - MAX_FINDINGS
    return [*findings[:MAX_FINDINGS], Finding(findings[0].source, "", f"and {rest} more findings of this kind")]


def _refuse_what_expands(text: str, most_values: int | None) -> None:
    """Refuses, before anything is built, aliases (a few bytes expand without end), deep nesting, too many values."""
    depth = values = 0
    for event in yaml.parse(text, Loader=_Loader):
        # Most events are scalars, of which nothing else is asked.
        if isinstance(event, _VALUES):
            values += 1
            if most_values is not None and values > most_values:
                raise yaml.MarkedYAMLError(None, None, f"it has more than {most_values:,} values", _start(event))
            if isinstance(event, yaml.ScalarEvent):
                continue
            depth += 1
            if depth > MAX_DEPTH:
                problem = f"it is nested deeper than {MAX_DEPTH} levels"
                raise yaml.MarkedYAMLError(None, None, problem, _start(event))
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            problem = f"the alias *{event.anchor} is not accepted; write the value out"
            raise yaml.MarkedYAMLError(None, None, problem, _start(event))


_VALUES = (yaml.ScalarEvent, yaml.CollectionStartEvent)


def _start(event: yaml.Event) -> Any:
    return event.start_mark


def without_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns an object of JSON from its keys and values; ValueError if one stands twice."""
    data = dict(pairs)
    if len(data) < len(pairs):
        last = {key: i for i, (key, _) in enumerate(pairs)}
        repeated = next(key for i, (key, _) in enumerate(pairs) if last[key] != i)
        raise ValueError(f"the key {shown(repeated)} stands twice")
    if len(data) > MOST_KEYS:
        raise ValueError(f"a mapping has {len(data):,} keys; no file of sliceplan has more than {MOST_KEYS:,}")
    return data


def _path_and_message(record: type[BaseModel], item: Any) -> tuple[str, str]:
    """Returns the field's path and what is wrong with it, in the user's words."""
    location = item["loc"]
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")
    kind, context = item["type"], item.get("ctx", {})
    found = shown(item["input"])
    match kind:
        case "missing":
            return path, "is missing; it is required"
        case "extra_forbidden":
            return path, f"is not a field here. {closest(str(location[-1]), _fields_beside(record, location))}"
        case "value_error":
            return path, str(context.get("error", item["msg"]))
        case "string_pattern_mismatch":
            return path, f"is {found}; expected letters, digits, '.', '_' and '-', a letter or digit at both ends"
        case "greater_than":
            return path, f"is {found}; expected a number above {context['gt']:g}"
        case "greater_than_equal":
            return path, f"is {found}; expected a number of at least {context['ge']:g}"
        case "less_than" | "less_than_equal":
            return path, f"is {found}; expected a number of at most {context.get('le', context.get('lt')):g}"
        case "finite_number":
            return path, f"is {found}; expected a finite number"
        case "literal_error" | "enum":
            return path, f"is {found}; expected {context['expected']}"
        case "too_short" | "too_long":
            return path, f"has {context['actual_length']} entries; expected {_length(context)}"
        case "tuple_type" | "list_type":
            return path, f"is {found}; expected a list"
        case "model_type" | "dict_type":
            return path, f"is {found}; expected a mapping of fields to values"
        case "string_too_short" | "string_too_long":
            limit = context.get("min_length", context.get("max_length"))
            return path, f"is {found}; expected {_length(context)} {'character' if limit == 1 else 'characters'}"
        case _:
            expected = item["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
            return path, f"is {found}; expected {expected}"


def _length(context: Any) -> str:
    """Returns how long something may be, of which pydantic says only the limit that it breaks."""
    return f"at least {context['min_length']}" if "min_length" in context else f"at most {context['max_length']}"


def _fields_beside(record: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """Returns the fields that are known where an unknown one was found."""
    current: Any = record
    for part in location[:-1]:
        if isinstance(part, str) and isinstance(current, type) and issubclass(current, BaseModel):
            field = current.model_fields.get(part)
            current = _record_within(field.annotation) if field else None
        elif not isinstance(part, int):
            return []
    return list(current.model_fields) if isinstance(current, type) and issubclass(current, BaseModel) else []


def _record_within(annotation: Any) -> Any:
    """Returns the record inside an annotation such as `tuple[Workload, ...] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in getattr(annotation, "__args__", ()) if (found := _record_within(part))), None)
