"""Where calls run: processes of this machine, shared in turns, or a Dask cluster."""
