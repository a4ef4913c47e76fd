"""What jobs of a queue find and do: their environment, limits, dependencies, arrays, retries, groups, and their end."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
import uuid
from itertools import pairwise
from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.execution.local.folder import QueueFolder
from shunter.execution.local.verbs import open_queue
from tests.execution.box import Box, is_alive, wait_for


def output(box: Box, job: int) -> str:
    return box.folder.output(job).read_text()


def test_a_job_has_its_command_folder_environment_and_output(box: Box, tmp_path: Path) -> None:
    [job] = box.submit(
        'pwd; echo "$SHUNTER_JOB_ID $SHUNTER_CORES"; echo wrong >&2; umask; exit 7', folder=str(tmp_path)
    )
    ended = {"id": job, "state": "failed", "code": 7, "signal": None, "cause": None, "error": None}
    assert box.wait(job)[job] == ended
    assert output(box, job).splitlines() == [str(tmp_path), f"{job} 1", "wrong", "0022"]
    told = box.show(job)
    assert told["attempts"] == 1
    assert told["submit_s"] <= told["start_s"] <= told["end_s"]
    assert told["chosen_by"]["policy"] == "fcfs"
    assert told["chosen_by"]["starts"] == [job]


def test_words_are_run_as_they_are(box: Box) -> None:
    [job] = box.submit(["printf", "%s|", "a b", "$HOME", "*"])
    box.wait(job)
    assert output(box, job) == "a b|$HOME|*|"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"command": ["no-such-program"]}, "no-such-program: command not found"),
        ({"command": ["true"], "folder": "/no/such/folder"}, "/no/such/folder: No such file or directory"),
    ],
)
def test_what_cannot_be_started_fails_with_the_reason(box: Box, words: dict[str, object], expected: str) -> None:
    [job] = box.submit(["true"], **words)
    assert box.wait(job)[job]["state"] == "failed"
    assert expected in box.show(job)["error"]


def test_cores_are_given_to_one_job_at_a_time(box: Box) -> None:
    jobs = box.submit(*["grep Cpus_allowed_list /proc/self/status; sleep 0.3"] * 4)
    box.wait(*jobs)
    shown = [output(box, job).split()[-1] for job in jobs]
    here = sorted(map(str, os.sched_getaffinity(0)))[:2]
    # On a busy machine one core may have three of them.
    assert set(shown) == set(here)
    spans = sorted((box.show(job)["start_s"], box.show(job)["end_s"]) for job in jobs)
    # The third starts when the first has ended.
    assert spans[2][0] >= min(spans[0][1], spans[1][1])


def test_a_job_that_can_never_run_is_refused(box: Box) -> None:
    with pytest.raises(InputError, match=r"can never run: it asks for 3 cores, and this queue has 2"):
        box.submit("true", cores=3)
    assert box.ask("list", most=10)["jobs"] == []


def test_a_job_is_ended_at_its_time_limit_with_all_that_it_started(box: Box, tmp_path: Path) -> None:
    children = tmp_path / "children"
    [job] = box.submit(f"setsid sleep 300 & echo $! > {children}; sleep 300", time_s=0.5)
    assert box.wait(job)[job]["state"] == "failed"
    assert box.show(job)["cause"] == "time-limit"
    assert not is_alive(int(children.read_text()))


def test_what_a_job_leaves_running_is_ended(box: Box, tmp_path: Path) -> None:
    children = tmp_path / "children"
    [job] = box.submit(f"setsid sleep 300 & echo $! > {children}")
    assert box.wait(job)[job]["state"] == "done"
    assert not is_alive(int(children.read_text()))


def test_a_job_that_holds_more_memory_than_it_asked_for_is_ended(box: Box) -> None:
    script = "import time; held = bytearray(300 << 20); time.sleep(60)"
    [job] = box.submit(["python3", "-c", script], memory_mb=200)
    box.wait(job)
    assert (box.show(job)["state"], box.show(job)["cause"]) == ("failed", "memory")


def test_memory_that_a_program_cannot_get_is_its_own_error(box: Box) -> None:
    [job] = box.submit(["python3", "-c", "bytearray(3 << 30)"], memory_mb=100)
    box.wait(job)
    assert box.show(job)["state"] == "failed"


def test_gpus_are_told_to_jobs_and_not_shared(tmp_path: Path) -> None:
    box = Box(tmp_path / "queue", gpus=2, cores=2)
    box.start()
    try:
        jobs = box.submit(*['echo "[$CUDA_VISIBLE_DEVICES]"; sleep 0.2'] * 2, gpus=1)
        [none] = box.submit('echo "[$CUDA_VISIBLE_DEVICES]"')
        [both] = box.submit('echo "[$CUDA_VISIBLE_DEVICES]"', gpus=2)
        box.wait()
        assert sorted(output(box, job) for job in jobs) == ["[0]\n", "[1]\n"]
        assert (output(box, none), output(box, both)) == ("[]\n", "[0,1]\n")
    finally:
        box.stop()


def test_a_job_waits_for_others_and_is_skipped_if_they_fail(box: Box) -> None:
    [good, bad] = box.submit("sleep 0.2", "sleep 0.2; exit 1")
    [after_good] = box.submit("true", after=[good])
    [after_bad] = box.submit("true", after=[good, bad])
    [behind_that] = box.submit("true", after=[after_bad])
    [anyway] = box.submit("true", after=[bad], after_mode="any")
    assert box.show(after_good)["waits_because"] == f"it waits for job {good}"
    ends = box.wait(after_good, after_bad, behind_that, anyway)
    states = {job: end["state"] for job, end in ends.items()}
    assert states[after_good] == states[anyway] == "done"
    assert states[after_bad] == states[behind_that] == "skipped"
    assert box.show(after_good)["start_s"] >= box.show(good)["end_s"]
    [late] = box.submit("true", after=[bad])
    assert box.show(late)["state"] == "skipped"
    with pytest.raises(InputError, match="after 999: there is no such job"):
        box.submit("true", after=[999])


def test_an_array_has_numbers_and_a_limit(tmp_path: Path) -> None:
    box = Box(tmp_path / "queue", cores=8)
    box.start()
    try:
        jobs = box.submit("echo $SHUNTER_ARRAY_INDEX; sleep 0.2", array="10-14%2")
        assert len(jobs) == 5
        box.wait(*jobs)
        assert [output(box, job) for job in jobs] == [f"{index}\n" for index in range(10, 15)]
        spans = [(box.show(job)["start_s"], box.show(job)["end_s"]) for job in jobs]
        assert max(sum(start <= one < end for start, end in spans) for one, _ in spans) == 2
    finally:
        box.stop()


def test_a_job_that_fails_is_tried_again(box: Box, tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    [job] = box.submit(f'echo x >> {lines}; [ "$(wc -l < {lines})" = 3 ]', retries=5)
    [hopeless] = box.submit("exit 4", retries=1)
    ends = box.wait(job, hopeless)
    assert (ends[job]["state"], ends[hopeless]["state"], ends[hopeless]["code"]) == ("done", "failed", 4)
    assert [one["code"] for one in box.show(job)["tried"]] == [1, 1, 0]
    assert box.show(hopeless)["attempts"] == 2


def test_groups_are_limited_and_paused(box: Box) -> None:
    box.ask("limit", group="one", most_running=1)
    box.ask("pause", group="two")
    ones = box.submit(*["sleep 0.2"] * 3, group="one")
    [two] = box.submit("true", group="two")
    box.wait(*ones)
    spans = sorted((box.show(job)["start_s"], box.show(job)["end_s"]) for job in ones)
    assert all(earlier[1] <= later[0] for earlier, later in pairwise(spans))
    assert "its group two is paused" in box.show(two)["waits_because"]
    box.ask("resume", group="two")
    assert box.wait(two)[two]["state"] == "done"


def test_a_paused_queue_starts_nothing_and_held_jobs_wait(box: Box) -> None:
    box.ask("pause")
    [job] = box.submit("true")
    [held] = box.submit("true", hold=True)
    time.sleep(0.3)
    assert box.show(job)["state"] == "queued"
    box.ask("resume")
    box.wait(job)
    assert box.show(held)["state"] == "held"
    box.ask("release", jobs=[held])
    assert box.wait(held)[held]["state"] == "done"


def test_higher_priorities_go_first_and_can_be_edited(box: Box) -> None:
    box.ask("pause")
    jobs = box.submit(*["true"] * 4, cores=2)
    [urgent] = box.submit("true", cores=2, priority=5)
    box.ask("edit", jobs=[jobs[3]], priority=9)
    box.ask("resume")
    box.wait()
    order = sorted([*jobs, urgent], key=lambda job: box.show(job)["start_s"])
    assert order == [jobs[3], urgent, *jobs[:3]]


def test_cancelled_jobs_end_with_all_that_they_started(box: Box, tmp_path: Path) -> None:
    mark = tmp_path / "begun"
    [job] = box.submit(f"trap 'exit 0' TERM; setsid sleep 300 & echo $! > {mark}; wait")
    [waiting] = box.submit("true", after=[job], after_mode="any")
    wait_for(mark)
    time.sleep(0.05)
    box.ask("cancel", jobs=[job])
    ends = box.wait(job, waiting)
    assert (ends[job]["state"], ends[waiting]["state"]) == ("cancelled", "done")
    assert not is_alive(int(mark.read_text()))
    with pytest.raises(InputError, match=f"job {job} cannot be cancelled: it is cancelled already"):
        box.ask("cancel", jobs=[job])


def test_a_supervisor_that_is_killed_leaves_nothing_running_and_the_job_is_lost(box: Box, tmp_path: Path) -> None:
    mark = tmp_path / "begun"
    [job] = box.submit(f"echo $$ >> {mark}; setsid sleep 300 & echo $! >> {mark}; wait")
    wait_for(mark)
    time.sleep(0.1)
    os.kill(box.supervisor(job), signal.SIGKILL)
    assert box.wait(job)[job]["state"] == "lost"
    assert not any(is_alive(int(process)) for process in mark.read_text().split())
    assert len(box.show(job)["tried"]) == 1


def test_a_lost_job_runs_again_only_if_that_was_chosen(box: Box, tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    [job] = box.submit(f"echo $$ >> {lines}; exec sleep 300", on_lost="requeue")
    wait_for(lines)
    os.kill(box.supervisor(job), signal.SIGKILL)
    deadline = time.monotonic() + 30
    while len(lines.read_text().split()) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    first, second = map(int, lines.read_text().split())
    assert not is_alive(first)
    assert is_alive(second)
    assert [one["state"] for one in box.show(job)["tried"]] == ["lost", "started"]
    box.ask("cancel", jobs=[job])
    assert box.wait(job)[job]["state"] == "cancelled"


def test_jobs_go_on_while_the_daemon_is_dead_and_are_found_again(box: Box, tmp_path: Path) -> None:
    lines, go_on = tmp_path / "lines", tmp_path / "go on"
    until = f"while [ ! -e '{go_on}' ]; do sleep 0.02; done"
    [long, short] = box.submit(f"echo long >> {lines}; {until}; exit 5", f"echo short >> {lines}; sleep 0.1; exit 6")
    [behind] = box.submit(f"echo behind >> {lines}")
    while not lines.exists() or len(lines.read_text().split()) < 2:
        time.sleep(0.01)
    box.kill()
    deadline = time.monotonic() + 30
    while not list(box.folder.attempts.glob("*.end")) and time.monotonic() < deadline:
        time.sleep(0.01)
    box.start()
    told = box.show(long)
    assert (told["state"], told["attempts"]) == ("running", 1)
    go_on.touch()
    ends = box.wait(long, short, behind)
    assert (ends[long]["code"], ends[short]["code"], ends[behind]["code"]) == (5, 6, 0)
    assert sorted(lines.read_text().split()) == ["behind", "long", "short"]


def test_a_daemon_that_is_stopped_by_a_signal_goes_on_where_it_was(box: Box) -> None:
    jobs = box.submit(*["sleep 0.1"] * 4)
    assert box.process is not None
    box.process.send_signal(signal.SIGSTOP)
    time.sleep(0.5)
    box.process.send_signal(signal.SIGCONT)
    assert {one["state"] for one in box.wait(*jobs).values()} == {"done"}


def test_the_spawner_may_be_killed(box: Box) -> None:
    box.wait(*box.submit("true"))
    assert box.process is not None
    [spawner] = subprocess.check_output(["pgrep", "-P", str(box.process.pid)], text=True).split()
    [running] = box.submit("sleep 0.5; exit 3")
    box.until(running, "running")
    os.kill(int(spawner), signal.SIGKILL)
    jobs = box.submit("true", "true")
    ends = box.wait(running, *jobs)
    assert [ends[job]["code"] for job in (running, *jobs)] == [3, 0, 0]
    assert [ends[job]["state"] for job in jobs] == ["done", "done"]


def test_decisions_go_on_after_jobs_with_gpus_and_on_a_smaller_machine(tmp_path: Path) -> None:
    box = Box(tmp_path / "queue", cores=4, gpus=2, memory_mb=1000)
    box.start()
    try:
        jobs = [*box.submit("true", gpus=2, memory_mb=900), *box.submit("true", cores=4)]
        box.wait()
        [running] = box.submit("exec sleep 300", cores=3, gpus=1, memory_mb=900)
        box.until(running, "running")
        box.kill()
        box.changes = {"cores": 2, "gpus": 0, "memory_mb": 500}
        box.start()
        [small] = box.submit("true")
        # Those that have ended, and the one that runs, are larger than what there is now.
        box.ask("cancel", jobs=[running])
        assert {one["state"] for one in box.wait(*jobs, small).values()} == {"done"}
        status = box.ask("status")
        assert (status["policy_failures"], status["last_failure"]) == (0, None)
    finally:
        box.stop()


def test_a_long_chain_is_skipped_to_its_end(tmp_path: Path) -> None:
    folder = QueueFolder(tmp_path / "queue", "queue")
    folder.make()
    length = 2 * sys.getrecursionlimit()
    with selectors.DefaultSelector() as selector:
        verbs = open_queue(folder, {"cores": 2}, selector)

        def submit(after: list[int]) -> int:
            spec = {"command": ["true"], "folder": "/tmp", "after": after}
            added: list[int] = verbs.submit([spec], {}, 0o022, uuid.uuid4().hex)["jobs"]
            return added[0]

        first = last = submit([])
        for _ in range(length):
            last = submit([last])
        # One that waits for two jobs of the chain is skipped once.
        submit([last - 1, last])
        verbs.cancel([first])
        assert (verbs.queue.counts["cancelled"], verbs.queue.counts["skipped"]) == (1, length + 1)
        assert verbs.show(last)["error"] == f"job {last - 1}, which it waits for, did not succeed"
        verbs.queue.close()
