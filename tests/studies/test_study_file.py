"""What a study file means, and what is refused in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.studies.plan import cells_of
from shunter.studies.study_file import merged, read_study
from tests.studies.small import STUDY, VARIANTS, write_study

HEAD = '[study]\nname = "x"\n[logs]\na = "generate:lublin?jobs=400"\n'


def test_variants_stand_over_what_all_share(tmp_path: Path) -> None:
    study = read_study(write_study(tmp_path))
    assert (study.name, study.out, study.preset, study.seeds) == ("small", Path("studies/small"), "quick", (0, 1))
    assert list(study.variants) == ["slow", "fast"]
    assert study.base == "slow"
    fast = study.variants["fast"]
    assert fast["ppo"] == {
        "num_envs": 4, "rollout_steps": 16, "minibatch": 32, "epochs": 1, "learning_rate": 1e-2,
    }  # fmt: skip
    assert fast["training"]["steps"] == 128
    assert study.logs["busy"] == {"data": {"workload": ["generate:lublin?seed=3&jobs=400&cores=64&load=1.1"]}}


def test_the_grid_is_every_combination(tmp_path: Path) -> None:
    grid = '[grid]\nnetwork.kind = ["kernel", "mlp"]\nnetwork.hidden = [[8], [16, 8]]\n'
    study = read_study(write_study(tmp_path, HEAD + grid))
    assert list(study.variants) == ["kernel-8", "kernel-16x8", "mlp-8", "mlp-16x8"]
    assert study.variants["mlp-16x8"] == {"network": {"kind": "mlp", "hidden": [16, 8]}}
    named = read_study(write_study(tmp_path, HEAD + grid + "[variants.calm]\nppo.entropy = 0.0\n"))
    assert next(iter(named.variants)) == "calm-kernel-8"
    assert named.variants["calm-kernel-8"]["ppo"] == {"entropy": 0.0}


def test_without_variants_there_is_one(tmp_path: Path) -> None:
    assert read_study(write_study(tmp_path, HEAD)).variants == {"default": {}}


def test_an_ablation_changes_the_base(tmp_path: Path) -> None:
    text = STUDY + VARIANTS + '[ablation]\nbase = "fast"\n[ablation.no-clip]\nppo.clip = 100.0\n'
    study = read_study(write_study(tmp_path, text))
    assert (study.base, list(study.variants)) == ("fast", ["slow", "fast", "no-clip"])
    assert study.variants["no-clip"] == merged(study.variants["fast"], {"ppo": {"clip": 100.0}})


def test_what_all_share_for_an_algorithm_counts_for_those_that_learn_with_it(tmp_path: Path) -> None:
    text = HEAD + "[common]\nppo.clip = 0.1\nd3qn.double = false\nsac.target_entropy = 0.2\n"
    grid = read_study(write_study(tmp_path, text + '[grid]\ntraining.algorithm = ["ppo", "d3qn", "sac"]\n'))
    assert {name: set(sections) for name, sections in grid.variants.items()} == {
        "ppo": {"ppo", "training"}, "d3qn": {"d3qn", "training"}, "sac": {"sac", "training"},
    }  # fmt: skip
    assert grid.variants["d3qn"]["d3qn"] == {"double": False}
    assert len(cells_of(grid, grid.variants, tmp_path / "runs")) == 9
    ablation = '[variants.a]\ntraining.algorithm = "d3qn"\n[ablation.b]\ntraining.algorithm = "sac"\n'
    other = read_study(write_study(tmp_path, text + ablation)).variants["b"]
    assert other == {"sac": {"target_entropy": 0.2}, "training": {"algorithm": "sac"}}


def test_a_variant_with_the_section_of_another_algorithm_is_refused(tmp_path: Path) -> None:
    text = HEAD + '[variants.a]\ntraining.algorithm = "sac"\nd3qn.double = false\n'
    study = read_study(write_study(tmp_path, text))
    with pytest.raises(InputError, match=r"variant 'a': .*double means nothing to sac"):
        cells_of(study, study.variants, tmp_path / "runs")


def test_files_beside_the_study_are_found_from_anywhere(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("submit_s,run_s\n0,10\n")
    (tmp_path / "tuned.toml").write_text('[policy]\nkind = "linear"\nestimate = 1.0\n')
    text = (
        '[study]\nname = "x"\n[logs.a]\nworkload = "log.csv"\ncluster = "8"\n[common]\ntraining.init = "tuned.toml"\n'
    )
    study = read_study(write_study(tmp_path, text))
    assert study.logs["a"] == {"data": {"workload": [str(tmp_path / "log.csv")], "cluster": ["8"]}}
    assert study.variants["default"]["training"]["init"] == str(tmp_path / "tuned.toml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no table [study]; add one with a name"),
        ("[stduy]\n", "unknown table 'stduy'; did you mean 'study'?"),
        ("[study]\nname = 'x'\nseed = 3\n", "[study]: unknown key 'seed'; did you mean 'seeds'?"),
        ("[study]\nname = 'a b'\n", "[study] name is 'a b'; expected letters"),
        ("[study]\nname = 'x'\nseeds = 0\n", "[study] seeds is 0; expected 1 to 10,000 seeds"),
        ("[study]\nname = 'x'\nseeds = [1, 1]\n", "each seed once"),
        ("[study]\nname = 'x'\npreset = 'quik'\n", "unknown preset 'quik'; did you mean 'quick'?"),
        (HEAD + "[common]\npppo.clip = 1\n", "[common] unknown section 'pppo'; did you mean 'ppo'?"),
        (HEAD + "[common]\nppo = 1\n", "[common] ppo is 1; expected a table"),
        (HEAD + "[variants.a]\nppo.learning_rat = 1\n", "[variants.a] ppo: unknown key 'learning_rat'; did you mean "),
        (HEAD + "[ablation.a]\nppo.clp = 1\n", "[ablation.a] ppo: unknown key 'clp'; did you mean 'clip'?"),
        (HEAD + "[ablation]\nbase = 'defualt'\n", "unknown variant 'defualt'; did you mean 'default'?"),
        (HEAD + "[ablation.default]\nppo.clip = 1\n", "a variant has this name already"),
        (HEAD + "[grid]\nppo.clip = 0.1\n", "[grid] ppo.clip is 0.1; expected a list of values"),
        (HEAD + "[grid]\nppo.clip = [0.1, 0.1]\n", "two variants are called '0.1'"),
        (HEAD + "[search]\nmetod = 'random'\n", "[search]: unknown key 'metod'; did you mean 'method'?"),
        (HEAD + "[search]\nmethod = 'halvin'\n", "unknown method 'halvin'; did you mean 'halving'?"),
        (HEAD + "[search]\ntrials = 3\n", "[search.options] has nothing to search"),
        (HEAD + "[search.options]\nppo.clp = [1]\n", "[search.options] ppo: unknown key 'clp'; did you mean 'clip'?"),
        (HEAD + "[search.options]\nppo.clip = 1\n", "ppo.clip is 1; expected a list of values, or {low"),
        (HEAD + "[search.options]\nppo.clip = {low = 1, hgih = 2}\n", "unknown key 'hgih'; did you mean 'high'?"),
        (HEAD + "[search.options]\nppo.clip = {low = 2, high = 1}\n", "expected the smaller one first"),
        (HEAD + "[search.options]\nppo.clip = {low = 0, high = 1, log = true}\n", "which has no logarithm"),
        (HEAD + "[search]\nbase = 'x'\n[search.options]\nppo.clip = [1]\n", "[search] base: unknown variant 'x'"),
        (HEAD + "[variants.searched]\n[search.options]\nppo.clip = [1.0]\n", "a variant is called 'searched'"),
    ],
)
def test_mistakes_are_one_line_with_the_nearest_word(tmp_path: Path, text: str, words: str) -> None:
    path = write_study(tmp_path, text)
    with pytest.raises(InputError) as found:
        read_study(path)
    assert words in str(found.value)
    assert str(found.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD + "[variants.a]\nppo.learning_rate = -1.0\n", "variant 'a': --lr is -1.0; expected"),
        (
            HEAD + "[variants.a]\nenvironment.windw = 8\n",
            "variant 'a': [environment]: unknown key 'windw'; did you mean",
        ),
        ('[study]\nname = "x"\n', 'there are no [logs] to learn from; add one, as in kth = "kth.swf.gz"'),
    ],
)
def test_a_variant_that_is_no_training_is_named(tmp_path: Path, text: str, words: str) -> None:
    study = read_study(write_study(tmp_path, text))
    with pytest.raises(InputError) as found:
        cells_of(study, study.variants, tmp_path / "runs")
    assert words in str(found.value)
