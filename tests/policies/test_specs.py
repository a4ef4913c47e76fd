"""Names with parameters: as text, as a file, and what is said of those that cannot be meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter import InputError
from shunter.policies.catalog import KNOWN_POLICIES
from shunter.policies.native import resolve_estimate, resolve_native, spec_file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file that a test writes."""
    return tmp_path / "site.toml"


def test_a_name_alone_has_the_defaults() -> None:
    spec = resolve_native("multifactor").spec
    assert (spec.kind, spec.tables) == ("multifactor", {})
    assert spec.parameters == {
        **{"age": 1000.0, "size": 1000.0, "fair_share": 1000.0, "partition": 0.0, "qos": 0.0, "priority": 0.0},
        **{"max_age_s": 604_800.0, "half_life_s": 604_800.0, "favor_small": 0.0},
    }
    assert resolve_native("sjf").spec.parameters == {}
    assert resolve_estimate("noisy").spec.parameters == {"sigma": 1.0}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("hybrid?aging=0.5", 0.5),
        ("hybrid?aging=-2", -2.0),
        ("hybrid?aging=1e3", 1000.0),
        ("hybrid?aging=1e+3", 1000.0),
        ("hybrid?", 1.0),
    ],
)
def test_parameters_behind_the_name(text: str, value: float) -> None:
    spec = resolve_native(text).spec
    assert (spec.kind, spec.parameters) == ("hybrid", {"aging": value})


def test_parameters_keep_the_order_of_the_core() -> None:
    spec = resolve_native("linear?hold_share=0.5&estimate=2&reserve_below=inf").spec
    assert list(spec.parameters) == list(KNOWN_POLICIES["linear"].parameters)
    assert spec.parameters == {**KNOWN_POLICIES["linear"].parameters, "hold_share": 0.5, "estimate": 2.0}


def test_a_file_gives_name_parameters_and_tables(file: Path) -> None:
    file.write_text(
        '[policy]\nkind = "multifactor"\nage = 3\nfavor_small = true\n'
        "[policy.partitions]\ndebug = 1\n[policy.shares]\nann = 2.5\n"
        '[estimate]\nkind = "noisy"\nsigma = 0.25\n'
    )
    policy, estimate = resolve_native(str(file)).spec, resolve_estimate(str(file)).spec
    assert policy.kind == "multifactor"
    assert policy.parameters == {**KNOWN_POLICIES["multifactor"].parameters, "age": 3.0, "favor_small": 1.0}
    assert policy.numbers("partitions") == {"debug": 1.0}
    assert policy.numbers("shares") == {"ann": 2.5}
    assert policy.numbers("queues") == {}
    assert (estimate.kind, estimate.parameters, estimate.tables) == ("noisy", {"sigma": 0.25}, {})


def test_only_what_ends_in_toml_is_a_file() -> None:
    assert spec_file("a/site.toml") == Path("a/site.toml")
    assert spec_file("sjf") is None
    assert spec_file("toml") is None


WRONG_POLICIES = {
    "sfj": "unknown policy 'sfj'; did you mean 'sjf'? The known ones are fcfs, ",
    "quite-another": "unknown policy 'quite-another'; ",
    "": "unknown policy ''; the known ones are",
    "SJF": "unknown policy 'SJF'; did you mean 'sjf'?",
    "sjf?aging=1": "policy 'sjf?aging=1': policy 'sjf' has no parameter 'aging'; it has none",
    "hybrid?agging=1": "policy 'hybrid?agging=1': policy 'hybrid' has no parameter 'agging'; it knows aging",
    "hybrid?aging=1&aging=1": "parameter 'aging' is given twice; give it once",
    "hybrid?aging=x": "policy 'hybrid?aging=x': aging is 'x'; expected a number",
    "hybrid?aging=": "aging is ''; expected a number",
    "hybrid?aging=nan": "aging is 'nan'; expected a number",
    "hybrid?aging": "policy 'hybrid?aging': parameters cannot be read; write them as name?aging=0.5&other=1",
    "hybrid?aging=inf": "aging is inf; expected a finite number",
    "linear?size=-inf": "size is -inf; expected a finite number",
    "linear?cores=1&size=1": "policy 'linear' has no parameter 'cores'; it knows",
    "linear?hold_from_s=0": "hold_from_s is 0; expected a positive number",
    "fair-share?half_life_s=-1": "half_life_s is -1; expected a positive number",
    "fair-share?half_life_s=inf": "half_life_s is inf; expected a positive number",
    "multifactor?max_age_s=0": "max_age_s is 0; expected a positive number",
    "nowhere.toml": "nowhere.toml: no such file; check the path",
}
WRONG_ESTIMATES = {
    "perfetc": "unknown estimate 'perfetc'; did you mean 'perfect'?",
    "requested?sigma=1": "estimate 'requested' has no parameter 'sigma'; it has none",
    "noisy?sigma=-0.1": "estimate 'noisy?sigma=-0.1': sigma is -0.1; expected 0 to 100",
    "noisy?sigma=inf": "sigma is inf; expected 0 to 100",
    "posterior?decay=1.5": "estimate 'posterior?decay=1.5': decay is 1.5; expected 0 to 1",
    "posterior?mean_run_s=1": "estimate 'posterior' has no parameter 'mean_run_s'; it knows user_decay, decay, ",
    "nowhere.toml": "nowhere.toml: no such file; check the path",
}


@pytest.mark.parametrize("text", WRONG_POLICIES)
def test_a_wrong_policy_is_explained(text: str) -> None:
    with pytest.raises(InputError) as raised:
        resolve_native(text)
    assert WRONG_POLICIES[text] in str(raised.value)


@pytest.mark.parametrize("text", WRONG_ESTIMATES)
def test_a_wrong_estimate_is_explained(text: str) -> None:
    with pytest.raises(InputError) as raised:
        resolve_estimate(text)
    assert WRONG_ESTIMATES[text] in str(raised.value)


HYBRID = '[policy]\nkind = "hybrid"\n'
SLURM = '[policy]\nkind = "multifactor"\n'
WRONG_FILES = {
    "": 'has no section [policy]; add one with kind = "..."',
    "policy = 3": "has no section [policy]",
    "[policy]\nage = 1": '[policy] has no kind; add a line such as kind = "f1"',
    "[policy]\nkind = 7": "[policy] has no kind",
    '[policy]\nkind = "hybird"': "unknown policy 'hybird'; did you mean 'hybrid'?",
    "[policy": "is not TOML (",
    "x = 1" + "0" * 5000: "is not TOML (",
    "x = " + "[" * 5000: "is not TOML (",
    HYBRID + "age = 1": "policy 'hybrid' has no parameter 'age'; it knows aging",
    HYBRID + 'aging = "1"': "aging is '1'; expected a number",
    HYBRID + "aging = nan": "aging is nan; expected a number",
    HYBRID + "aging = inf": "aging is inf; expected a finite number",
    HYBRID + "aging = 1" + "0" * 400: "expected a number",
    HYBRID + "aging = [1]": "[policy.aging] is unknown for 'hybrid'; it knows none",
    HYBRID + "[policy.shares]\nann = 1": "[policy.shares] is unknown for 'hybrid'; it knows none",
    SLURM + "half_life_s = 0": "half_life_s is 0; expected a positive number",
    SLURM
    + "[policy.users]\nann = 1": "[policy.users] is unknown for 'multifactor'; it knows partitions, queues, shares",
    SLURM + "shares = [1, 2]": "shares is not a table; write it as [policy.shares]",
    SLURM + "[policy.shares]\nann = 0": "shares.ann is 0; expected a positive number",
    SLURM + "[policy.shares]\nann = -2": "shares.ann is -2; expected a positive number",
    SLURM + "[policy.shares]\nann = inf": "shares.ann is inf; expected a finite number",
    SLURM + '[policy.shares]\nann = "2"': "shares.ann is '2'; expected a number",
    SLURM + "[policy.queues]\nhigh = inf": "queues.high is inf; expected a finite number",
    SLURM + "[policy.partitions]\nleft = nan": "partitions.left is nan; expected a number",
    SLURM + "[policy.partitions.left]\ndeep = 1": "partitions.left is {'deep': 1}; expected a number",
}


@pytest.mark.parametrize("text", WRONG_FILES, ids=lambda text: text[:60])
def test_a_wrong_file_is_explained(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(InputError) as raised:
        resolve_native(str(file))
    assert str(raised.value).startswith(f"{file}: ")
    assert WRONG_FILES[text] in str(raised.value)


def test_a_file_that_cannot_be_read_is_explained(file: Path) -> None:
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"site.toml: cannot be read as text \('utf-8'"):
        resolve_native(str(file))
    file.unlink()
    file.mkdir()
    with pytest.raises(InputError, match=r"site.toml: is a directory; name a TOML file in it"):
        resolve_estimate(str(file))


@pytest.mark.parametrize("estimate", ["requested", "perfect", "noisy", "last-two"])
def test_a_table_that_an_estimate_does_not_know(file: Path, estimate: str) -> None:
    file.write_text(f'[estimate]\nkind = "{estimate}"\n[estimate.users]\nann = 1\n')
    with pytest.raises(InputError, match=rf"site.toml: \[estimate.users\] is unknown for '{estimate}'"):
        resolve_estimate(str(file))
