"""Services that take turns on one partition, round after round."""
