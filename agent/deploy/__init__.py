"""Files to run the agent with: configuration, systemd unit, container file."""
