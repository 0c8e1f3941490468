"""Services that take turns on shares of GPUs under MPS: contents of shares as columns, and the bound without them."""
