"""Text as people copy it out of a terminal: the output of a command, with its prompt and the command in front."""

import re

_PROMPT = re.compile(
    r"(\([\w.-]+\)\s*)?"  # a virtual environment
    r"(\[?[\w.-]+@[\w.-]+[^$#%>|]*|[\w.-]+:[~/][^$#%>|]*|[~/][^\s$#%>|]*\s*|PS [^>|]*)?"  # user, host and folder
    r"[$#%>](\s.*)?"
)
_PASSWORD = re.compile(r"\[sudo\] password for .*")


def without_prompts(text: str) -> str:
    """Returns the text with lines that are a shell's prompt made empty, so that all others keep their numbers."""
    return "\n".join("" if is_prompt(line) else line for line in text.splitlines())


def is_prompt(line: str) -> bool:
    """Tells whether a line is a prompt with a command or without, a comment, or sudo that asks for a password."""
    stripped = line.strip()
    return bool(_PROMPT.fullmatch(stripped) or _PASSWORD.fullmatch(stripped))


def json_within(text: str) -> str:
    """
    Returns the JSON of a transcript: without prompts before its first bracket and after its last one.

    What is there is left as it is, for the reader of JSON to say what is wrong with it.
    """
    lines = text.splitlines(keepends=True)
    while lines and not lines[0].strip().startswith(("{", "[{")) and (not lines[0].strip() or is_prompt(lines[0])):
        lines.pop(0)
    while lines and (not lines[-1].strip() or is_prompt(lines[-1])):
        lines.pop()
    return "".join(lines)
