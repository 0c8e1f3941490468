"""The screens of the page: a folder each, with the parts that only it shows; `screen.py` draws it."""
