"""The plugin for LSF decides as Python does in the same state."""

from __future__ import annotations

import importlib.util
import itertools
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from shunter.errors import InputError
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import decide
from tests.agents.untrained import most_free_cores, opinionated, write_host_policy, write_policy
from tests.plugins.lsf_host import (
    FOLDER,
    NOW_S,
    Block,
    Built,
    Emulation,
    Host,
    Run,
    Scene,
    Try,
    counted,
    state_of,
    write_conf,
)

POLICIES = (
    "fcfs",
    "lcfs",
    "sjf",
    "ljf",
    "smallest",
    "saf",
    "wfp3",
    "unicef",
    "f1",
    "priority",
    "fair-share",
    "linear?estimate=0.3&size=0.7&wait=-0.4&free_size=0.2",
)


def configure() -> ModuleType:
    """Returns the program that writes settings."""
    spec = importlib.util.spec_from_file_location("configure", FOLDER / "configure.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def drawn_scene(seed: int, *, blocks: int = 25) -> Scene:
    """Returns a cluster on which much runs, and a queue."""
    draw = random.Random(seed)
    hosts = tuple(Host(f"h{number}", draw.choice((8, 16)), draw.choice((16_000, 32_000))) for number in range(12))
    queue = tuple(
        Block(
            slots := draw.choice((1, 1, 2, 4, 8, 24)),
            slots * draw.choice((0, 500, 1000)),
            draw.randint(1, 6),
            # No two at one instant: the order of equals is a matter of the table.
            NOW_S - 60 * draw.randint(1, 2000) - number,
            60 * draw.randint(1, 600) + number,
            draw.randint(0, 1000) * 100 + number,
            draw.choice(("ann", "bob", "eve")),
        )
        for number in range(blocks)
    )
    runs = []
    for host, one in enumerate(hosts):
        left = one.slots
        while left > 0 and draw.random() < 0.8:
            slots = draw.randint(1, left)
            # Nobody tells since when those run that ran before the plugin was loaded: they count from then on.
            runs.append(Run(draw.randrange(blocks), NOW_S - draw.randint(0, 3000), NOW_S, host, slots, slots * 500))
            left -= slots
    return Scene(hosts, queue, tuple(runs))


def first_times(blocks: Sequence[int]) -> list[int]:
    """Returns each block once, in the order of their first turns."""
    return list(dict.fromkeys(blocks))


@pytest.mark.every(4)
@pytest.mark.parametrize("policy", POLICIES)
def test_blocks_are_tried_in_the_order_of_a_classic(built: Built, tmp_path: Path, policy: str) -> None:
    for seed in range(3):
        scene = drawn_scene(seed)
        settings = configure().settings_of(policy)
        conf = write_conf(tmp_path / "conf", **settings, budget_ms=10_000, status_file=tmp_path / "status")
        with Emulation(built, scene.write(tmp_path / "scene"), conf) as emulation:
            tries = emulation.cycle()
            assert emulation.end()[0] == 0
        state = state_of(scene)
        decision = decide(state.snapshot, state.workload, state.cluster, resolve_scheduler(policy=policy))
        assert first_times([one.block for one in tries]) == first_times([state.block_of[job] for job in decision.order])
        numbers = counted(tmp_path / "status")
        assert (numbers["failed_total"], numbers["late_total"], numbers["own_order_total"]) == (0, 0, 0)


def expected_tries(turns: Sequence[int], scene: Scene, tries: Sequence[Try]) -> Iterator[int]:
    """Yields who is to be tried: as decided, then in the scheduler's own order; what became of tries is as it was."""
    pending = {number: block.pending for number, block in enumerate(scene.blocks)}
    left = list(turns)
    for one in tries:
        while left and left[0] not in pending:
            left.pop(0)
        yield left.pop(0) if left else min(pending)
        pending[one.block] -= bool(one.places)
        if not one.places or pending[one.block] == 0:
            del pending[one.block]
    assert not pending


@pytest.mark.parametrize("options", [{}, {"mode": "feasible"}, {"mode": "committed"}, {"order": "sjf"}])
def test_blocks_are_tried_as_a_learned_policy_decides(built: Built, tmp_path: Path, options: dict[str, Any]) -> None:
    chosen = 0
    checkpoint = write_policy(tmp_path / "policy", change=opinionated, window=32, **options)
    settings = configure().settings_of(checkpoint)
    for seed in range(4):
        scene = drawn_scene(100 + seed)
        conf = write_conf(tmp_path / "conf", **settings, budget_ms=10_000, status_file=tmp_path / "status")
        with Emulation(built, scene.write(tmp_path / "scene"), conf) as emulation:
            tries = emulation.cycle()
            assert emulation.end()[0] == 0
        state = state_of(scene)
        decision = decide(state.snapshot, state.workload, state.cluster, resolve_scheduler(policy=checkpoint))
        turns = [state.block_of[one.jobs[one.action - 1]] for one in decision.answers if one.action > 0]
        assert [one.block for one in tries] == list(expected_tries(turns, scene, tries))
        numbers = counted(tmp_path / "status")
        runs_of_blocks = sum(1 for _ in itertools.groupby(turns))
        assert numbers["decisions_total"] == runs_of_blocks
        assert (numbers["failed_total"], numbers["late_total"]) == (0, 0)
        chosen += len(turns)
    assert chosen > 8


@pytest.mark.every(4)
@pytest.mark.parametrize("placement", ["best-fit", "worst-fit", "spread", "pack"])
def test_hosts_are_preferred_as_a_placement_does(built: Built, tmp_path: Path, placement: str) -> None:
    expect_preferred_host(built, tmp_path, placement, configure().settings_of("fcfs", placement))


def test_hosts_are_preferred_as_a_learned_placement_does(built: Built, tmp_path: Path) -> None:
    """Whose network reads any number of hosts."""
    for change in (opinionated, most_free_cores):
        placement = write_host_policy(tmp_path / change.__name__, change, num_hosts=4)
        expect_preferred_host(built, tmp_path, placement, configure().settings_of("fcfs", placement))


def expect_preferred_host(built: Built, tmp_path: Path, placement: str, settings: dict[str, str]) -> None:
    """The first job goes where Python would put it; without the plugin it would go to the first host with room."""
    others = 0
    for seed in range(6):
        scene = drawn_scene(200 + seed, blocks=1)
        scene = Scene(
            scene.hosts, (Block(1, 700, 3, NOW_S - 100, 600),), tuple(run for run in scene.runs if run.slots > 2)
        )
        conf = write_conf(tmp_path / "conf", **settings, budget_ms=10_000, status_file=tmp_path / "status")
        with Emulation(built, scene.write(tmp_path / "scene"), conf) as emulation:
            first = emulation.cycle()[0]
            emulation.end()
        state = state_of(scene)
        scheduler = resolve_scheduler(policy="fcfs", placement=placement)
        [node] = next(iter(decide(state.snapshot, state.workload, state.cluster, scheduler).starts.values())).nodes
        assert first.places == ((scene.hosts[node].name, 1),)
        used = {host: sum(run.slots for run in scene.runs if run.host == host) for host in range(len(scene.hosts))}
        others += node != next(host for host, one in enumerate(scene.hosts) if used[host] < one.slots)
        assert counted(tmp_path / "status")["rankings_left_total"] == 0
    assert others > 0


def test_a_queue_that_is_not_named_is_left_alone(built: Built, tmp_path: Path) -> None:
    scene = Scene(
        (Host("h0", 4, 1000),),
        tuple(Block(1, 0, 1, NOW_S - 100, limit_s, queue=queue) for queue in ("a", "b") for limit_s in (500, 100)),
    )
    conf = write_conf(tmp_path / "conf", policy="sjf", queues="b bb", status_file=tmp_path / "status")
    with Emulation(built, scene.write(tmp_path / "scene"), conf) as emulation:
        assert [one.block for one in emulation.cycle()] == [0, 1, 3, 2]
        emulation.end()
    numbers = counted(tmp_path / "status")
    assert (numbers["planned_total"], numbers["own_order_total"]) == (2, 2)


def test_jobs_that_end_make_room_for_the_policy(built: Built, tmp_path: Path) -> None:
    """Allocations are followed: what a learned policy sees in a later cycle is what runs then."""
    checkpoint = write_policy(tmp_path / "policy", change=opinionated, window=32)
    scene = drawn_scene(300)
    conf = write_conf(
        tmp_path / "conf", **configure().settings_of(checkpoint), budget_ms=10_000, status_file=tmp_path / "status"
    )
    with Emulation(built, scene.write(tmp_path / "scene"), conf) as emulation:
        first = emulation.cycle()
        emulation.ask("clear")
        second = emulation.cycle()
        emulation.end()
    numbers = counted(tmp_path / "status")
    starts = sum(1 for one in second if one.places)
    assert numbers["running"] == starts > sum(1 for one in first if one.places)
    assert numbers["hosts"] == len(scene.hosts)
    assert numbers["failed_total"] == 0


def test_settings_are_written_for_what_the_plugin_can_do() -> None:
    program = [sys.executable, str(FOLDER / "configure.py")]
    told = subprocess.run(
        [*program, "--policy", "sjf", "--set", "budget_ms=5"], capture_output=True, text=True, check=True
    )
    assert "policy = sjf\n" in told.stdout
    assert "budget_ms = 5\n" in told.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--policy nonsense", "unknown policy 'nonsense'"),
        ("--policy srtf", "policy 'srtf': the plugin does not take it: policy Srtf does not order blocks"),
        ("--policy sjf --set foo=1", "--set foo: there is no such key"),
        ("--policy sjf --set policy=srtf", "--set policy: there is no such key"),
        ("--policy sjf --set budget_ms", "--set budget_ms: expected KEY=VALUE"),
        ("--policy sjf --set budget_ms=-1", "--set budget_ms: cannot be '-1'; expected a number from 0.001 to 60000"),
        ("--policy sjf --set memory_per=host", "--set memory_per: cannot be 'host'; expected job or slot"),
    ],
)
def test_settings_are_not_written_that_the_plugin_would_refuse(
    capsys: pytest.CaptureFixture[str], words: str, message: str
) -> None:
    assert configure().main(words.split()) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"error: {message}")
    assert told.err.count("\n") == 1


def test_settings_by_hand_have_the_bounds_of_the_plugin(built: Built, tmp_path: Path) -> None:
    """The plugin takes what is right to the last digit, and refuses what is a little more."""
    module = configure()
    right = [f"{key}={value!r}" for key, bounds in module.RANGES.items() for value in bounds]
    right += [f"{key}={value}" for key, values in module.CHOICES.items() for value in values]
    right += [f"{key}={'x' * module.TEXT_BYTES}" for key in module.TEXTS]
    wrong = [f"{key}={value!r}" for key, (least, most) in module.RANGES.items() for value in (least - 0.001, most + 1)]
    wrong += [f"{key}=nonsense" for key in module.CHOICES] + [f"{key}=" for key in module.RANGES]
    wrong += [f"{key}={'x' * (module.TEXT_BYTES + 1)}" for key in module.TEXTS]
    for word in right:
        assert module.set_by_hand([word])
        assert "cannot be" not in log_of(built, tmp_path, word)
    for word in wrong:
        with pytest.raises(InputError):
            module.set_by_hand([word])
        assert "cannot be" in log_of(built, tmp_path, word)


def log_of(built: Built, tmp_path: Path, word: str) -> str:
    """Returns what the plugin logs of one more setting; whether a status file can be written is another matter."""
    key, _, value = word.partition("=")
    conf = write_conf(tmp_path / "conf", policy="sjf", **{key: value})
    with Emulation(built, Scene((Host("h0", 1, 1),), ()).write(tmp_path / "scene"), conf) as emulation:
        emulation.ask("cycle")
        return "".join(line for line in emulation.end()[1].splitlines() if "status_file x" not in line)


def test_a_python_without_shunter_is_told_which_one_to_take() -> None:
    program = [sys.executable, "-S", "-E", str(FOLDER / "configure.py"), "--policy", "sjf"]
    wrong = subprocess.run(program, capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert "has no module 'shunter'" in wrong.stderr
    assert ".venv/bin/python" in wrong.stderr
    assert wrong.stderr.count("\n") == 1
