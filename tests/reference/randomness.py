"""SplitMix64 (Steele, Lea, Flood 2014), seeded for each job on its own."""

from __future__ import annotations

import math
from collections.abc import Iterator

GAMMA = 0x9E3779B97F4A7C15
MASK = 2**64 - 1
POLICY_SALT = 0x706F6C696379
ESTIMATE_SALT = 0x65737469


def output(state: int) -> int:
    """Returns the generator's output function of a state."""
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & MASK
    return state ^ (state >> 31)


def mix(value: int) -> int:
    """Returns the output function of the value plus the generator's increment."""
    return output((value + GAMMA) & MASK)


def splitmix64(state: int) -> Iterator[int]:
    """Yields the outputs of the generator, for ever."""
    while True:
        state = (state + GAMMA) & MASK
        yield output(state)


def shuffled(numbers: list[int], seed: int, job: int) -> list[int]:
    """Returns the numbers in the order in which the placement ``random`` tries them for this job."""
    result = list(numbers)
    outputs = splitmix64(mix((mix(seed) + job) & MASK))
    for place in range(len(result) - 1, 0, -1):
        other = next(outputs) % (place + 1)
        result[place], result[other] = result[other], result[place]
    return result


def random_score(seed: int, job: int) -> float:
    """Returns the score that the policy ``random`` gives to this job, in [0, 1)."""
    return next(splitmix64(mix((mix(seed ^ POLICY_SALT) + job) & MASK))) / 2**64


def feasible_score(seed: int, job: int, now_ms: int) -> float:
    """Returns the score that the policy ``random-feasible`` gives to this job at this instant, in [0, 1)."""
    return random_score(seed ^ mix(now_ms & MASK), job)


def standard_normal(seed: int, job: int) -> float:
    """Returns the number by which the estimate ``noisy`` is wrong about this job (Box and Muller 1958)."""
    outputs = splitmix64(mix((mix(seed ^ ESTIMATE_SALT) + job) & MASK))
    u, v = ((next(outputs) >> 11) + 1) / 2**53, (next(outputs) >> 11) / 2**53
    return math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v)
