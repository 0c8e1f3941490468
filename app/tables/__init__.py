"""Tables, as frames that know nothing of the page."""
