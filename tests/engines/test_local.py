"""Tasks in processes: their order, failures, deaths, and what an interrupted user leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from shunter.engines.base import Done, Failed
from shunter.engines.local import LocalEngine
from tests.engines.tasks import dies, dies_always, picky, square, works_until_asked


def test_results_have_the_order_of_the_tasks_whoever_ends_first() -> None:
    told: list[tuple[int, object]] = []
    found = LocalEngine(workers=2).map(square, [1, 2, 3], lambda place, outcome: told.append((place, outcome)))
    assert found == [Done(1), Done(4), Done(9)]
    assert sorted(told, key=lambda one: one[0]) == list(enumerate(found))
    assert LocalEngine().map(square, []) == []


def test_a_task_that_fails_does_not_stop_the_others() -> None:
    good, mended, fault = LocalEngine(workers=3).map(picky, [0, 1, 2])
    assert good == Done(0)
    assert mended == Failed("number is 1; expected another of two lines")
    assert isinstance(fault, Failed)
    assert fault.reason == "ZeroDivisionError: by hand"
    assert "in picky" in fault.detail


def test_a_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    assert LocalEngine().map(dies, [tmp_path / "mark"]) == [Done("lived")]


def test_a_task_whose_workers_die_has_failed(tmp_path: Path) -> None:
    (found,) = LocalEngine(retries=2).map(dies_always, [tmp_path / "deaths"])
    assert isinstance(found, Failed)
    assert found.reason.startswith("its process died 3 times, the last time with signal 9")
    assert (tmp_path / "deaths").read_text() == "xxx"


def test_who_interrupts_lets_tasks_save(tmp_path: Path) -> None:
    path = tmp_path / "task"
    timer = threading.Thread(target=_interrupt_when_begun, args=(path,), daemon=True)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        LocalEngine().map(works_until_asked, [path, path])
    timer.join()
    assert path.with_suffix(".saved").read_text() == "saved"
    with pytest.raises(ProcessLookupError):
        os.kill(int(path.read_text()), 0)


def _interrupt_when_begun(path: Path) -> None:
    while not (path.exists() and path.read_text()):
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)


def test_workers_end_with_an_engine_that_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "task"
    program = tmp_path / "program.py"
    program.write_text(
        "from pathlib import Path\n"
        "from shunter.engines.local import LocalEngine\n"
        "from tests.engines.tasks import works_until_asked\n"
        "if __name__ == '__main__':\n"
        f"    LocalEngine().map(works_until_asked, [Path({str(path)!r})])\n"
    )
    root = str(Path(__file__).parents[2])
    with subprocess.Popen([sys.executable, str(program)], env={**os.environ, "PYTHONPATH": root}) as engine:
        while not (path.exists() and path.read_text()):
            time.sleep(0.05)
        engine.kill()
    worker = int(path.read_text())
    until = time.monotonic() + 10
    while _is_alive(worker) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _is_alive(worker), "the worker outlives its engine"
    assert not path.with_suffix(".saved").exists()


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
        # Dead, and not yet counted as such by whoever inherited it.
        return " Z " not in Path(f"/proc/{process}/stat").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False
