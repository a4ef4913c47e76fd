"""From a log to a decision, stage by stage; what each came to is kept, and taken up where a run was cut short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shunter.advice.candidates import LEARNED, unlimited_candidates
from shunter.advice.commands import ADVISED_FILE, OPERATE_FILE, next_steps, slurm_lines
from shunter.advice.conclusion import CHANGE, NOT_BELIEVED, QUIET, TOO_SHORT, conclude, kind_of
from shunter.advice.judging import choice_stage, later_stage
from shunter.advice.kept import STAGES, Kept
from shunter.advice.looking import IS_ENOUGH, calibration_stage, estimates_stage
from shunter.advice.page import write_advice_page
from shunter.advice.request import AdviseRequest
from shunter.advice.searching import LEARNED_FOLDER, TUNED_FILE, comparison_stage, tuning_stage
from shunter.advice.site import Site, keep_site, read_files
from shunter.checks import NOTHING
from shunter.engines.choice import engine_on
from shunter.errors import InputError
from shunter.files import locked, write_file
from shunter.policies.native import NativePolicy
from shunter.tuning.tune import Stage, untold
from shunter.tuning.tuned_file import estimate_section, section

if TYPE_CHECKING:
    from shunter.advice.kept import Object
    from shunter.comparison.combinations import Combination
    from shunter.engines.base import Engine


@dataclass(frozen=True)
class Advice:
    """What to do, and why."""

    folder: Path
    stages: dict[str, Any]
    """What each stage came to, by name, as plain objects."""
    reused: tuple[str, ...]
    """The stages that an earlier run had done."""
    page: Path | None = None

    @property
    def conclusion(self) -> Object:
        """The headline, sentences, figures and next steps."""
        found: Object = self.stages["advice"]
        return found

    @property
    def headline(self) -> str:
        """What to do, in one sentence."""
        return str(self.conclusion["headline"])

    def to_json(self) -> dict[str, Any]:
        """Returns what ``shunter advise --json`` prints."""
        page = None if self.page is None else str(self.page)
        return {
            **self.conclusion,
            "folder": str(self.folder),
            "page": page,
            "stages": self.stages,
            "reused": list(self.reused),
        }


def advise(workload: str | Path | Sequence[str | Path], *, stage: Stage = untold, **terms: Any) -> Advice:  # noqa: ANN401
    """Says what to run on a cluster, from the log that it has written.

    Args:
        workload: A file, a pattern, the files of one log, or a generator.
        stage: Surrounds each piece of the work, for those who show progress.
        terms: ``out``, ``cluster``, ``nodes``, ``site``, ``objective``, ``bounds``, ``max_wait_s``, ``budget``,
            ``quick``, ``allow_preemption``, ``anyway``, ``placement``, ``load``, ``format``, ``columns``, ``only``,
            ``strict``, ``seed``, ``threads``, ``on``, ``fresh``: as ``shunter advise`` has them.

    Returns:
        The advice: ``headline``, ``conclusion``, ``stages``, ``page``, and ``to_json()``.

    Raises:
        InputError: A name or a number is wrong, a file cannot be read, or the folder cannot be used.
    """
    return run_advice(AdviseRequest.of(workload, **terms), stage)


def run_advice(request: AdviseRequest, stage: Stage = untold) -> Advice:
    """Goes through the stages until there is an advice, or a reason to give none."""
    kept = Kept(request.out, request.fresh)
    kept.check()
    with stage(f"reading {request.files[0]}"):
        told = read_files(request)
    try:
        request.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {request.out}: cannot be created ({error.strerror}); give another folder") from None
    with locked(request.out), engine_on(request.on, request.threads) as engine:
        site = keep_site(request, kept, told)
        kind = _reach(request, site, kept, engine, stage)
        _conclude(request, site, kept, kind)
        for name in STAGES:
            if name not in kept.results:
                kept.path(f"{name}.json").unlink(missing_ok=True)
        with stage("writing the page"):
            page = write_advice_page(request.out)
        return Advice(request.out, dict(kept.results), tuple(kept.reused), page)


def _reach(request: AdviseRequest, site: Site, kept: Kept, engine: Engine | None, stage: Stage) -> str:
    """Goes through the stages, and returns what they come to."""
    if not site.days.is_enough:
        return TOO_SHORT
    with stage("holding the simulation against the log") as progress:
        kept.stage("calibration", {}, lambda: calibration_stage(site, progress), rests_on=["log", "cluster"])
    with stage("measuring estimates of run times"):
        kept.stage("estimates", {"seed": request.seed}, lambda: estimates_stage(site), rests_on=["log"])
    if kept.results["calibration"]["verdict"] not in IS_ENOUGH and not request.anyway:
        return NOT_BELIEVED
    searched = _searched(request)
    with stage("comparing classics on the first days") as progress:
        compared = kept.stage(
            "comparison", searched, lambda: comparison_stage(request, site, progress), rests_on=["log", "cluster"]
        )
    if compared["contention_note"] is not None:
        return QUIET
    _search(request, site, kept, engine, stage)
    below = ["comparison", "tuning", "training"]
    with stage("choosing on days that nothing was fitted to") as progress:
        choice = kept.stage(
            "choice",
            searched | {"limits_s": list(request.limits_s)},
            lambda: choice_stage(request, site, kept, progress),
            rests_on=below,
        )
    if choice["contention_note"] is not None:
        return QUIET
    with stage("judging on later days") as progress:
        later = kept.stage(
            "later",
            searched | {"limits_s": list(request.limits_s)},
            lambda: later_stage(request, site, kept, progress),
            rests_on=["choice", *below],
            files=["runs"],
        )
    return QUIET if later["contention_note"] is not None else kind_of(kept.results)


def _searched(request: AdviseRequest) -> Object:
    """Returns what a search depends on, besides the log and the machine."""
    return {
        "objective": request.objective.metric,
        "bounds": [[one.metric, one.factor] for one in request.objective.bounds],
        "effort": asdict(request.effort),
        "placements": list(request.placements),
        "allow_preemption": request.allow_preemption,
        "seed": request.seed,
    }


def _search(request: AdviseRequest, site: Site, kept: Kept, engine: Engine | None, stage: Stage) -> None:
    searched, below = _searched(request), ["log", "cluster", "comparison"]
    kept.stage(
        "tuning",
        searched,
        lambda: tuning_stage(request, site, kept, engine, stage),
        rests_on=below,
        files=[TUNED_FILE],
    )
    key = kept.key("training", searched, [*below, "tuning"])

    def trained() -> Object:
        if not request.effort.steps:
            return {"skipped": "there is no time for it (--budget)"}
        # Whoever trains nothing need not wait for PyTorch.
        from shunter.advice.training import training_stage

        with stage("training a network") as progress:
            return training_stage(request, site, kept, key, progress)

    kept.stage("training", searched, trained, rests_on=[*below, "tuning"], files=[f"{LEARNED_FOLDER}/best"])


def _conclude(request: AdviseRequest, site: Site, kept: Kept, kind: str) -> None:
    """Keeps what the advice comes to, and writes what can be run."""
    asked = request.words()

    def made() -> Object:
        lines: list[str] = []
        why_not: str | None = None
        if kind == CHANGE:
            lines, why_not = _write_choice(site, kept)
        steps = next_steps(kind, kept.results, request, lines, why_not)
        told = {"next": steps, "slurm_conf": lines, "why_no_slurm_conf": why_not, "asked": asked}
        return conclude(kind, kept.results) | told

    rests_on = [name for name in STAGES if name in kept.results]
    files = [ADVISED_FILE, OPERATE_FILE] if kind == CHANGE else []
    kept.stage("advice", {"kind": kind, "asked": asked}, made, rests_on=rests_on, files=files)


def _write_choice(site: Site, kept: Kept) -> tuple[list[str], str | None]:
    """Writes the policy that is advised, and returns the lines of slurm.conf that mean it, or why none do."""
    later = kept.results["later"]
    unlimited = next(each for each in unlimited_candidates(site, kept) if each.kind == later["kind"])
    advised = unlimited.limited(later["max_wait_s"])
    # Beside a scheduler there is a limit of a week unless something else is said.
    limit = f'"{NOTHING}"' if advised.max_wait_s is None else f"{advised.max_wait_s:g}"
    _write(kept.path(OPERATE_FILE), f"max_wait_s = {limit}\n")
    if advised.kind == LEARNED:
        kept.path(ADVISED_FILE).unlink(missing_ok=True)
        return [], "a trained network is no weight of a priority"
    _write(kept.path(ADVISED_FILE), _policy_text(advised.combination, site))
    policy = advised.combination.scheduler.policy
    assert isinstance(policy, NativePolicy), "classics and tuned scores are run by the core"
    words = advised.combination.settings.words() | {"policy": policy.kind}
    return slurm_lines(words, dict(policy.spec.written))


def _policy_text(one: Combination, site: Site) -> str:
    policy, settings = one.scheduler.policy, one.settings
    assert isinstance(policy, NativePolicy), "classics and tuned scores are run by the core"
    comments = [
        f"What 'shunter advise' found on {site.log.workload.name}: {one.label}. To use it:",
        f"shunter simulate --policy {ADVISED_FILE} --estimate {ADVISED_FILE} ...",
    ]
    head = "".join(f"# {''.join(sign if sign.isprintable() else '?' for sign in line)}\n" for line in comments)
    brought = {"dispatch": settings.dispatch} | (
        {} if settings.max_wait_s is None else {"max_wait_s": settings.max_wait_s}
    )
    parts = [
        head,
        section("policy", {"kind": policy.kind, **policy.spec.written, "size_by": one.scheduler.size_by}),
        section("settings", brought),
        estimate_section(one.scheduler.estimate, [site.early], site.days.first),
    ]
    return "\n".join(parts)


def _write(path: Path, text: str) -> None:
    write_file(path, lambda file: file.write(text.encode()))
