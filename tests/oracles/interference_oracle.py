"""Layers carried out under interference, from who held which cores when; knows nothing of how it came about."""

from bisect import bisect_right
from collections import defaultdict


class Held:
    """How many cores are held, by time."""

    def __init__(self, spans):
        changes = defaultdict(int)
        for span in spans:
            changes[span.begin_ms] += span.cores
            changes[span.end_ms] -= span.cores
        self.moments = sorted(changes)
        self.cores, total = [], 0
        for moment in self.moments:
            total += changes[moment]
            self.cores.append(total)

    def at(self, moment):
        """Returns what is held from a moment on, and until when."""
        place = bisect_right(self.moments, moment + 1e-9) - 1
        until = self.moments[place + 1] if place + 1 < len(self.moments) else float("inf")
        return self.cores[place], until


def layers_under_interference(spans, cores, full_level, model_of, levels, us, counts, makes):
    """
    Returns by query how many layers it carried out, and what part of the next one.

    A layer is made for the level at its begin if `makes`, else for the first. `model_of`: by query; `levels`, `us`
    (made for, level, layer, count) and `counts` by model. A layer on two counts of cores is an error.
    """
    held, done = Held(spans), {}
    for span in sorted(spans, key=lambda one: one.begin_ms):
        m = model_of[span.query]
        layer, part = done.get(span.query, (0, 0.0))
        assert part < 1e-6, "the cores changed within a layer"
        part, made, now = 0.0, None, span.runs_ms
        column = counts[m].index(span.cores)
        while now < span.end_ms - 1e-9 and layer < len(us[m][0][0]):
            all_held, until = held.at(now)
            met = 1 + (full_level - 1) * (all_held - span.cores) / cores
            level = min(range(len(levels[m])), key=lambda j: (abs(levels[m][j] - met), j))
            if made is None:
                made = level if makes else 0
            ms = us[m][made][level][layer][column] / 1000
            ends = now + (1 - part) * ms
            if ends <= min(until, span.end_ms) + 1e-7:
                layer, part, made, now = layer + 1, 0.0, None, ends
            else:
                part += (min(until, span.end_ms) - now) / ms
                now = min(until, span.end_ms)
        done[span.query] = layer, part
    return done
