"""Long work outside of the page's threads."""
