"""What load testers write; a module each."""
