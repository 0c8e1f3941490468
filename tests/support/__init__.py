"""What tests share to run commands, screens, workers, and to say what they need."""
