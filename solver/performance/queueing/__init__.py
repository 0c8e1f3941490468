"""How long requests take that wait for each other: batches at a server, random arrivals."""
