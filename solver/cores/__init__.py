"""Models of layers on the cores of one CPU: least core-time with proof, layer blocks, runtimes, what each can carry."""
