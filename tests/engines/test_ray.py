"""Tasks on a Ray cluster of two workers: the same results as here, deaths, interruptions, refusals, and who may listen.

One cluster serves the whole file: to start it takes seconds.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import shunter
from shunter.agents.training.request import TrainRequest
from shunter.comparison import spreading
from shunter.engines import ray_cluster
from shunter.engines.base import Done, Failed
from shunter.engines.choice import check_on, engine_on
from shunter.engines.ray_cluster import RayEngine
from shunter.errors import InputError
from shunter.studies.seeds import train_seeds
from shunter.studies.study import run_study
from shunter.studies.study_file import read_study
from tests.engines.tasks import dies, dies_always, picky, process_id, square, works_until_asked
from tests.studies.small import STUDY, write_study

# Not imported here: Ray is told to keep to this machine before it is.
pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is an extra: pip install 'shunter[ray]'")
LOG = "generate:lublin?seed=3&jobs=1200&cores=64&load=1.1"
POLICY = """
import os, time
import shunter

class Mine(shunter.Policy):
    moves = False

    def score(self, queue):
        mark = {mark!r}
        if mark and not os.path.exists(mark):
            with open(mark + ".new", "w") as file:
                file.write(str(os.getpid()))
            os.rename(mark + ".new", mark)
            time.sleep(120)
        return queue.estimate_s * queue.cores
"""


@pytest.fixture(scope="module")
def engine() -> Iterator[RayEngine]:
    """A cluster of two workers on this machine."""
    with engine_on("ray", 2) as found:
        assert isinstance(found, RayEngine)
        yield found


@pytest.fixture
def short_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets chunks be so short that a small comparison has many: some with several contenders, some with few windows."""
    monkeypatch.setattr(spreading, "LEAST_S", 0.002)
    monkeypatch.setattr(spreading, "MOST_S", 0.01)


def without_times(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Returns an object without what differs from run to run: how long it took."""
    if isinstance(value, dict):
        return {key: without_times(each) for key, each in value.items() if key not in ("seconds", "elapsed_s")}
    return [without_times(each) for each in value] if isinstance(value, list) else value


def test_results_have_the_order_of_the_tasks_and_failures_stay_apart(engine: RayEngine) -> None:
    told: list[int] = []
    assert engine.workers == 2
    assert engine.map(square, [1, 2, 3], lambda place, _: told.append(place)) == [Done(1), Done(4), Done(9)]
    assert sorted(told) == [0, 1, 2]
    good, mended, fault = engine.map(picky, [0, 1, 2], alone=False)
    assert (good, mended) == (Done(0), Failed("number is 1; expected another of two lines"))
    assert isinstance(fault, Failed)
    assert fault.reason == "ZeroDivisionError: by hand"
    assert "in picky" in fault.detail
    assert engine.map(square, []) == []


def test_a_task_that_is_alone_has_a_fresh_process(engine: RayEngine) -> None:
    ran = [one.value for one in engine.map(process_id, [0, 1, 2]) if isinstance(one, Done)]
    assert len(set(ran)) == 3
    assert os.getpid() not in ran


def test_a_worker_that_dies_is_replaced_and_a_task_that_kills_two_has_failed(engine: RayEngine, tmp_path: Path) -> None:
    assert engine.map(dies, [tmp_path / "mark"], alone=False) == [Done("lived")]
    (found,) = engine.map(dies_always, [tmp_path / "deaths"], alone=False)
    assert isinstance(found, Failed)
    assert found.reason.startswith("its worker died 2 times, the last time with ")
    assert (tmp_path / "deaths").read_text() == "xx"


def test_what_is_shared_is_sent_once(engine: RayEngine) -> None:
    value = [1, 2, 3]
    shared = engine.share(value)
    assert shared.get() == value
    assert engine.share(value) is shared
    assert engine.share([1, 2, 3]).key != shared.key


@pytest.mark.slow
@pytest.mark.usefixtures("short_chunks")
def test_a_comparison_is_the_same_to_the_last_digit(engine: RayEngine, tmp_path: Path) -> None:
    own = tmp_path / "mine.py"
    own.write_text(POLICY.format(mark=""))
    tuned = tmp_path / "tuned.toml"
    tuned.write_text('[policy]\nkind = "hybrid"\naging = 0.5\n')
    terms: dict[str, Any] = {"policy": ["fcfs", "sjf", "las", str(own), str(tuned)], "dispatch": [None, "conservative"]}
    terms |= {"windows": 6, "length": 64, "warmup": 8, "metric": "preemptions", "placement": "best-fit"}
    told: list[tuple[int, int]] = []
    here = shunter.compare(LOG, **terms)
    there = shunter.compare(LOG, **terms, on=engine, progress=lambda *done: told.append(done))
    assert without_times(there.to_json()) == without_times(here.to_json())
    assert there.rows() == here.rows()
    assert told[-1] == (len(there.scored), len(there.scored))
    assert told == sorted(told)


@pytest.mark.slow
@pytest.mark.usefixtures("short_chunks")
def test_a_tuning_is_the_same_to_the_last_digit(engine: RayEngine, tmp_path: Path) -> None:
    terms: dict[str, Any] = {"windows": 4, "length": 48, "warmup": 8, "generations": 2, "population": 4}
    terms |= {"report_windows": 2, "estimate": "last-two", "out": tmp_path / "tuned.toml"}
    here = shunter.tune(LOG, **terms).to_json()
    there = shunter.tune(LOG, **terms, on=engine).to_json()
    assert without_times(there) == without_times(here)


def test_a_comparison_outlives_a_worker_that_is_killed(engine: RayEngine, tmp_path: Path) -> None:
    own, mark = tmp_path / "mine.py", tmp_path / "mark"
    own.write_text(POLICY.format(mark=str(mark)))
    terms: dict[str, Any] = {"policy": ["fcfs", str(own)], "windows": 4, "length": 64}
    killer = threading.Thread(target=_kill_when_begun, args=(mark,), daemon=True)
    killer.start()
    there = shunter.compare(LOG, **terms, on=engine)
    killer.join()
    assert int(mark.read_text()) != os.getpid()
    assert without_times(there.to_json()) == without_times(shunter.compare(LOG, **terms).to_json())


def _kill_when_begun(mark: Path) -> None:
    while not mark.exists():
        time.sleep(0.05)
    os.kill(int(mark.read_text()), signal.SIGKILL)


def test_what_fails_in_a_worker_is_one_line(engine: RayEngine, tmp_path: Path) -> None:
    own = tmp_path / "mine.py"
    own.write_text(POLICY.format(mark="").replace("return", "return 1 / 0 *"))
    with pytest.raises(InputError, match=r"mine\.py:\d+: ZeroDivisionError: division by zero"):
        shunter.compare(LOG, policy=str(own), windows=2, length=32, on=engine)


def files_of(folder: Path) -> dict[str, bytes]:
    """Returns the weights of all checkpoints in a folder."""
    return {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("policy.safetensors")}


@pytest.mark.slow
def test_seeds_and_studies_are_the_same(engine: RayEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_study(tmp_path, STUDY.replace("seeds = 2", "seeds = 1"))
    for name, on in (("here", "local"), ("there", engine)):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        # As if workers could be on another machine: they find out that they share the disk.
        report = run_study(read_study(file, Path("study")), on=on if on == "local" else replace(engine, is_here=False))
        assert not report.failed
        request = TrainRequest(_sections(file), "quick", out=Path("seeds"))
        assert not train_seeds(request, [0, 1], on=on).failed
    here, there = tmp_path / "here", tmp_path / "there"
    assert len(files_of(here)) >= 6
    assert files_of(there) == files_of(here)
    assert (there / "seeds/seed-1/config.toml").read_bytes() == (here / "seeds/seed-1/config.toml").read_bytes()
    for name in ("study/study.json", "seeds/seeds.json", "seeds/seed-1/result.json"):
        ours, theirs = (without_times(json.loads((one / name).read_bytes())) for one in (here, there))
        assert ours == theirs
    monkeypatch.chdir(there)
    assert run_study(read_study(file, Path("study")), on=engine).to_json() == report.to_json(), "done is done"


def _sections(file: Path) -> dict[str, dict[str, Any]]:
    """Returns what a study says of its trainings."""
    study = read_study(file)
    (variant,), (log,) = study.variants.values(), study.logs.values()
    return {**variant, **log}


def test_who_interrupts_lets_tasks_save(engine: RayEngine, tmp_path: Path) -> None:
    path = tmp_path / "task"
    timer = threading.Thread(target=_interrupt_when_begun, args=(path,), daemon=True)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        engine.map(works_until_asked, [path, tmp_path / "other", tmp_path / "third"])
    timer.join()
    assert path.with_suffix(".saved").read_text() == "saved"
    assert engine.map(square, [3], alone=False) == [Done(9)], "the cluster is as it was"


def _interrupt_when_begun(path: Path) -> None:
    while not (path.exists() and path.read_text()):
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)


def test_another_build_is_refused(engine: RayEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_cluster, "build", lambda: "0.0.1+another")
    with pytest.raises(InputError, match=r"has another build of Shunter \(.+\) than this one \(0\.0\.1\+another\)"):
        engine.map(square, [2])


def test_nobody_but_this_machine_can_reach_the_cluster(engine: RayEngine) -> None:
    assert engine.map(square, [2], alone=False) == [Done(4)]
    listening = _addresses_of(_descendants(os.getpid()))
    assert len(listening) >= 4, "the servers of Ray have not been found"
    assert set(listening) <= {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


def _descendants(process: int) -> set[int]:
    """Returns a process and all that it has started, directly or not."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found, grown = {process}, True
    while grown:
        more = {child for child, parent in parents.items() if parent in found} - found
        found, grown = found | more, bool(more)
    return found


def _addresses_of(processes: set[int]) -> list[str]:
    """Returns the addresses at which processes listen, as the kernel writes them."""
    sockets = set()
    for process in processes:
        for link in Path(f"/proc/{process}/fd").glob("*"):
            try:
                sockets.add(os.readlink(link))
            except OSError:
                continue
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return [row[1].split(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets]


@pytest.mark.slow
def test_a_place_that_cannot_be_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"unknown place \(--on\) 'rya'; did you mean 'ray'\?"):
        check_on("rya")
    with pytest.raises(InputError, match="expected local, ray, HOST:PORT"):
        check_on("127.0.0.1:port")
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(InputError, match=f"--on {address}: nobody answers there"):
        shunter.compare("no log is read", on=address)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"--on ray needs Ray: pip install 'shunter\[ray\]'"):
        check_on("ray")


@pytest.mark.slow
def test_a_server_that_is_not_ray_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_greet, args=(server,), daemon=True).start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(InputError, match=f"--on {address}: what answers there is not Ray"):
            check_on(address)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setattr(ray_cluster, "ANSWER_S", 0.2)
        with pytest.raises(InputError, match="nobody answers there"):
            check_on(f"ray://127.0.0.1:{silent.getsockname()[1]}")


def _greet(server: socket.socket) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(1024)
        connection.sendall(b"SSH-2.0-none\r\n")
