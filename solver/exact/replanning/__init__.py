"""Plans around what runs: cost traded against moved services."""
