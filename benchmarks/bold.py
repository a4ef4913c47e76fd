"""Presets as they were and as they are, on windows that nothing has seen: `docs/results.md` holds what this printed.

    PYTHONPATH=. python benchmarks/bold.py benchmarks/studies/bold-quick.toml [--out studies/bold-quick] [--seeds 0,1]

The file is one of `shunter study`. Here classics are chosen once for all trainings of a log, and nothing is worked out
on the days of the report; instead each best checkpoint, its beginning and the chosen classic are measured on fresh
windows: of other seeds where work is generated, of the report's days where it is a log. What is there is not trained
again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shunter.agents.learned_policy import load_policy
from shunter.agents.training.curves import read_curves
from shunter.agents.training.request import TrainRequest
from shunter.agents.training.setup import Site, open_trainer
from shunter.agents.training.trials import Trials
from shunter.comparison.combinations import Combination
from shunter.comparison.log_windows import Measured
from shunter.comparison.objective import mean_ratio
from shunter.envs.sources import Use
from shunter.policies.checkpoint import BEST, INITIAL
from shunter.studies.aggregates import mean
from shunter.studies.plan import NOWHERE
from shunter.studies.study_file import Sections, Study, merged, read_study
from shunter.workloads.reading import drawn_again

FRESH = range(101, 106)
"""Which draws of a generator policies are judged on; trainings and their validation use 0 to 100."""
WAIT = "mean_wait_s"
RESULT = "bold.json"
KL = "KL of an update: median, largest"
MEANS = {
    "means_ratio": "ratio of means",
    "classic_ratio": "to the classic",
    "wait_ratio": "wait to the beginning's",
    "classic_wait_ratio": "wait to the classic's",
}
"""Columns that are geometric means over seeds."""


@dataclass(frozen=True)
class Judge:
    """Fresh windows of what a study learns from, and what is there without learning."""

    site: Site
    chosen: list[Combination]
    trials: list[Trials]

    @staticmethod
    def of(site: Site) -> Judge:
        """Chooses classics, and draws the windows."""
        is_drawn = all(drawn_again(log.workload, 1) is not None for log in site.logs)
        sources = [site.source.further(number) for number in FRESH] if is_drawn else [site.source]
        trials = [Trials.of(source, site.report_episodes, Use.REPORT) for source in sources]
        return Judge(site, site.choose(), trials)

    @property
    def metrics(self) -> tuple[str, ...]:
        """What is measured."""
        return tuple(dict.fromkeys((self.site.objective.metric, WAIT)))

    def learned(self, checkpoint: Path) -> Measured:
        """Returns what a policy does."""
        policy = load_policy(checkpoint)
        return self._joined([trials.of_policy(policy, self.metrics) for trials in self.trials])

    def classic(self) -> Measured:
        """Returns what the chosen classic does."""
        schedulers = [one.scheduler for one in self.chosen]
        return self._joined([trials.of_schedulers(schedulers, self.metrics) for trials in self.trials])

    def _joined(self, each: Sequence[Sequence[Measured]]) -> Measured:
        parts = [one for groups in each for one in groups]
        return {metric: np.concatenate([one[metric] for one in parts]) for metric in self.metrics}


def main() -> None:
    """Trains what is missing, judges all, and prints a table for each log."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seeds", help="those of the study, if nothing is said")
    given = parser.parse_args()
    study = read_study(given.study, given.out)
    if given.seeds:
        study = replace(study, seeds=tuple(int(seed) for seed in given.seeds.split(",")))
    for log in study.logs:
        # Once for all trainings of a log, and not at all where there is none left to do.
        judges: dict[str, Judge] = {}
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in study.variants}
        for seed in study.seeds:
            for name, sections in study.variants.items():
                folder = study.out / log / name / f"seed-{seed}"
                if not (folder / RESULT).is_file():
                    site = site_of(study, merged(sections, study.logs[log], {"training": {"seed": seed}}))
                    judge = judges[log] = judges.get(log) or Judge.of(site)
                    run(replace(judge, site=site), folder)
                found[name].append(json.loads((folder / RESULT).read_text()))
        print_log(log, found, study.base)


def site_of(study: Study, sections: Sections) -> Site:
    """Returns what a training of a study learns from."""
    return Site.of(TrainRequest(sections, study.preset).resolved(NOWHERE).config)


def run(judge: Judge, folder: Path) -> None:
    """Trains in a folder, and writes down what came of it on the fresh windows."""
    folder.mkdir(parents=True, exist_ok=True)
    outcome = open_trainer(judge.site, judge.chosen, folder).run()
    own, begun, classic = judge.learned(folder / BEST), judge.learned(folder / INITIAL), judge.classic()
    objective = judge.site.objective
    kl = read_curves(folder).of("approximate_kl")[1]
    found = {
        "ratio": float(np.exp(objective.cost(own, begun))),
        "means_ratio": mean_ratio(own[objective.metric], begun[objective.metric]),
        "classic_ratio": float(np.exp(objective.cost(own, classic))),
        "wait_ratio": mean_ratio(own[WAIT], begun[WAIT]),
        "classic_wait_ratio": mean_ratio(own[WAIT], classic[WAIT]),
        "windows": len(own[WAIT]),
        "kl_median": float(np.median(kl)),
        "kl_most": float(np.max(kl)),
        "best_steps": outcome.best_steps,
        "steps": outcome.steps,
        "chosen": [one.label for one in judge.chosen],
    }
    print(
        folder,
        {key: round(value, 6) if isinstance(value, float) else value for key, value in found.items()},
        flush=True,
    )
    (folder / RESULT).write_text(json.dumps(found, indent=1))


def print_log(log: str, found: dict[str, list[dict[str, Any]]], base: str) -> None:
    """Prints what the variants came to on a log: geometric means over seeds, and Student's 95 % intervals."""

    def of(rows: list[dict[str, Any]], key: str) -> NDArray[np.float64]:
        return np.array([row[key] for row in rows], dtype=np.float64)

    first = next(iter(found.values()))[0]
    print(f"\n{log}: {first['windows']} fresh windows, classic {', '.join(first['chosen'])}")
    columns = ("variant", "to the beginning, by seed", "all seeds [95 %]", *MEANS.values(), "beginning kept", KL)
    print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|")
    for name, rows in found.items():
        cells = [
            name,
            ", ".join(f"{ratio:.2f}" for ratio in of(rows, "ratio")),
            interval_text(np.log(of(rows, "ratio"))),
        ]
        cells += [f"{np.exp(np.log(of(rows, key)).mean()):.2f}" for key in MEANS]
        cells.append(f"{sum(row['best_steps'] == 0 for row in rows)} of {len(rows)}")
        cells.append(f"{np.median(of(rows, 'kl_median')):.0e}, {of(rows, 'kl_most').max():.0e}")
        print("| " + " | ".join(cells) + " |")
    for name, rows in found.items():
        if name != base:
            both = np.log(of(rows, "ratio")) - np.log(of(found[base], "ratio"))
            print(f"{name} against {base}, seed by seed: {interval_text(both)}")


def interval_text(logarithms: NDArray[np.float64]) -> str:
    """Returns a geometric mean with its interval."""
    found = mean(logarithms.tolist()).exp()
    return f"{found.value:.3f}" + (" [{:.3f}, {:.3f}]".format(*found.interval) if found.interval else "")


if __name__ == "__main__":
    main()
