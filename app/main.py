"""The script that Streamlit runs anew at every click; a module, in contrast, is loaded once."""

from sliceplan.app.page import draw_page

draw_page()
