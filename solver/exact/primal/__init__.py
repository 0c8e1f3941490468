"""From prices to an integer plan: which cover each workload takes."""
