"""GPUs under MPS dealt to the services that take turns on their shares: a bound where shares slow each other."""
