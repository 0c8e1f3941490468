"""What one browser works on."""
