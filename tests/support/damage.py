"""Texts that were damaged at random, as files are that were cut, mixed up or edited by hand."""

from hypothesis import strategies as st

SCRAPS = [
    "",
    "\x00",
    "-1",
    "1e999",
    "NaN",
    "null",
    "[]",
    "{}",
    '"',
    ",",
    ";",
    "|",
    ":",
    "\n",
    "é",
    "9" * 30,
    "GPU 0",
    "{" * 40,
]


@st.composite
def damaged(draw, text):
    """Draws a text with one to three cuts, repeats or insertions."""
    for _ in range(draw(st.integers(1, 3))):
        begin = draw(st.integers(0, len(text)))
        end = draw(st.integers(begin, min(len(text), begin + 40)))
        text = text[:begin] + draw(st.sampled_from([*SCRAPS, text[begin:end] * 2])) + text[end:]
    return text
