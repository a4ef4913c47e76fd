"""Further episodes for validation: of the same kind, and none of them twice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shunter import read_workload
from shunter.envs import EpisodeOptions, PickHostOptions
from shunter.envs.log_source import LogSource
from shunter.envs.pick_job import PickJobOptions, PickJobSource
from shunter.envs.rewards import RewardOptions
from shunter.envs.sources import Use
from shunter.model.cluster import Cluster
from shunter.model.log import Log

SPEC = "generate:lublin?jobs=600&seed=3&cores=64&load=1.1"
VALIDATION = EpisodeOptions(part="validation", windows=12, length=24)


def source_on(*logs: Log) -> LogSource:
    return PickJobSource(PickJobOptions(window=8), logs)


def generated() -> Log:
    return Log(read_workload(SPEC), Cluster.pool(64))


def logged() -> Log:
    """Returns the same jobs, as if they had been read from a file."""
    log = generated()
    return Log(replace(log.workload, words=()), log.cluster)


def test_a_generator_draws_them_with_another_seed() -> None:
    log, options = generated(), VALIDATION
    source = source_on(log)
    (first,), (again,) = source.groups(options), source.further(1).groups(options)
    ((_, windows),), ((other, others),) = first.parts, again.parts
    assert other.workload.name == SPEC.replace("seed=3", "seed=1000006")
    assert other.cluster is log.cluster
    assert not other.workload.jobs.equals(log.workload.jobs)
    # The same windows of other jobs.
    assert np.array_equal(windows.first, others.first)
    third = source.further(2).logs[0].workload
    assert third.name == SPEC.replace("seed=3", "seed=2000009")
    assert source.further(2).logs[0].workload.jobs.equals(third.jobs)


def test_a_log_has_other_windows_of_the_same_part_until_there_are_no_more() -> None:
    log = logged()
    source, seen = source_on(log), np.empty(0, dtype=np.uintp)
    # Of the 60 jobs of the part 37 begin a window.
    for number in range(30):
        own = source if number == 0 else source.further(number)
        assert own.logs[0] is log
        ((_, windows),) = own.groups(VALIDATION)[0].parts
        assert not np.isin(windows.first, seen).any()
        assert ((windows.first >= 360) & (windows.first + 24 <= 420)).all()
        seen = np.concatenate([seen, windows.first])
    assert len(seen) == len(np.unique(seen)) == 37
    assert len(windows) == 0


def test_environments_play_the_same_windows() -> None:
    source = source_on(logged(), generated()).further(1)
    groups = source.groups(VALIDATION)
    vector = source.vector(VALIDATION, RewardOptions(), num_envs=1)
    assert vector.episodes == sum(len(windows) for group in groups for _, windows in group.parts) < 24


def test_drawn_hosts_and_jobs_are_others() -> None:
    options, episodes = PickHostOptions(num_hosts=3, episode_length=10), EpisodeOptions(windows=4)
    source = options.open_source()
    seen = [
        [log.workload.name for log, _ in one.groups(episodes, use)[0].parts]
        for one in (source, source.further(1), source.further(2))
        for use in Use
    ]
    assert len({name for names in seen for name in names}) == 9 * 4
