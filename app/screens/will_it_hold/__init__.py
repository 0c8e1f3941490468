"""The screen "Will it hold?": a plan carried out request by request."""
