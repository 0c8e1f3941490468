"""What the page's words mean."""
