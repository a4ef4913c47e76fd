"""The folders of runs: known by what defines a run, and by nothing else."""

from __future__ import annotations

from pathlib import Path

from shunter.studies.plan import cells_of
from shunter.studies.study_file import read_study
from tests.studies.small import STUDY, VARIANTS, write_study


def folders(path: Path) -> list[str]:
    study = read_study(path)
    cells = cells_of(study, study.variants, Path("runs"))
    return [cell.task.folder.as_posix() for cell in cells]


def test_every_variant_log_and_seed_has_a_folder(tmp_path: Path) -> None:
    found = folders(write_study(tmp_path))
    assert [folder.rpartition("-")[0] for folder in found] == [
        f"runs/{variant}/busy/seed-{seed}" for variant in ("slow", "fast") for seed in (0, 1)
    ]
    assert len(set(found)) == 4
    assert folders(write_study(tmp_path)) == found


def test_only_what_changes_a_result_changes_the_folder(tmp_path: Path) -> None:
    before = folders(write_study(tmp_path))
    threads = STUDY.replace("margin_se = 0.0", "margin_se = 0.0, threads = 7")
    assert folders(write_study(tmp_path, threads + VARIANTS)) == before
    # A default that is written out is the same run.
    spelled = STUDY.replace("margin_se = 0.0", "margin_se = 0.0, device = 'cpu'")
    assert folders(write_study(tmp_path, spelled + VARIANTS)) == before
    slower = folders(write_study(tmp_path, STUDY + VARIANTS.replace("1e-4", "2e-4")))
    assert [one == other for one, other in zip(slower, before, strict=True)] == [False, False, True, True]


def test_a_log_counts_by_what_it_holds(tmp_path: Path) -> None:
    def found(name: str, text: str) -> list[str]:
        (tmp_path / name).write_text(text)
        study = STUDY.replace("generate:lublin?seed=3&jobs=400&cores=64&load=1.1", name)
        return folders(write_study(tmp_path, study + VARIANTS))

    rows = "submit_s,run_s,cores\n0,10,1\n"
    before = found("log.csv", rows)
    assert found("moved.csv", rows) == before
    assert not set(found("log.csv", rows + "5,10,1\n")) & set(before)
