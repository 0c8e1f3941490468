"""Reads HTML strictly: every element is closed in its place."""

from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img", "input"}


class StrictReader(HTMLParser):
    """Collects tags, attributes and text; an element that is not closed in its place raises AssertionError."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1] == tag, f"</{tag}> comes before the end of <{self.open[-1]}>, line {self.getpos()}"
        self.open.pop()

    def handle_data(self, data):
        self.text.append(data)


def read(html):
    """The reader after a whole document."""
    reader = StrictReader()
    reader.feed(html)
    reader.close()
    assert reader.open == [], f"never closed: {reader.open}"
    return reader
