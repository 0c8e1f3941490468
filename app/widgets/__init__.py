"""Parts of the page that several screens show."""
