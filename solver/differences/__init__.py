"""What differs between two problems or two plans, and merging of two edits."""
