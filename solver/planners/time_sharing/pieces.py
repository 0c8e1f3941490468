"""The gpu-lets that a service's rate asks for: saturated ones of its knee, and one for the rest (gpu-lets' source)."""

from math import trunc

from .schedule import Piece, Schedule


def elastic_pieces(schedule: Schedule, service: int, rate_rps: float) -> list[Piece] | None:
    """Returns the pieces of a rate, largest share first; None: the rest of it fits no batch."""
    knee, found = schedule.knee(service), []
    batch, throughput = schedule.saturated[service][knee]
    while rate_rps > schedule.defects.remainder_rps:
        if 0 < throughput < rate_rps:
            cycle = schedule.services.latency_ms[service][knee][batch]
            found.append(Piece(service, knee, batch, cycle, rate_rps, throughput, 1.0))
            rate_rps = trunc(rate_rps - throughput)
            continue
        rest = _residual_piece(schedule, service, knee, rate_rps)
        return None if rest is None else sorted([*found, rest], key=lambda piece: -piece.share)
    return found


def _residual_piece(schedule: Schedule, service: int, knee: float, rate_rps: float) -> Piece | None:
    """Returns the piece for what one gpu-let carries, on the smallest share below the knee that is fast enough."""
    latency, slo_ms = schedule.services.latency_ms[service], schedule.services.slo_ms[service]
    batch, rate_rps = schedule.residual(service, rate_rps, latency[knee].__getitem__)
    if batch == 0:
        return None
    share, wait = knee, 1000 * batch / rate_rps
    for smaller in reversed([one for one in schedule.shares if one < knee]):
        if wait < latency[smaller][batch] or latency[smaller][batch] + wait > slo_ms:
            break
        share = smaller
    time_ms = latency[share][batch]
    cycle = max(wait, time_ms)
    return Piece(service, share, batch, cycle, rate_rps, 1000 * batch / cycle, time_ms / cycle)


def greedy_pieces(schedule: Schedule, service: int, rate_rps: float) -> list[Piece] | None:
    """
    Returns the pieces of guided self-tuning (`greedy_part`): the smallest share that carries the rest, saturated.

    The cycle is the time in which the rate fills the batch; no SLO bounds it.
    """
    known, found = schedule.saturated[service], []
    while rate_rps > 0:
        share = next((one for one in schedule.shares if trunc(known[one][1]) > rate_rps), schedule.shares[-1])
        batch, carries = known[share][0], trunc(known[share][1])
        if carries <= 0:
            return None
        cycle = 1000 * batch / rate_rps
        occupancy = schedule.services.latency_ms[service][share][batch] / cycle
        found.append(Piece(service, share, batch, cycle, rate_rps, carries, occupancy))
        rate_rps -= carries
    return sorted(found, key=lambda piece: -piece.share)
