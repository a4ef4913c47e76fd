"""Every kind of file that Shunter reads: sound ones to begin with, and what reads them."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

import shunter
from shunter.agents.learned_policy import load_policy
from shunter.cli.replay import run_again
from shunter.envs.network import NativeNetwork
from shunter.errors import InputError
from shunter.metrics.explanation import explain
from shunter.metrics.record import Record
from shunter.metrics.run import run_log
from shunter.metrics.run_folder import build_manifest, read_manifest, read_schedule, write_run
from shunter.model.snapshot import Snapshot
from shunter.policies.native import resolve_estimate
from shunter.policies.scheduler import Scheduler, resolve, resolve_scheduler
from shunter.service.limits import Limits
from shunter.service.refusals import json_bytes
from shunter.service.requests import parse_body
from shunter.service.service import Loaded, Service
from shunter.simulation import Simulation
from shunter.workloads import FORMATS, read_workload
from shunter.workloads.machines import MACHINES, read_machines, read_site
from shunter.workloads.reading import read_log
from tests.fuzz.mutations import OF_BYTES, OF_JSON, OF_STATES, OF_TENSORS, OF_TEXT, Mutation
from tests.service.samples import requests_to
from tests.workloads.machines import (
    lsf_texts,
    slurm_texts,
    test_lshosts,
    test_published_lists,
    test_sinfo,
    test_slurm_conf,
)
from tests.workloads.samples import SAMPLES

if TYPE_CHECKING:
    from polars._typing import ParquetCompression

LOG: Final = "generate:lublin?seed=3&jobs=30&cores=16&load=1.2&requests=factor"
GPU_LOG: Final = "generate:bursty-gpu?seed=3&jobs=30&nodes=3&load=1.2"
STEPS: Final = 2000
"""So many decisions a restored simulation is run for at most; a sound one of these logs needs far fewer."""
SCONTROL: Final = (
    "NodeName=n1 CPUTot=8 RealMemory=64000 Gres=gpu:a100:4 State=IDLE Partitions=batch,gpu\n"
    "NodeName=n2 CPUTot=16 RealMemory=128000 Gres=(null) State=DOWN Partitions=batch\n"
)
CODECS: Final[tuple[ParquetCompression, ...]] = ("uncompressed", "snappy", "gzip")
EVENTS: Final = (
    '"JOB_NEW" "9.1" 1600000000 1 500 33816579 1 1600000000 0 0 0 "a" -1 -1 "" "" "" "" "" 1 "q"\n'
    '"JOB_START" "9.1" 1600000001 1 4 0 0 1 "n1" "" "" 0 "" 0 ""\n'
    '"JOB_STATUS" "9.1" 1600000009 1 64 0 0 0.0 1600000009 0 0 0 0\n'
)
POLICIES: Final = (
    "fcfs",
    "sjf",
    "f2",
    "wfp3",
    "fair-share",
    "multifactor",
    "linear",
    "srtf",
    "las",
    "srsf",
    "gittins",
    "random-feasible",
)
DISPATCHES: Final = (None, "strict", "greedy", "easy", "conservative", "3", "committed", "committed-backfill")


@dataclass(frozen=True)
class Target:
    """One kind of file."""

    name: str
    content: bytes
    """A sound one."""
    read: Callable[[bytes], object]
    """Reads one that may be damaged; an error that a user can mend is a `shunter.ShunterError`."""
    mutations: Sequence[Mutation]


def targets(folder: Path) -> list[Target]:
    """Returns all targets; files are written to this folder."""
    of_files = (*_logs(folder), *_machines(folder), *_runs(folder), *_policies(folder))
    return [*of_files, *_environments(), *_states(), *_requests()]


def _requests() -> Iterator[Target]:
    """Yields requests to the service."""
    service = Service(Loaded({"sjf": {"policy": "sjf"}}), Limits(deadline_s=30.0))
    for name, (answer, content) in requests_to(service).items():

        def read(body: bytes, answer: Callable[[dict[str, Any]], object] = answer) -> object:
            return json_bytes(answer(parse_body(body)))

        yield Target(f"request {name}", json.dumps(content).encode(), read, OF_JSON)


def _written(path: Path, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    def write_and_read(content: bytes) -> object:
        path.write_bytes(content)
        return read(path)

    return write_and_read


def _logs(folder: Path) -> Iterator[Target]:
    seeds = {**SAMPLES, "lsb-events": ("lsb-events", EVENTS.encode())}
    seeds |= {f"parquet {codec}": ("parquet", _parquet(codec)) for codec in CODECS}
    known = {format for format, _ in seeds.values()}
    # A format that came later, and has no sample yet, is tried with one of another.
    seeds |= {name: (name, SAMPLES["csv"][1]) for name in FORMATS if name not in known}
    for name, (format, content) in seeds.items():
        mutations = OF_BYTES if format == "parquet" else OF_JSON if content[:1] in b"[{" else OF_TEXT
        for given in (format, None):
            read = partial(read_workload, format=given)
            yield Target(
                f"log {name}{'' if given else ' by content'}", content, _written(folder / "log", read), mutations
            )


def _parquet(codec: ParquetCompression) -> bytes:
    """Returns a table of several groups of rows, with columns that are full, that have gaps, and that are empty."""
    rows = pl.int_range(30, eager=True)
    table = pl.DataFrame({"submit_s": rows, "run_s": rows * 1.5 + 1})
    gaps = pl.when(pl.col("submit_s") % 3 > 0)
    table = table.with_columns(user=gaps.then(pl.format("u{}", pl.col("submit_s") % 4)), queue=pl.lit(None, pl.String))
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression=codec, row_group_size=12)
    return buffer.getvalue()


def _machines(folder: Path) -> Iterator[Target]:
    seeds = {name: (format, text) for name, (format, text, _) in test_published_lists.SHORT_LISTS.items()}
    seeds |= {
        "scontrol": ("scontrol", SCONTROL),
        "sinfo": ("sinfo", test_sinfo.BLANKS),
        "sinfo json": ("sinfo", json.dumps(test_sinfo.JSON)),
        "slurm.conf": ("slurm-conf", test_slurm_conf.CONFIGURATION),
        "lshosts": ("lshosts", test_lshosts.LSHOSTS),
        "bhosts json": ("lshosts", test_lshosts.BHOSTS_JSON),
    }
    known = {format for format, _ in seeds.values()}
    seeds |= {name: (name, SCONTROL) for name in MACHINES if name not in known}
    for name, (format, text) in seeds.items():
        for given in (format, None):
            read = _written(folder / "machines", partial(_read_list, given))
            mutations = OF_JSON if text[:1] in "[{" else OF_TEXT
            yield Target(f"machines {name}{'' if given else ' by content'}", text.encode(), read, mutations)
    yield from _rules(folder)
    gpus = shunter.read_cluster("helios-venus")
    from shunter.model.cluster_file import cluster_toml

    text = cluster_toml(shunter.Cluster.from_nodes(gpus.nodes[:3], "three"), ["three nodes"])
    yield Target(
        "cluster file",
        text.encode(),
        _written(folder / "c.toml", lambda path: shunter.read_cluster(str(path))),
        OF_TEXT,
    )


def _rules(folder: Path) -> Iterator[Target]:
    """Yields the files of a site's rules, each damaged beside sound machines, and a cluster file with them."""
    from shunter.model.cluster_file import cluster_toml

    slurm, lsf = folder / "slurm.conf", folder / "lshosts"
    slurm.write_text(slurm_texts.CONFIGURATION)
    lsf.write_text(lsf_texts.HOSTS)
    seeds = {name: (slurm, getattr(slurm_texts, name)) for name in ("PARTITIONS", "RESERVATIONS", "LICENSES", "QOS")}
    seeds |= {name: (slurm, getattr(slurm_texts, name)) for name in ("ASSOCIATIONS", "TREE")}
    seeds |= {name: (lsf, getattr(lsf_texts, name)) for name in ("QUEUES", "LSB_HOSTS", "PARAMETERS", "PRINTED")}
    for name, (machines, text) in seeds.items():
        read = _written(folder / "rules", partial(_read_rules, machines))
        yield Target(f"rules {name.lower()}", text.encode(), read, OF_TEXT)
    yield Target(
        "rules slurm.conf", slurm_texts.CONFIGURATION.encode(), _written(folder / "rules", _read_rules), OF_TEXT
    )
    paths = [slurm]
    for name in ("QOS", "ASSOCIATIONS", "RESERVATIONS"):
        paths.append(folder / name)
        paths[-1].write_text(getattr(slurm_texts, name))
    text = cluster_toml(read_site(paths).cluster, ["a site"])
    read = _written(folder / "site.toml", lambda path: shunter.read_cluster(str(path)))
    yield Target("cluster file with rules", text.encode(), read, OF_TEXT)


def _read_rules(*paths: Path) -> None:
    """Reads a site; what is read must be written, and read again as the same."""
    from shunter.model.cluster_file import cluster_from_toml, cluster_toml

    found = read_site(paths)
    again = cluster_from_toml(cluster_toml(found.cluster, [one.text for one in found.left], in_order=True), "again", "")
    if again.content_sha256 != found.cluster.content_sha256:
        raise AssertionError("what was written is read as another cluster")
    if found.policy is not None:
        policy = paths[-1].with_name("policy.toml")
        policy.write_text(found.policy.to_toml())
        resolve(str(policy))


def _read_list(format: str | None, path: Path) -> object:
    return read_machines([path], format=format)


def _runs(folder: Path) -> Iterator[Target]:
    """Yields the files of a run folder, each damaged by itself."""
    scheduler = resolve_scheduler(policy="srtf", mtbf_s=50_000, mttr_s=600)
    run = run_log(read_log(LOG), scheduler, arguments=_arguments(scheduler))
    sound, damaged = folder / "sound", folder / "damaged"
    write_run(sound, run.schedule, run.result(), build_manifest(run.schedule, {}, run.resolved(), scheduler.files))

    def read(name: str, content: bytes) -> None:
        shutil.copytree(sound, damaged, dirs_exist_ok=True)
        (damaged / name).write_bytes(content)
        record = Record.read(damaged)
        for job in record.rows["job_id"].head(2):
            explain(record, record.find(str(job)))

    def again(content: bytes) -> None:
        shutil.copytree(sound, damaged, dirs_exist_ok=True)
        (damaged / "manifest.json").write_bytes(content)
        read_schedule(damaged)
        run_again(damaged, read_manifest(damaged), None, None)

    for name in ("manifest.json", "schedule.parquet", "stops.parquet"):
        mutations = OF_JSON if name.endswith("json") else OF_BYTES
        yield Target(f"run {name}", (sound / name).read_bytes(), partial(read, name), mutations)
    yield Target("replayed manifest", (sound / "manifest.json").read_bytes(), again, OF_JSON)


def _arguments(scheduler: Scheduler) -> dict[str, Any]:
    from shunter.cli.running import RunArguments

    return RunArguments(LOG, given=scheduler.settings.words()).to_json()


def _policies(folder: Path) -> Iterator[Target]:
    """Yields what tuning, fitting and training write, and what they read."""
    from shunter.agents.training.config import load_config
    from shunter.agents.training.curves import read_curves

    tuned = (
        '[policy]\nkind = "linear"\nestimate = 1.0\ncores = 0.5\nhold_from_s = "1h"\n\n[estimate]\nkind = "last-two"\n'
    )
    read_tuned = _written(folder / "tuned.toml", lambda path: (resolve(str(path)), resolve_estimate(str(path))))
    yield Target("tuned file", tuned.encode(), read_tuned, OF_TEXT)
    slurm = '[policy]\nkind = "multifactor"\nage = 10\n[policy.partitions]\nbatch = 1.0\n[policy.shares]\nann = 2\n'
    yield Target("policy file", slurm.encode(), _written(folder / "p.toml", lambda path: resolve(str(path))), OF_TEXT)
    yield Target(
        "prior", _prior().encode(), _written(folder / "prior.toml", lambda path: resolve_estimate(str(path))), OF_TEXT
    )
    config = load_config(preset="quick").to_toml()
    yield Target("training file", config.encode(), _written(folder / "config.toml", load_config), OF_TEXT)
    rows = "steps,return,validation/ratio\n64,0.5,\n128,0.25,1.5\n"
    read_rows = _written(folder / "progress.csv", lambda path: read_curves(path.parent))
    yield Target("progress.csv", rows.encode(), read_rows, OF_TEXT)
    failures = "time_s,node,event\n5,pool,down\n9,pool,up\n"
    read_failures = _written(folder / "failures.csv", lambda path: shunter.simulate(LOG, failures=str(path)))
    yield Target("failures", failures.encode(), read_failures, OF_TEXT)
    yield from _checkpoints(folder)


def _checkpoints(folder: Path) -> Iterator[Target]:
    """Yields the two files of checkpoints, with a network of each kind that the core knows."""
    from shunter.agents.networks import NetworkOptions
    from tests.agents.untrained import write_host_policy, write_layered_policy, write_policy

    for kind in ("kernel", "mlp", "attention"):
        network = NetworkOptions(kind=kind, hidden=(4, 4), order_temperature=1.0)
        yield from _checkpoint(kind, Path(write_policy(folder / kind, network=network, order="f2")))
    yield from _checkpoint("hosts", Path(write_host_policy(folder / "hosts")))
    yield from _checkpoint("layers", Path(write_layered_policy(folder / "layers")))


def _checkpoint(kind: str, checkpoint: Path) -> Iterator[Target]:
    """Yields the files of one checkpoint; what is read is also used."""
    header, weights = checkpoint / "policy.json", checkpoint / "policy.safetensors"
    from tests.agents.untrained import edit_policy

    # Without its own hash: otherwise every damage would be told by that.
    edit_policy(checkpoint, lambda about: None)
    whole = header.read_bytes(), weights.read_bytes()

    def use() -> None:
        network = NativeNetwork.load(checkpoint)
        seen = np.full((2, network.observation_size), 0.5, np.float32)
        masks = np.ones((2, network.actions), np.bool_)
        network.evaluate(seen, masks)
        network.choose(seen, masks, seed=1)
        if kind != "layers":
            # Of a user's own network only the core knows here.
            load_policy(checkpoint).actions(seen, masks)
        if kind == "hosts":
            resolve_scheduler(policy=str(checkpoint), hosts=True)
        else:
            shunter.simulate(LOG, policy=str(checkpoint))

    def read_header(content: bytes) -> None:
        weights.write_bytes(whole[1])
        header.write_bytes(content)
        use()

    def read_weights(content: bytes) -> None:
        # With the hash that belongs to them: otherwise every damage would be told by the hash.
        told = json.loads(whole[0]) | {"sha256": hashlib.sha256(content).hexdigest()}
        header.write_text(json.dumps(told))
        weights.write_bytes(content)
        use()

    yield Target(f"policy.json {kind}", whole[0], read_header, OF_JSON)
    yield Target(f"policy.safetensors {kind}", whole[1], read_weights, OF_TENSORS)


def _prior() -> str:
    from shunter.files import toml_value
    from shunter.policies.catalog import ESTIMATE_PARAMETERS
    from shunter.policies.prior import prior_from_tables

    prior = prior_from_tables(ESTIMATE_PARAMETERS["posterior"], {}, "here")
    lines = ["[estimate]", 'kind = "posterior"']
    lines += [f"{name} = {toml_value(value)}" for name, value in (prior.strengths() | prior.tables()).items()]
    return "\n".join(lines) + "\n"


def _environments() -> Iterator[Target]:
    """Yields the state of some environments."""
    from shunter.envs import make_vec

    vector = make_vec("shunter/PickJob-v0", 3, workload=LOG, length=10, window=4, part=(0.0, 1.0))
    _, infos = vector.reset(seed=1)
    for _ in range(12):
        infos = vector.step(infos["action_mask"].argmax(axis=1).astype("int32"))[4]
    arrays = vector.step_arrays()
    sound = vector.state()

    def load(content: bytes) -> None:
        vector.load_state(content, arrays.observations, arrays.masks)
        for _ in range(40):
            vector.step_into(arrays.masks.argmax(axis=1).astype("int32"), arrays)

    yield Target("environments", sound, load, OF_BYTES)


def _states() -> Iterator[Target]:
    """Yields snapshots and saved states of simulations under many rules."""
    number = 0
    for spec in (LOG, GPU_LOG):
        log = read_log(spec)
        for policy in POLICIES:
            for dispatch in DISPATCHES:
                number += 1
                words: dict[str, Any] = {"estimate": ("requested", "last-two", "history")[number % 3]}
                words |= {"mtbf_s": 40_000, "mttr_s": 900} if number % 4 == 0 else {}
                words |= {"max_wait_s": 5000} if number % 5 == 0 else {}
                try:
                    scheduler = resolve_scheduler(policy=policy, dispatch=dispatch, **words)
                except InputError:
                    continue
                simulation = Simulation(log.workload, log.cluster, scheduler)
                simulation.run(5 + 7 * (number % 6))

                def restore(content: bytes, log: Any = log) -> None:  # noqa: ANN401 - bound now, not later
                    restored = Simulation.restore(log.workload, log.cluster, content)
                    restored.estimates()
                    restored.run(STEPS)
                    restored.snapshot()

                def load(content: bytes, log: Any = log, scheduler: Scheduler = scheduler) -> None:  # noqa: ANN401
                    loaded = Simulation(log.workload, log.cluster, scheduler)
                    loaded.load(Snapshot.from_json(content.decode(errors="replace")))
                    loaded.decide()
                    loaded.run(STEPS)

                name = f"{policy}/{dispatch}/{words['estimate']}"
                yield Target(f"state {name} {spec[9:15]}", simulation.serialize(), restore, OF_STATES)
                yield Target(f"snapshot {name} {spec[9:15]}", simulation.snapshot().to_json().encode(), load, OF_JSON)
