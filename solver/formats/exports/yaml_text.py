"""YAML as people write it by hand: keys in the order given, texts of several lines as they are, a comment on top."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import yaml


def _codes(found: re.Match[str]) -> str:
    return "".join(f"\\x{ord(sign):02x}" for sign in found[0])


class Typed(str):
    """
    A text that people typed for people, which no program is to look into, though template engines read files as well.

    What begins an expression of one stands as its code, so that the text reads back as it was. Texts that are for
    programs, as images are, may be meant to be filled in, and stay.
    """


_EXPRESSION = re.compile(r"\{[{%#]|\$|<%|[#@]\{")


class _Dumper(yaml.SafeDumper):
    """Safe YAML that keeps texts of several lines as they are and repeats nothing by aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 (PyYAML passes it)
        return True

    def write_double_quoted(self, text: str, split: bool = True) -> None:
        """As PyYAML's emitter asks for it."""
        if not isinstance(text, Typed):
            super().write_double_quoted(text, split)
            return
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        self.write_indicator(f'"{_EXPRESSION.sub(_codes, escaped)}"', True)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else '"' if isinstance(text, Typed) and _EXPRESSION.search(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(Typed, _text)


def yaml_text(documents: Iterable[Mapping[str, Any]], comments: Iterable[str] = (), *, inline: bool = False) -> str:
    """
    Returns one or more YAML documents, below lines of comment.

    Parameters
    ----------
    inline
        Whether lists and mappings of plain values stand on one line.
    """
    style = None if inline else False
    dumped = (
        yaml.dump(document, Dumper=_Dumper, sort_keys=False, default_flow_style=style, width=10**6, allow_unicode=True)
        for document in documents
    )
    return "".join(f"# {line}\n" for line in comments) + "---\n".join(dumped)
