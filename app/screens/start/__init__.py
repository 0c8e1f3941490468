"""What a stranger sees first: an answer, and three ways on."""
