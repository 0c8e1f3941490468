"""Pictures, as figures that know nothing of the page."""
