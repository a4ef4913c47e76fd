"""The prior of the posterior: as the core takes it, from a file and back, and what is said of wrong ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shunter import InputError
from shunter.policies.catalog import ESTIMATE_CODES
from shunter.policies.native import posterior_with, resolve_estimate
from shunter.policies.prior import BINS, GENERIC_PRIOR, Prior, prior_text, save_prior

OWN = Prior(
    user_decay=0.9,
    decay=0.25,
    user_strength=1e-3,
    request_strength=1 / 3,
    size_strength=1e6,
    mean_run_s=(0.1, 7.0, 1e11),
    mean_inverse=(0.1, 1 / 7, 5e-324),
)
"""Numbers that only survive if they are written with all their digits."""


def test_the_generic_prior_has_a_mean_for_every_request() -> None:
    assert len(GENERIC_PRIOR.mean_run_s) == len(GENERIC_PRIOR.mean_inverse) == BINS + 1
    # A part of a typical request of the bin; without a request, that of about an hour.
    assert GENERIC_PRIOR.mean_run_s[0] == pytest.approx(0.31 * 2**0.5)
    assert GENERIC_PRIOR.mean_run_s[11] == GENERIC_PRIOR.mean_run_s[-1] == pytest.approx(0.24 * 2**11.5)
    assert GENERIC_PRIOR.mean_inverse[11] == GENERIC_PRIOR.mean_inverse[-1] == 0.0142
    longest = 2.0 ** (np.arange(BINS) + 1)
    assert (np.array(GENERIC_PRIOR.mean_run_s[:-1]) < longest).all()
    assert max(GENERIC_PRIOR.mean_inverse) == 0.1, "no run counts as shorter than 10 s"
    assert GENERIC_PRIOR.strengths() == {
        **{"user_decay": 0.98, "decay": 0.6},
        **{"user_strength": 8.0, "request_strength": 2.0, "size_strength": 2.0},
    }


def test_the_numbers_in_the_order_of_the_core() -> None:
    expected = [0.9, 0.25, 1e-3, 1 / 3, 1e6, 0.1, 0.1, 7.0, 1 / 7, 1e11, 5e-324]
    assert OWN.numbers().tolist() == expected
    assert len(GENERIC_PRIOR.numbers()) == 5 + 2 * (BINS + 1)


def test_the_name_alone_is_the_generic_prior() -> None:
    told = resolve_estimate("posterior")
    assert (told.code, told.is_learned) == (ESTIMATE_CODES["posterior"], True)
    np.testing.assert_array_equal(told.parameters, GENERIC_PRIOR.numbers())


def test_parameters_change_the_strengths_alone() -> None:
    prior = resolve_estimate("posterior?decay=0&size_strength=0.5").prior
    assert prior == replace(GENERIC_PRIOR, decay=0.0, size_strength=0.5)


@pytest.mark.parametrize("prior", [OWN, GENERIC_PRIOR], ids=["own", "generic"])
def test_a_file_gives_back_what_was_saved(prior: Prior, tmp_path: Path) -> None:
    path = tmp_path / "prior.toml"
    save_prior(prior, path, ["two\nlines"])
    assert resolve_estimate(str(path)).prior == prior
    assert resolve_estimate(str(path)).parameters.tobytes() == prior.numbers().tobytes()


@pytest.mark.parametrize("prior", [OWN, GENERIC_PRIOR], ids=["own", "generic"])
def test_a_prior_that_stands_in_no_file(prior: Prior) -> None:
    estimate = posterior_with(prior)
    assert (estimate.kind, estimate.prior, estimate.file) == ("posterior", prior, None)
    assert estimate.parameters.tobytes() == prior.numbers().tobytes()


def test_what_a_file_does_not_say_is_the_generic_prior(tmp_path: Path) -> None:
    path = tmp_path / "prior.toml"
    path.write_text('[estimate]\nkind = "posterior"\ndecay = 1\n')
    assert resolve_estimate(str(path)).prior == replace(GENERIC_PRIOR, decay=1.0)


WRONG = {
    "user_decay = -0.1": "user_decay is -0.1; expected 0 to 1",
    "decay = 1.01": "decay is 1.01; expected 0 to 1",
    "user_strength = 0": "user_strength is 0; expected above 0 to 1e+06",
    "request_strength = -1": "request_strength is -1; expected above 0 to 1e+06",
    "size_strength = inf": "size_strength is inf; expected above 0 to 1e+06",
    "sigma = 1": "estimate 'posterior' has no parameter 'sigma'; it knows user_decay, decay, user_strength, ",
    "mean_run_s = 3": "estimate 'posterior' has no parameter 'mean_run_s'",
    "means = [1, 2]": "means is unknown in a prior; it knows mean_run_s and mean_inverse",
    "[estimate.mean_run_s]\nx = 1": "mean_run_s is not a list of positive numbers",
    "mean_run_s = [1, 0]": "mean_run_s is not a list of positive numbers",
    "mean_run_s = [1, -3]": "mean_run_s is not a list of positive numbers",
    "mean_run_s = [1, inf]": "mean_run_s is not a list of positive numbers",
    "mean_inverse = [0.1, nan]": "mean_inverse is not a list of positive numbers",
    'mean_inverse = [0.1, "0.1"]': "mean_inverse is not a list of positive numbers",
    "mean_run_s = [1, 2]": "mean_run_s and mean_inverse need the same number of values, at least 2",
    "mean_run_s = [1]\nmean_inverse = [0.1]": "need the same number of values, at least 2",
    "mean_run_s = []\nmean_inverse = []": "need the same number of values, at least 2",
}


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_prior_is_explained(line: str, tmp_path: Path) -> None:
    path = tmp_path / "prior.toml"
    path.write_text(f'[estimate]\nkind = "posterior"\n{line}\n')
    with pytest.raises(InputError) as raised:
        resolve_estimate(str(path))
    assert str(raised.value).startswith(f"{path}: ")
    assert WRONG[line] in str(raised.value)


def test_the_text_is_the_file(tmp_path: Path) -> None:
    path = tmp_path / "prior.toml"
    save_prior(OWN, path, ["from a log"])
    assert path.read_text() == prior_text(OWN, ["from a log"])
    assert path.read_text().splitlines()[:4] == ["# from a log", "[estimate]", 'kind = "posterior"', "user_decay = 0.9"]
