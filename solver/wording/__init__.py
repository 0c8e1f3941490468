"""What a plan or a transition says, in sentences."""
