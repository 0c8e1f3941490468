"""Which plans a node takes: signed, newest, from where."""
