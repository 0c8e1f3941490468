"""A node without hardware that obeys the driver's rules."""
