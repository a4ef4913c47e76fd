"""Figures: what is drawn is what happened, at every level of detail."""

from __future__ import annotations

import io
import random
import warnings
from itertools import combinations

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

from shunter.errors import InputError
from shunter.metrics.lanes import Lanes
from shunter.metrics.sizes import CORES
from shunter.model.cluster import Cluster, Node
from shunter.model.schedule import Outcome, Schedule
from shunter.report import schedule_figure as figures
from shunter.report.drawing import COLORS, binned_means
from shunter.report.schedule_figure import draw_schedule, pack_rectangles
from tests.metrics.handmade import Row, cluster, make_schedule, pool


def full_schedule(on: Cluster, jobs: int, seed: int = 1) -> Schedule:
    """Returns jobs that start in order of submit, as soon as there is room, on the first nodes with free cores."""
    rng = random.Random(seed)
    free = [int(node.cores) for node in on.nodes]
    running: list[tuple[int, dict[int, int]]] = []
    rows, clock = [], 0
    for submit in sorted(rng.randrange(0, 50 * jobs) for _ in range(jobs)):
        need = rng.randint(1, sum(int(node.cores) for node in on.nodes))
        clock = max(clock, submit)
        while True:
            for ended in [entry for entry in running if entry[0] <= clock]:
                running.remove(ended)
                for node, cores in ended[1].items():
                    free[node] += cores
            if sum(free) >= need:
                break
            clock = min(end for end, _ in running)
        placed: dict[int, int] = {}
        for node, cores in enumerate(free):
            if need and cores:
                placed[node] = min(need, cores)
                free[node] -= placed[node]
                need -= placed[node]
        end = clock + rng.randint(1, 300)
        running.append((end, placed))
        rows.append(Row(submit, clock, end, placed, user=f"user {rng.randrange(12)}"))
    return make_schedule(rows, on)


@pytest.mark.parametrize("on", [pool(9), cluster(Node("a", 4), Node("b", 3), Node("c", 8))], ids=["pool", "nodes"])
def test_rectangles_do_not_overlap_and_cover_the_work(on: Cluster) -> None:
    schedule = full_schedule(on, 60)
    rectangles, owner = pack_rectangles(schedule)
    for (left, right, low, high), (left2, right2, low2, high2) in combinations(rectangles, 2):
        assert right <= left2 or right2 <= left or high <= low2 or high2 <= low
    area = (rectangles[:, 1] - rectangles[:, 0]) / 1000 * (rectangles[:, 3] - rectangles[:, 2])
    by_job = np.bincount(owner, weights=area, minlength=len(schedule))
    np.testing.assert_allclose(by_job, schedule.cores * schedule.duration_s)
    assert rectangles[:, 3].max() <= on.total_cores


def test_a_job_on_neighboring_nodes_is_one_rectangle() -> None:
    on = cluster(Node("a", 2), Node("b", 2), Node("c", 2))
    rows = [Row(0, 0, 10, {0: 2, 1: 1}), Row(0, 0, 20, {1: 1}), Row(0, 0, 20, {2: 2})]
    rectangles, owner = pack_rectangles(make_schedule(rows, on))
    assert owner.tolist() == [0, 1, 2]
    assert rectangles.tolist() == [[0, 10_000, 0, 3], [0, 20_000, 3, 4], [0, 20_000, 4, 6]]


def test_lanes_join_again() -> None:
    lanes = Lanes(10)
    first, second, third = lanes.take(3), lanes.take(3), lanes.take(4)
    lanes.give_back(first)
    lanes.give_back(third)
    split = lanes.take(7)
    assert split == [(0, 3), (6, 10)]
    lanes.give_back(second)
    lanes.give_back(split)
    assert lanes.take(10) == [(0, 10)]
    assert lanes.take(1) == []


def test_binned_means_are_means_of_the_step_function() -> None:
    rng = np.random.default_rng(3)
    start, length = rng.uniform(-2, 10, 50), rng.uniform(0, 6, 50)
    amount, row = rng.uniform(0.5, 2, 50), rng.integers(0, 3, 50)
    edges = np.linspace(0.0, 10.0, 8, dtype=np.float64)
    times, changes = np.concatenate([start, start + length]), np.concatenate([amount, -amount])
    means = binned_means(times, changes, np.concatenate([row, row]), 3, edges)
    expected = np.zeros((3, 7))
    for each in range(50):
        for column in range(7):
            covered = min(start[each] + length[each], edges[column + 1]) - max(start[each], edges[column])
            expected[row[each], column] += amount[each] * max(covered, 0) / (edges[1] - edges[0])
    np.testing.assert_allclose(means, expected, atol=1e-12)


def test_panels_show_use_queue_and_jobs() -> None:
    schedule = full_schedule(cluster(Node("a", 4, gpus=1), Node("b", 4)), 40)
    use, queue, gantt = draw_schedule(schedule).axes
    # No job asks for the GPU: it has no line.
    assert [line.get_label() for line in use.lines] == ["cores"]
    cores = np.asarray(use.lines[0].get_ydata())
    assert 0 <= cores.min() <= cores.max() <= 100
    assert np.asarray(queue.lines[0].get_ydata()).min() == 0
    (jobs,) = [each for each in gantt.collections if isinstance(each, PolyCollection)]
    assert len(jobs.get_paths()) == len(pack_rectangles(schedule)[0])
    assert [label.get_text() for label in gantt.get_yticklabels()] == ["a", "b"]
    assert gantt.get_xlabel() == "minutes since the first submit"


def test_the_title_names_what_was_simulated() -> None:
    title = draw_schedule(full_schedule(pool(8), 5)).get_suptitle()
    assert title == "handmade on 8 cores, 5 jobs\nfcfs · easy · first-fit · estimate requested"


def test_colors_are_those_of_the_workload_whatever_the_schedule() -> None:
    schedule = full_schedule(pool(8), 80)
    later = make_schedule(
        [Row(job["submit_s"], 10**6, 10**6 + job["run_s"], {0: job["tasks"]}, user=job["user"])
         for job in schedule.workload.jobs.iter_rows(named=True)],
        pool(8),
    )  # fmt: skip
    colors, legend = figures._job_colors(schedule, CORES)
    assert colors.tolist() == figures._job_colors(later, CORES)[0].tolist()
    assert len(legend) == len(COLORS) + 1


@pytest.mark.parametrize(
    "on", [pool(8), cluster(*(Node(f"n{number}", 4) for number in range(30)))], ids=["pool", "nodes"]
)
def test_many_jobs_become_a_heat_map(on: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("RECTANGLE_JOBS", "OUTLINED_JOBS", "EXACT_CHANGES"):
        monkeypatch.setattr(figures, limit, 20)
    figure = draw_schedule(full_schedule(on, 50))
    (image,) = figure.axes[2].images
    share = np.asarray(image.get_array())
    assert 0 <= share.min() < share.max() <= 100
    figure.savefig(io.BytesIO(), format="png")


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_every_format_can_be_written(suffix: str) -> None:
    file = io.BytesIO()
    draw_schedule(full_schedule(pool(8), 30)).savefig(file, format=suffix)
    assert len(file.getvalue()) > 1000


def test_one_job_of_no_length_can_be_drawn() -> None:
    file = io.BytesIO()
    draw_schedule(make_schedule([Row(5, 5, 5, {0: 1})], pool(1))).savefig(file)
    assert file.getvalue().startswith(b"\x89PNG")


def test_nothing_to_draw_is_said() -> None:
    with pytest.raises(InputError, match="nothing to draw"):
        draw_schedule(make_schedule([Row(0, None, None, outcome=Outcome.UNFINISHED)], pool(1)))


def test_a_name_in_letters_that_the_font_lacks_fills_no_terminal() -> None:
    figure = draw_schedule(make_schedule([Row(0, 0, 10, {0: 1}, user="日本語")], pool(4)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.savefig(io.BytesIO(), format="png")
