"""Files of others and our own: problems, plans, profiles, measurements, exports, live state."""
