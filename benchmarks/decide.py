"""How long one decision of a learned policy takes: from an observation to an action, one at a time, on one core.

    PYTHONPATH=. python benchmarks/decide.py [--quick] [--only kernel,hosts-1000] [--rounds 20]

The networks with their usual sizes and weights as if trained. Windows of 128 jobs are full and every action is allowed,
which is the worst that can come; "as played" has the queues of lublin_256 (if SHUNTER_TRACES, or ../shared/traces, has
it; otherwise the generator's like) under random actions. Every decision is on another observation than the one before;
all of them together do not fit into the caches near the core.

Natively an action is one call of the C ABI from Python with arrays that stand ready; what a call costs that does
nothing but find the policy is given in the title, and is part of all native times. Beside it the same network in
PyTorch (one thread, `inference_mode`, then the greedy choice), and in ONNX Runtime (one thread; `pip install
'.[bench]'`) with the choice of the best action in the graph. ONNX has no ragged batches: networks are exported for full
windows, `kernel` as a dense network of its own, so that it is not asked where windows are as played.

Times are of 20,000 decisions in rounds that take turns. The machine may be shared: the p99 of the best round is given
too, and one by the thread's own clock, which does not count what other processes took but takes a microsecond or two
itself. Goals are judged by the best round. Compare the ratios.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

from benchmarks.envs import drawn
from benchmarks.simulate import lublin_256, verdict
from shunter import Cluster
from shunter.agents.common.masking import greedy_actions
from shunter.agents.networks import NetworkOptions, build
from shunter.agents.networks.base import CroppedNetwork, Network
from shunter.agents.networks.kernel import Kernel
from shunter.checks import to_table
from shunter.envs import PickHostOptions, PickJobOptions, RewardOptions, pick_host_vector, pick_job_vector
from shunter.envs.layout import Layout
from shunter.envs.network import NativeNetwork
from shunter.envs.vector import NativeVectorEnv
from shunter.errors import InputError
from shunter.model.log import Log
from shunter.model.windows import choose_windows
from shunter.native import check, ffi, last_error, lib, pointer
from shunter.workloads.load import scale_arrivals

DECISIONS = 20_000
TORCH_DECISIONS = 2_000
"""PyTorch takes so much longer that fewer will do."""
OBSERVATIONS = 2_000
WINDOW = 128
GOAL_RATE = 20_000
INSTRUCTIONS = ("avx2", "portable")

Ask = Callable[[int], int]
"""Decides on the observation of a number: returns the action."""


@dataclass(frozen=True, eq=False)
class Seen:
    """What is decided on."""

    layout: Layout
    observations: NDArray[np.float32]
    masks: NDArray[np.bool_]


@dataclass
class Contender:
    """One way to decide, and how long each decision took, round by round."""

    name: str
    ask: Ask
    decisions: int
    rounds: list[NDArray[np.int64]] = field(default_factory=list)
    own_rounds: list[NDArray[np.int64]] = field(default_factory=list)
    """By the thread's own clock."""

    def play(self, count: int, pool: int) -> None:
        """Plays one round by each clock."""
        begin = len(self.rounds) * count
        self.rounds.append(self._round(begin, count, pool, time.perf_counter_ns))
        self.own_rounds.append(self._round(begin, count // 4 + 1, pool, time.thread_time_ns))

    def _round(self, begin: int, count: int, pool: int, now: Callable[[], int]) -> NDArray[np.int64]:
        ask = self.ask
        taken = np.empty(count, dtype=np.int64)
        for place in range(count):
            which = (begin + place) % pool
            began = now()
            ask(which)
            taken[place] = now() - began
        return taken

    def forget(self) -> None:
        """Forgets all rounds."""
        self.rounds.clear()
        self.own_rounds.clear()

    @property
    def p50_us(self) -> float:
        """The median."""
        return float(np.percentile(np.concatenate(self.rounds), 50)) / 1e3

    @property
    def p99_us(self) -> float:
        """All but one in a hundred are faster."""
        return float(np.percentile(np.concatenate(self.rounds), 99)) / 1e3

    @property
    def best_p99_us(self) -> float:
        """The same in the round that was disturbed least."""
        return min(float(np.percentile(taken, 99)) for taken in self.rounds) / 1e3

    @property
    def own_p99_us(self) -> float:
        """The same by the thread's own clock, in all rounds."""
        return float(np.percentile(np.concatenate(self.own_rounds), 99)) / 1e3

    @property
    def rate(self) -> float:
        """Decisions a second in the best round."""
        return max(1e9 / float(taken.mean()) for taken in self.rounds)


@dataclass(frozen=True)
class Case:
    """A network and what it decides on."""

    name: str
    kind: str
    seen: Callable[[], Seen]
    goal_us: float | None = None
    """Of the p99."""
    has_rate_goal: bool = False
    is_dense: bool = True
    """Whether all windows are full."""


def cases() -> list[Case]:
    """Returns all cases."""
    return [
        Case("kernel", "kernel", full_windows, 100.0, has_rate_goal=True),
        Case("mlp", "mlp", full_windows, 100.0, has_rate_goal=True),
        Case("attention", "attention", full_windows, 500.0),
        Case("kernel as played", "kernel", played_windows, has_rate_goal=True, is_dense=False),
        Case("mlp as played", "mlp", played_windows, has_rate_goal=True, is_dense=False),
        Case("attention as played", "attention", played_windows, has_rate_goal=True, is_dense=False),
        Case("hosts-50", "hosts", lambda: of_hosts(50), 50.0, has_rate_goal=True),
        Case("hosts-1000", "hosts", lambda: of_hosts(1000), 300.0),
    ]


_SEEN: dict[str, Seen] = {}


def full_windows() -> Seen:
    """Returns windows with 128 jobs, all of which may be chosen."""
    if "full" not in _SEEN:
        options = PickJobOptions(order="sjf", window=WINDOW)
        # Ten times the load: the queue is soon longer than the window.
        log = Log(scale_arrivals(lublin_256(), 0.1), Cluster.pool(256))
        windows = choose_windows(len(log.workload), count=64, length=1024)
        vector = pick_job_vector([log], [windows], options, RewardOptions(), num_envs=64)

        def is_full(observations: NDArray[np.float32]) -> NDArray[np.bool_]:
            return np.asarray(options.layout.split(observations)["jobs"][:, -1, 0] > 0)

        seen = played(vector, is_full)
        _SEEN["full"] = replace(seen, masks=np.ones_like(seen.masks))
    return _SEEN["full"]


def played_windows() -> Seen:
    """Returns windows as full as they happen to be."""
    if "played" not in _SEEN:
        workload = lublin_256()
        log, windows = Log(workload, Cluster.pool(256)), choose_windows(len(workload), count=64, length=512)
        vector = pick_job_vector([log], [windows], PickJobOptions(order="sjf"), RewardOptions(), num_envs=64)
        _SEEN["played"] = played(vector, lambda observations: np.ones(len(observations), dtype=bool))
    return _SEEN["played"]


def of_hosts(count: int) -> Seen:
    """Returns observations of so many hosts."""
    options = PickHostOptions(num_hosts=count, max_jobs_per_step=count // 2)
    vector = pick_host_vector(options, RewardOptions(), episodes=8, num_envs=8)
    return played(vector, lambda observations: np.ones(len(observations), dtype=bool))


def played(vector: NativeVectorEnv, wanted: Callable[[NDArray[np.float32]], NDArray[np.bool_]]) -> Seen:
    """Plays at random, and returns observations that are wanted and have several actions."""
    random, arrays = np.random.default_rng(0), vector.step_arrays()
    vector.reset_into(arrays.observations, arrays.masks)
    observations: list[NDArray[np.float32]] = []
    masks: list[NDArray[np.bool_]] = []
    count = 0
    for step in range(20_000):
        if step % 7 == 6:
            # A policy is asked only where there is a choice.
            kept = wanted(arrays.observations) & (arrays.masks.sum(axis=1) > 1)
            observations.append(arrays.observations[kept])
            masks.append(arrays.masks[kept])
            count += int(kept.sum())
        if count >= OBSERVATIONS:
            break
        vector.step_into(drawn(arrays.masks, random), arrays)
    return Seen(vector.layout, np.concatenate(observations)[:OBSERVATIONS], np.concatenate(masks)[:OBSERVATIONS])


def torch_network(kind: str, layout: Layout) -> Network:
    """Returns a network with weights of the size that training gives them."""
    network = build(NetworkOptions(kind=kind), layout, seed=1)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in network.parameters():
            size = 0.5 / parameter.shape[-1] ** 0.5 if parameter.dim() > 1 else 0.2
            parameter.add_(size * torch.randn(parameter.shape, generator=generator))
    return network.eval()


def by_core(network: Network, kind: str, seen: Seen, instructions: str) -> Ask:
    """Decides by one call of the C ABI.

    Raises:
        InputError: The processor does not have the instructions.
    """
    options = NetworkOptions(kind=kind)
    about = {"layout": to_table(seen.layout), "network": to_table(replace(options, hidden=options.layers_hidden))}
    native = NativeNetwork.open(about)
    native.set({name: weight.numpy() for name, weight in network.state_dict().items()})
    native.use(instructions)
    observations, masks = pointer(seen.observations), pointer(seen.masks.view(np.uint8))
    size, actions, call = seen.layout.observation_size, seen.layout.actions, lib.shunter_policy_actions
    given = [(observations + place * size, masks + place * actions) for place in range(len(seen.masks))]
    chosen = ffi.new("int32_t *")
    number = native.handle.number

    def ask(place: int) -> int:
        observation, mask = given[place]
        # A call that fails returns at once: its time would be that of nothing.
        if call(number, observation, mask, 1, 0, 0, chosen):
            raise SystemExit(f"error: {last_error()}")
        action: int = chosen[0]
        return action

    # The handle is closed with the object, and a number does not hold it.
    ask.network = native  # type: ignore[attr-defined]
    return ask


def by_torch(network: Network, seen: Seen) -> Ask:
    """Decides by PyTorch."""
    observations = [torch.from_numpy(one).unsqueeze(0) for one in seen.observations]
    masks = [torch.from_numpy(one).unsqueeze(0) for one in seen.masks]

    def ask(place: int) -> int:
        with torch.inference_mode():
            logits, _ = network(observations[place], masks[place])
            return int(greedy_actions(logits, masks[place]))

    return ask


def compare(contender: Contender, network: Network, seen: Seen) -> None:
    """Holds decisions to PyTorch's: different ones may only be between scores that are equal but for rounding."""
    with torch.inference_mode():
        masks = torch.from_numpy(seen.masks)
        logits = torch.where(masks, network(torch.from_numpy(seen.observations), masks)[0], -torch.inf).numpy()
    chosen = np.array([contender.ask(place) for place in range(len(logits))])
    gaps = logits.max(axis=1) - logits[np.arange(len(logits)), chosen]
    # Else one answer to everything would do.
    if not gaps.max() < 1e-5 or len(np.unique(chosen)) < 2:
        raise SystemExit(f"error: {contender.name} takes actions whose scores are {gaps.max()} below the best")


class Dense(nn.Module):
    """The best action of a full window, in operations that ONNX has."""

    def __init__(self, network: Network, layout: Layout) -> None:
        super().__init__()
        self._network = network
        self._layout = layout

    def forward(self, observation: Tensor, mask: Tensor) -> Tensor:
        """Returns the action."""
        network, layout = self._network, self._layout
        if isinstance(network, Kernel):
            logits = _kernel_logits(network, layout, observation)
        elif isinstance(network, CroppedNetwork):
            logits, _ = network.evaluate_cropped(observation, layout.window)
        else:
            logits, _ = network(observation, mask)
        return torch.where(mask, logits, -1e30).argmax(dim=1)


def _kernel_logits(network: Kernel, layout: Layout, observation: Tensor) -> Tensor:
    """Returns what `Kernel` says of a window that is full."""
    parts = layout.split(observation)
    context, rows = torch.cat([parts["cluster"], parts["lookahead"]], dim=1), parts["jobs"][0]
    seen = network.activation(network.row_layer(rows) + network.context_layer(context))
    scored, pooled = seen.split(network._widths, dim=1)
    scores = network.score(network.job_tower(scored)).T
    share = torch.ones_like(context[:, :1])
    state = torch.cat([context, share, pooled.mean(dim=0, keepdim=True), pooled.amax(dim=0, keepdim=True)], dim=1)
    return torch.cat([network.wait(network.wait_tower(state)), scores], dim=1)


def by_onnx(network: Network, seen: Seen) -> Ask:
    """Decides by ONNX Runtime."""
    # It may be missing, and has no types.
    onnxruntime: Any = importlib.import_module("onnxruntime")
    given = (torch.from_numpy(seen.observations[:1]), torch.from_numpy(seen.masks[:1]))
    dense = Dense(network, seen.layout).eval()
    names: dict[str, Any] = {"input_names": ["observation", "mask"], "output_names": ["action"]}
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        # The exporter has much to say of its own future.
        warnings.simplefilter("ignore")
        program = torch.onnx.export(dense, given, dynamo=True, verbose=False, **names)
        if program is None:
            raise SystemExit("error: PyTorch has not exported the network")
        file = Path(folder) / "network.onnx"
        program.save(file)
        exported = file.read_bytes()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    session = onnxruntime.InferenceSession(exported, options, providers=["CPUExecutionProvider"])
    wanted = {one.name for one in session.get_inputs()}
    each = zip(seen.observations[:, None], seen.masks[:, None], strict=True)
    feeds = [
        {name: one for name, one in zip(("observation", "mask"), pair, strict=True) if name in wanted} for pair in each
    ]
    run = session.run

    def ask(place: int) -> int:
        return int(run(None, feeds[place])[0][0])

    return ask


def empty_call_us() -> float:
    """Returns what a call costs that does next to nothing, with as many arguments."""
    about = {"layout": to_table(Layout("pick-host", num_hosts=1)), "network": {"kind": "hosts", "hidden": [1]}}
    native = NativeNetwork.open(about)
    sizes = [ffi.new("uintptr_t *") for _ in range(3)]
    number, call = native.handle.number, lib.shunter_policy_sizes

    def ask(_: int) -> int:
        check(call(number, *sizes))
        return 0

    contender = Contender("nothing", ask, DECISIONS)
    contender.play(2000, 1)
    contender.play(DECISIONS, 1)
    return float(np.median(contender.rounds[1])) / 1e3


def contenders(case: Case, has_onnx: bool) -> tuple[list[Contender], Seen]:
    """Returns all ways to decide in a case."""
    seen = case.seen()
    network = torch_network(case.kind, seen.layout)
    found = []
    for instructions in INSTRUCTIONS:
        try:
            found.append(Contender(instructions, by_core(network, case.kind, seen, instructions), DECISIONS))
        except InputError:
            continue
    found.append(Contender("PyTorch", by_torch(network, seen), TORCH_DECISIONS))
    if has_onnx and case.is_dense:
        found.append(Contender("ONNX Runtime", by_onnx(network, seen), DECISIONS))
    for one in found:
        compare(one, network, seen)
    return found, seen


def measure(case: Case, rounds: int, share: float, table: Table, has_onnx: bool) -> None:
    """Measures one case and adds its rows."""
    found, seen = contenders(case, has_onnx)
    counts = {one.name: max(1, int(one.decisions * share) // rounds) for one in found}
    for one in found:
        # To warm up: buffers grow, and pages are touched.
        one.play(counts[one.name] // 4 + 1, len(seen.masks))
        one.forget()
    for _ in range(rounds):
        for one in found:
            one.play(counts[one.name], len(seen.masks))
    rows = seen.layout.split(seen.observations)["jobs" if seen.layout.window else "hosts"]
    size = float((rows[..., 0] > 0).sum(axis=1).mean()) if seen.layout.window else float(seen.layout.num_hosts)
    base = found[0]
    for one in found:
        goals = []
        # The goals are those of the best instructions.
        if one is base and case.goal_us is not None:
            goals.append(f"p99 < {case.goal_us:.0f} µs {verdict(one.best_p99_us < case.goal_us) or 'reached'}")
        if one is base and case.has_rate_goal:
            goals.append(f"{GOAL_RATE:,}/s {verdict(one.rate >= GOAL_RATE) or 'reached'}")
        times = [f"{value:.1f}" for value in (one.p50_us, one.p99_us, one.best_p99_us, one.own_p99_us)]
        ratio = f"{one.p50_us / base.p50_us:.1f}"
        table.add_row(
            case.name if one is base else "",
            f"{size:.0f}",
            one.name,
            *times,
            f"{one.rate:,.0f}",
            ratio,
            ", ".join(goals),
        )
    table.add_section()


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="some cases by their names, with commas between")
    parser.add_argument("--rounds", type=int, default=20, help="of which the best is given too")
    parser.add_argument("--quick", action="store_true", help="a tenth of the decisions")
    given = parser.parse_args()
    torch.set_num_threads(1)
    has_onnx = all(importlib.util.find_spec(name) for name in ("onnxruntime", "onnxscript"))
    console = Console(width=160)
    if not has_onnx:
        console.print("ONNX Runtime is left out; to have it: pip install '.\\[bench]'")
    title = f"One decision, in µs; a call of the core that does nothing takes {empty_call_us():.2f}"
    table = Table(title=title)
    for column in (
        "network",
        "rows",
        "by",
        "p50",
        "p99",
        "best p99",
        "own clock's p99",
        "a second",
        "p50 to native",
        "goals",
    ):
        table.add_column(column, justify="left" if column in ("network", "by", "goals") else "right")
    for case in cases():
        if given.only is None or case.name in given.only.split(","):
            measure(case, given.rounds, 0.1 if given.quick else 1.0, table, has_onnx)
    console.print(table)


if __name__ == "__main__":
    main()
