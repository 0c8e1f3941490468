"""From the words of a command line and the configuration to what the agent works with."""
