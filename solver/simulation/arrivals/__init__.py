"""When requests come: a module a kind of arrivals."""
