"""What an operating point achieves on a partition, and what each service of a problem can use."""
