"""What every schedule of cores must keep, said of who held which cores when; knows nothing of how it came about."""

from collections import defaultdict


def most_held(spans):
    """Returns the most cores that are held at once; who ends at a moment holds nothing from then on."""
    changes = defaultdict(int)
    for span in spans:
        changes[round(span.begin_ms, 9)] += span.cores
        changes[round(span.end_ms, 9)] -= span.cores
    held = most = 0
    for moment in sorted(changes):
        held += changes[moment]
        most = max(most, held)
    return most


def work_done(spans, times_ms):
    """Returns by query how often it carried out a model of these times by count, progress in proportion to time."""
    done = defaultdict(float)
    for span in spans:
        done[span.query] += max(span.end_ms - span.runs_ms, 0.0) / times_ms[span.cores]
    return done


def layers_done(spans, us, cores):
    """
    Returns by query the layers that were carried out whole, in order, each on the cores of one span; None: one was cut.

    `us`: rows of microseconds by count. A span that ends within a layer must be the last of a query that was let go.
    """
    at = {count: c for c, count in enumerate(cores)}
    done = defaultdict(int)
    for span in sorted(spans, key=lambda one: one.begin_ms):
        left = 1000 * (span.end_ms - span.runs_ms)
        while done[span.query] < len(us) and left > us[done[span.query]][at[span.cores]] - 0.01:
            left -= us[done[span.query]][at[span.cores]]
            done[span.query] += 1
        if left > 0.01:
            return None
    return done
