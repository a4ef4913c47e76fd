"""Whatever is wrong, the plugin for LSF leaves the order to LSF, and says so."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.abi.test_c_program import watched
from tests.agents.untrained import opinionated, write_host_policy, write_policy
from tests.plugins.lsf_host import FOLDER, NOW_S, Block, Built, Emulation, Host, Scene, counted, write_conf

OWN_ORDER = [0, 1, 2, 3]
BY_LENGTH = [2, 1, 3, 0]
SCENE = Scene(
    (Host("h0", 16, 64_000), Host("h1", 16, 64_000)),
    tuple(Block(1, 100, 1, NOW_S - 1000 + limit_s % 7, limit_s) for limit_s in (4000, 2000, 1000, 3000)),
)
PATIENCE_S = 20.0
"""How long a change of a file may take to be seen on a busy machine."""


@contextmanager
def emulated(built: Built, tmp_path: Path, **settings: object) -> Iterator[Emulation]:
    """Yields the emulation under some settings; afterwards no file was opened in a cycle."""
    conf = write_conf(
        tmp_path / "conf", **{"status_file": tmp_path / "status", "watch_s": 0.05, "budget_ms": 5000} | settings
    )
    with Emulation(built, SCENE.write(tmp_path / "scene"), conf) as emulation:
        yield emulation
        assert emulation.end()[0] == 0


def order(emulation: Emulation) -> list[int]:
    """Runs a cycle, and returns the blocks that were tried; then all is as it was before."""
    tries = [one.block for one in emulation.cycle()]
    emulation.ask("clear")
    return tries


def wait_for(emulation: Emulation, expected: Callable[[list[int]], bool]) -> None:
    """Runs cycles until one is as expected."""
    end = time.monotonic() + PATIENCE_S
    while not expected(order(emulation)):
        assert time.monotonic() < end, "the change was not seen"
        time.sleep(0.05)


def test_only_lsf_entry_points_are_visible(built: Built) -> None:
    if shutil.which("nm") is None:
        pytest.skip("nm is not installed")
    told = subprocess.run(["nm", "-D", "--defined-only", str(built.plugin)], capture_output=True, text=True, check=True)
    names = {line.split()[-1] for line in told.stdout.splitlines()}
    phases = ("version", "init", "pre_proc", "match_limit", "order_alloc", "post_proc", "finalize")
    assert names == {f"sched_{phase}" for phase in phases}


def test_an_installed_plugin_searches_no_folder_for_libraries(tmp_path: Path) -> None:
    """Whoever owns such a folder could put code into mbschd."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    told = subprocess.run(
        ["make", "--dry-run", "-C", str(FOLDER), f"BUILD={tmp_path}"], capture_output=True, text=True, check=True
    )
    assert "schmod_shunter.so" in told.stdout
    assert "libshunter_core.a" in told.stdout
    assert "rpath" not in told.stdout


def test_without_settings_the_order_is_lsf_own(built: Built, tmp_path: Path) -> None:
    with Emulation(built, SCENE.write(tmp_path / "scene"), tmp_path / "missing") as emulation:
        assert order(emulation) == OWN_ORDER
        assert "cannot be read" in emulation.end()[1]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("nonsense = 1", "there is no key 'nonsense'"),
        ("budget_ms = soon", "budget_ms cannot be 'soon'"),
        ("budget_ms = nan", "budget_ms cannot be 'nan'"),
        ("policy", "is no line of the form key = value"),
        ("policy = nonsense", "there is no policy of the name"),
        ("policy = srtf", "does not order blocks"),
        ("policy = linear", "parameters of the policy"),
        ("placement = nonsense", "there is no placement of the name"),
        ("checkpoint = /nowhere/at/all", "cannot be read"),
        ("", "gives neither policy, checkpoint, placement nor host_checkpoint"),
    ],
)
def test_wrong_settings_are_refused_with_one_line(built: Built, tmp_path: Path, line: str, words: str) -> None:
    conf = tmp_path / "conf"
    conf.write_text(f"status_file = {tmp_path / 'status'}\n{line}\n")
    conf.chmod(0o600)
    with Emulation(built, SCENE.write(tmp_path / "scene"), conf) as emulation:
        assert order(emulation) == OWN_ORDER
        _, log = emulation.end()
    assert words in log
    assert "LSF's own order" in log


def test_counters_that_cannot_be_written_are_told_once_and_the_policy_decides(built: Built, tmp_path: Path) -> None:
    conf = write_conf(tmp_path / "conf", policy="sjf", status_file="/nowhere/status", watch_s=0.05, budget_ms=5000)
    with Emulation(built, SCENE.write(tmp_path / "scene"), conf) as emulation:
        assert order(emulation) == BY_LENGTH
        time.sleep(0.3)
        assert order(emulation) == BY_LENGTH
        log = emulation.end()[1].splitlines()
    assert "log: shunter: policy loaded" in log
    told = [line for line in log if "status_file /nowhere/status: cannot be written (No such file" in line]
    assert len(told) == 1


def test_the_host_program_refuses_what_there_is_not(built: Built, tmp_path: Path) -> None:
    conf = write_conf(tmp_path / "conf", policy="sjf")
    with Emulation(built, SCENE.write(tmp_path / "scene"), conf) as emulation:
        emulation.ask("end 5")
        emulation.ask("end -1")
        emulation.ask("nonsense")
        assert order(emulation) == BY_LENGTH
        log = emulation.end()[1]
    assert "end 5: there is no such job; 0 run" in log
    assert "end -1: there is no such job" in log
    assert "not understood: nonsense" in log


def test_switching_off_and_on_needs_no_restart(built: Built, tmp_path: Path) -> None:
    with emulated(built, tmp_path, policy="sjf") as emulation:
        assert order(emulation) == BY_LENGTH
        told = {"policy": "sjf", "status_file": tmp_path / "status", "watch_s": 0.05}
        write_conf(tmp_path / "conf", **told, enabled="no")
        wait_for(emulation, lambda tries: tries == OWN_ORDER)
        write_conf(tmp_path / "conf", **told)
        wait_for(emulation, lambda tries: tries == BY_LENGTH)
    numbers = counted(tmp_path / "status")
    assert numbers["loads_total"] == 2
    assert numbers["refused_total"] == 0


def damage(folder: Path) -> None:
    """Changes a byte in the middle of the weights."""
    path = folder / "policy.safetensors"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def remove(folder: Path) -> None:
    """Removes one of the files."""
    (folder / "policy.json").unlink()


def share(folder: Path) -> None:
    """Lets the group write the weights."""
    (folder / "policy.safetensors").chmod(0o664)


def open_to_all(folder: Path) -> None:
    """Lets all write into the folder."""
    folder.chmod(0o777)


def give_away(folder: Path) -> None:
    """Gives the description to another user."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    os.chown(folder / "policy.json", 12_345, -1)


CHANGES = (damage, remove, share, open_to_all, give_away)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("key", ["checkpoint", "host_checkpoint"])
def test_a_checkpoint_that_is_not_sound_is_not_taken(
    built: Built, tmp_path: Path, key: str, change: Callable[[Path], None]
) -> None:
    folder = checkpoint(tmp_path / "policy", key)
    change(folder)
    with emulated(built, tmp_path, policy="sjf", **{key: folder}) as emulation:
        assert order(emulation) == OWN_ORDER
    numbers = counted(tmp_path / "status")
    assert (numbers["refused_total"], numbers["loads_total"], numbers["planned_total"]) == (1, 0, 0)
    assert numbers["own_order_total"] == len(OWN_ORDER)


def checkpoint(folder: Path, key: str) -> Path:
    """Writes a checkpoint of the kind that a setting names."""
    if key == "checkpoint":
        return Path(write_policy(folder, order="sjf", window=8))
    return Path(write_host_policy(folder, opinionated))


@pytest.mark.parametrize("change", CHANGES)
def test_a_checkpoint_that_goes_bad_is_dropped_and_a_good_one_taken_up(
    built: Built, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    folder = checkpoint(tmp_path / "policy", "checkpoint")
    with emulated(built, tmp_path, policy="sjf", checkpoint=folder) as emulation:
        # The network begins as its order, so that it does the same.
        assert order(emulation) == BY_LENGTH
        change(folder)
        wait_for(emulation, lambda tries: tries == OWN_ORDER)
        shutil.rmtree(folder)
        checkpoint(folder, "checkpoint")
        wait_for(emulation, lambda tries: tries == BY_LENGTH)
    numbers = counted(tmp_path / "status")
    assert numbers["loads_total"] >= 2
    assert numbers["refused_total"] >= 1
    assert numbers["failed_total"] == 0


def test_a_checkpoint_is_replaced_while_cycles_run(built: Built, tmp_path: Path) -> None:
    """One folder takes the other's place; the new one decides otherwise."""
    folder = checkpoint(tmp_path / "policy", "checkpoint")
    with emulated(built, tmp_path, policy="sjf", checkpoint=folder) as emulation:
        before = order(emulation)
        # With this seed it prefers other jobs than the first one does.
        write_policy(tmp_path / "next", order="sjf", window=8, change=partial(opinionated, seed=4))
        folder.rename(tmp_path / "old")
        (tmp_path / "next").rename(folder)
        wait_for(emulation, lambda tries: tries not in (before, OWN_ORDER))
    assert counted(tmp_path / "status")["loads_total"] >= 2


def test_a_decision_that_is_late_is_lsf_own_and_opens_the_breaker(built: Built, tmp_path: Path) -> None:
    settings = {"policy": "sjf", "budget_ms": 0.001, "breaker_failures": 3, "breaker_s": 3600}
    with emulated(built, tmp_path, **settings) as emulation:
        assert [order(emulation) for _ in range(5)] == [OWN_ORDER] * 5
    numbers = counted(tmp_path / "status")
    assert (numbers["late_total"], numbers["breaker_trips_total"], numbers["breaker_open"]) == (3, 1, 1)
    assert (numbers["planned_total"], numbers["cycles_own_order_total"], numbers["deciding"]) == (0, 5, 0)


def test_a_probe_closes_the_breaker_or_opens_it_again(built: Built, tmp_path: Path) -> None:
    settings = {"policy": "sjf", "budget_ms": 0.001, "breaker_failures": 2, "breaker_s": 0}
    with emulated(built, tmp_path, **settings) as emulation:
        assert [order(emulation) for _ in range(5)] == [OWN_ORDER] * 5
        # Two failures open it; each probe fails, and opens it again.
        wait_for(emulation, lambda _: counted(tmp_path / "status")["breaker_trips_total"] >= 4)
        write_conf(
            tmp_path / "conf", **settings | {"budget_ms": 5000, "status_file": tmp_path / "status", "watch_s": 0.05}
        )
        wait_for(emulation, lambda tries: tries == BY_LENGTH)
    assert counted(tmp_path / "status")["breaker_open"] == 0


@pytest.mark.every(4)
@pytest.mark.parametrize("case", ["sjf", "learned", "worst-fit", "learned-hosts"])
def test_200_cycles_are_clean_under_valgrind(built: Built, tmp_path: Path, case: str) -> None:
    settings: dict[str, object] = {"policy": "sjf"}
    if case == "learned":
        settings["checkpoint"] = write_policy(tmp_path / "policy", change=opinionated, order="sjf")
    elif case == "learned-hosts":
        settings["host_checkpoint"] = write_host_policy(tmp_path / "policy", opinionated)
    elif case != "sjf":
        settings["placement"] = case
    conf = write_conf(tmp_path / "conf", **settings, budget_ms=60_000, watch_s=0.05, status_file=tmp_path / "status")
    command = [*watched(tmp_path), str(built.program), str(built.plugin), "bench", "200", "20", "100", "12", "1"]
    environment = {**os.environ, "SHUNTER_LSF_CONF": str(conf)}
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False, env=environment)
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout.splitlines()[-1] == "forbidden 0"
    numbers = counted(tmp_path / "status")
    assert numbers["cycles_total"] == 200
    assert numbers["failed_total"] == numbers["late_total"] == 0
    assert numbers["planned_total"] > 200
