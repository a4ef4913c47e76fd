"""A consultation shows what the environment shows, features of one's own included, and refuses what it cannot do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shunter import InputError
from shunter.envs import EpisodeOptions, PickHostOptions, PickJobOptions
from shunter.envs.consultation import Consultation, consult
from shunter.envs.features import JobView, register_feature
from shunter.envs.vector import NativeVectorEnv
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import Simulation
from tests.envs.small import MODES, crowded_log, vector_of
from tests.simulation.placers import FirstFit

LOG = crowded_log()


@register_feature("consulted")
def consulted(view: JobView) -> object:
    """A feature of one's own that looks at the clock, and at columns."""
    return np.clip(view.wait_s / 1000 + view.user / 10 + np.nan_to_num(view.priority) / 100, 0, 1)


def steps(vector: NativeVectorEnv, random: np.random.Generator) -> Iterator[tuple[bytes, bytes, Simulation]]:
    """Plays an episode at random; returns what is seen and the state at the first decision of each instant."""
    arrays = vector.step_arrays()
    vector.reset_into(arrays.observations, arrays.masks, np.zeros(1, np.int64))
    before = None
    while not arrays.terminated[0]:
        if vector.view().now_ms[0] != before:
            yield arrays.observations.tobytes(), arrays.masks.tobytes(), vector.simulation(0)
        before = vector.view().now_ms[0]
        action = random.choice(np.flatnonzero(arrays.masks[0]))
        vector.step_into(np.array([action], np.int32), arrays)


@pytest.mark.parametrize("mode", MODES)
def test_it_shows_what_the_environment_shows(mode: str) -> None:
    options = PickJobOptions(mode=mode, window=6, features=("consulted",), order="wfp3")
    vector = vector_of(LOG, options=options, episodes=EpisodeOptions(part=(0.0, 1.0), length=len(LOG.workload)))
    own = []
    for observation, mask, simulation in steps(vector, np.random.default_rng(1)):
        consultation = Consultation(simulation, LOG.workload, options)
        assert consultation.due
        assert (consultation.observation.tobytes(), consultation.mask.tobytes()) == (observation, mask)
        rows = consultation.layout.split(consultation.observation)["jobs"]
        own.append(float(rows[0, -1]))
    assert len(set(own)) > 5


def simulation_of(dispatch: str = "easy", **words: Any) -> Simulation:  # noqa: ANN401 - settings
    """Returns the crowded log at an instant at which several jobs wait."""
    simulation = Simulation(LOG.workload, LOG.cluster, resolve_scheduler(dispatch=dispatch, **words))
    while simulation.advance() and simulation.status().waiting < 4:
        simulation.dispatch()
    return simulation


def test_wrong_answers_are_refused() -> None:
    consultation = Consultation(simulation_of(), LOG.workload, PickJobOptions(window=3))
    assert consultation.due
    with pytest.raises(InputError, match="an answer is wanted before the decision is made"):
        consultation.decision()
    for wrong in (3 if not consultation.mask[3] else 4, 4, 2**32 - 1):
        with pytest.raises(InputError, match=f"action {wrong} is not allowed now"):
            consultation.act(wrong)
    consultation.act(0)
    assert not consultation.due
    assert not consultation.mask.any()
    with pytest.raises(InputError, match="no answer is wanted"):
        consultation.act(0)
    decision = consultation.decision()
    assert (decision.starts, [one.action for one in decision.answers]) == ({}, [0])


def test_other_simulations_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"the mode decides as Reserve \{ depth: 1 \} does, but the simulation's rule is"
    ):
        Consultation(simulation_of("greedy"), LOG.workload, PickJobOptions())
    with pytest.raises(InputError, match="stops running jobs"):
        Consultation(simulation_of("greedy", policy="srtf"), LOG.workload, PickJobOptions(mode="feasible"))
    with pytest.raises(InputError, match="the policy chooses among 9 hosts; the cluster has 2"):
        Consultation(simulation_of("strict"), LOG.workload, PickHostOptions(num_hosts=9))


def test_a_placement_in_python_is_asked() -> None:
    def first(_: object, mask: NDArray[np.bool_]) -> int:
        return int(np.flatnonzero(mask)[-1])

    options = PickJobOptions(window=4)
    simulation = simulation_of(placement=FirstFit())
    decision = consult(simulation, LOG.workload, options, first)
    assert decision.starts
    assert decision == consult(simulation_of(), LOG.workload, options, first)

    def broken(_: object) -> None:
        raise RuntimeError("no idea")

    assert simulation._asked is not None
    simulation._asked.placer.place = broken  # type: ignore[method-assign, assignment]
    with pytest.raises(InputError, match="no idea"):
        consult(simulation, LOG.workload, options, first)
