"""The way from the plan that runs to the next one: order, steps, times, risks, replay."""
