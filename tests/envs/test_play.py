"""Random play on random workloads: an action that the mask allows is never refused, and everything ends."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shunter.envs import EpisodeOptions, PickJobOptions
from shunter.envs.queue_options import LOOKAHEADS
from shunter.model.cluster import Cluster
from shunter.model.log import Log
from tests.envs.small import MODES, crowded_log, play, vector_of
from tests.support import examples


@examples(60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    mode=st.sampled_from(MODES),
    lookahead=st.sampled_from(LOOKAHEADS),
    order=st.sampled_from(["fcfs", "sjf", "wfp3", "linear?wait=1&reserve_below=3&hold_share=0.5", "fair-share"]),
    estimate=st.sampled_from(["requested", "posterior", "last-two"]),
    hosts=st.integers(0, 3),
    window=st.integers(1, 9),
    max_wait_s=st.sampled_from([None, 0.0, 50.0]),
)
def test_allowed_actions_are_never_invalid(
    seed: int,
    mode: str,
    lookahead: str,
    order: str,
    estimate: str,
    hosts: int,
    window: int,
    max_wait_s: float | None,
) -> None:
    log = crowded_log(seed, jobs=30, hosts=max(hosts, 1))
    if hosts == 0:
        log = Log(log.workload.window(0, 30), Cluster.pool(7))
    options = PickJobOptions(
        mode=mode,
        order=order,
        window=window,
        lookahead=lookahead,
        lookahead_size=5,
        estimate=estimate,
        max_wait_s=max_wait_s,
    )
    vector = vector_of(log, options=options, episodes=EpisodeOptions(part=(0, 1), length=20, warmup=4))
    arrays, rewards = play(vector, seed % vector.episodes, seed)
    totals = arrays.totals[0]
    assert totals[13] == 0, "no action was invalid"
    assert totals[11] == len(rewards)
    assert totals[14] == totals[15] > 0, "every measured job that can run has started"
    assert arrays.terminated[0]
    assert np.isfinite(rewards).all()
    assert not arrays.masks[0, 1:].any(), "nobody is left to be chosen"
