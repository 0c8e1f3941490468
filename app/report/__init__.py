"""One self-contained HTML file of a plan, for a change ticket."""
