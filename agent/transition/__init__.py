"""Steps carried out behind a journal, read back, and undone on failure."""
