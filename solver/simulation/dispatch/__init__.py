"""How the requests of a service are dealt to its partitions: a module a way."""
