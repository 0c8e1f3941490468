"""Services of a node: started, stopped, watched."""
