"""What is saved, by whom, and what differs."""
