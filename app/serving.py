"""Streamlit's server, with all of the page loaded before it listens: nobody who opens the page waits for that."""

from importlib import import_module

from streamlit.web.cli import main

if __name__ == "__main__":
    import_module("sliceplan.app.page")
    main(prog_name="streamlit")
