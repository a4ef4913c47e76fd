"""Networks: short cuts give what the long way gives, and what should not matter does not."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from shunter.agents.networks import NETWORKS, NetworkKind, NetworkOptions, build, register_network
from shunter.agents.networks.attention import Attention
from shunter.agents.networks.base import BUCKET, Batch, DenseBatch, Network, filled_rows
from shunter.agents.networks.kernel import Kernel, RaggedBatch
from shunter.agents.networks.mlp import Mlp
from shunter.envs.layout import Layout
from shunter.errors import InputError
from tests.agents.observing import HOST_LAYOUT, JOB_LAYOUT, random_hosts, random_jobs

KINDS = [
    ("kernel", JOB_LAYOUT),
    ("mlp", JOB_LAYOUT),
    ("attention", JOB_LAYOUT),
    ("mlp", HOST_LAYOUT),
    ("hosts", HOST_LAYOUT),
]


def _lively(kind: str, layout: Layout, activation: str = "relu") -> Network:
    """Returns a network whose logits differ clearly."""
    network = build(NetworkOptions(kind=kind, activation=activation), layout, seed=3)
    for layer in network.policy_layers():
        torch.nn.init.normal_(layer.weight, std=1.0, generator=torch.Generator().manual_seed(5))
    return network


def _random(layout: Layout, samples: int = 40) -> tuple[Tensor, Tensor]:
    return random_jobs(samples, layout) if layout.window else random_hosts(samples, layout)


@pytest.mark.parametrize(("kind", "layout"), KINDS)
def test_shapes_and_finite_numbers(kind: str, layout: Layout) -> None:
    observations, masks = _random(layout)
    logits, values = build(NetworkOptions(kind=kind), layout)(observations, masks)
    assert (logits.shape, values.shape) == (masks.shape, (40,))
    assert bool(logits.isfinite().all())
    assert bool(values.isfinite().all())


@pytest.mark.parametrize(("kind", "layout"), KINDS)
def test_a_sample_is_judged_by_itself_whatever_minibatch_it_is_in(kind: str, layout: Layout) -> None:
    observations, masks = _random(layout)
    network = _lively(kind, layout)
    logits, values = network(observations, masks)
    order = torch.randperm(40, generator=torch.Generator().manual_seed(1))[:25]
    batch = network.pack(observations, masks).select(order)
    assert torch.equal(batch.masks, masks[order])
    some_logits, some_values = network.evaluate(batch)
    torch.testing.assert_close(some_logits[masks[order]], logits[order][masks[order]])
    torch.testing.assert_close(some_values, values[order])
    twice = network.pack(observations, masks).select(order).select(torch.tensor([3, 3, 0]))
    torch.testing.assert_close(network.evaluate(twice)[1], values[order[[3, 3, 0]]])


@pytest.mark.parametrize(("kind", "layout"), KINDS)
def test_every_weight_learns(kind: str, layout: Layout) -> None:
    observations, masks = _random(layout)
    network = _lively(kind, layout)
    logits, values = network(observations, masks)
    (torch.where(masks, logits, 0.0).square().sum() + values.square().sum()).backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize(("kind", "layout"), KINDS)
def test_the_seed_decides_the_weights_and_a_young_policy_prefers_nothing(kind: str, layout: Layout) -> None:
    first, again, other = (build(NetworkOptions(kind=kind), layout, seed=seed).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)
    observations, masks = _random(layout)
    logits, _ = build(NetworkOptions(kind=kind), layout, seed=1)(observations, masks)
    assert logits[masks].abs().max() < 0.1


def _dense_kernel(network: Kernel, observations: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
    """Scores every row, and forgets those that are masked out."""
    parts = JOB_LAYOUT.split(observations)
    context = torch.cat([parts["cluster"], parts["lookahead"]], dim=1)
    rows = torch.relu(network.row_layer(parts["jobs"]) + network.context_layer(context).unsqueeze(1))
    scored, pooled = torch.split(rows, [32, 16], dim=2)
    scores = network.score(network.job_tower(scored)).squeeze(2)
    allowed = masks[:, 1:].unsqueeze(2)
    count = allowed.sum(dim=1)
    mean = (pooled * allowed).sum(dim=1) / count.clamp_min(1)
    largest = torch.where(allowed, pooled, -torch.inf).amax(dim=1)
    largest = torch.where(count > 0, largest, 0.0)
    state = torch.cat([context, count / JOB_LAYOUT.window, mean, largest], dim=1)
    logits = torch.cat([network.wait(network.wait_tower(state)), scores], dim=1)
    return logits, network.value(network.value_tower(state)).squeeze(1)


def test_a_kernel_on_the_rows_alone_is_the_kernel_on_whole_windows() -> None:
    observations, masks = random_jobs(60)
    network = _lively("kernel", JOB_LAYOUT)
    assert isinstance(network, Kernel)
    gradients = []
    for logits, values in (network(observations, masks), _dense_kernel(network, observations, masks)):
        gradients.append((logits[masks], values, logits[masks].square().sum() + values.square().sum()))
    torch.testing.assert_close(gradients[0][0], gradients[1][0])
    torch.testing.assert_close(gradients[0][1], gradients[1][1])
    ours, theirs = (torch.autograd.grad(loss, list(network.parameters())) for *_, loss in gradients)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_sums_over_rows_have_the_right_gradients() -> None:
    masks = torch.tensor([[True, True, False, True], [True, False, False, False], [False, True, True, True]])
    batch = RaggedBatch.of(torch.zeros(3, 1), torch.zeros(3, 3, 2), masks)
    random = torch.Generator().manual_seed(0)
    rows = torch.rand(5, 2, dtype=torch.float64, generator=random).requires_grad_()
    samples = torch.rand(3, 2, dtype=torch.float64, generator=random).requires_grad_()
    assert torch.autograd.gradcheck(batch.spread, (samples,))
    assert torch.autograd.gradcheck(batch.mean, (rows,))
    assert torch.autograd.gradcheck(batch.largest, (rows,))


def test_no_rows_at_all() -> None:
    observations, masks = random_jobs(4)
    masks[:] = False
    masks[:, 0] = True
    logits, values = _lively("kernel", JOB_LAYOUT)(observations, masks)
    assert bool(logits[:, 0].isfinite().all())
    values.sum().backward()


@pytest.mark.parametrize("kind", ["mlp", "attention"])
def test_cropping_empty_rows_changes_nothing(kind: str) -> None:
    observations, masks = random_jobs(2 * BUCKET + 30)
    network = _lively(kind, JOB_LAYOUT)
    assert isinstance(network, Mlp | Attention)
    logits, values = network(observations, masks)
    whole_logits, whole_values = network.evaluate_cropped(observations, JOB_LAYOUT.window)
    torch.testing.assert_close(logits[masks], whole_logits[masks], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(values, whole_values, rtol=1e-4, atol=1e-5)


def test_filled_rows_are_counted() -> None:
    observations, _ = random_jobs(200)
    present = JOB_LAYOUT.split(observations)["jobs"][..., 0]
    assert torch.equal(filled_rows(observations, JOB_LAYOUT), present.sum(dim=1).long())
    assert {0, 1, JOB_LAYOUT.window} <= set(filled_rows(observations, JOB_LAYOUT).tolist())


@pytest.mark.parametrize("kind", ["kernel", "attention"])
def test_jobs_in_another_order_have_the_same_scores(kind: str) -> None:
    observations, masks = random_jobs(30)
    network = _lively(kind, JOB_LAYOUT)
    logits, values = network(observations, masks)
    turned, turned_masks = observations.clone(), masks.clone()
    jobs, turned_jobs = (JOB_LAYOUT.split(each)["jobs"] for each in (observations, turned))
    full = filled_rows(observations, JOB_LAYOUT) == JOB_LAYOUT.window
    assert full.sum() > 1
    turned_jobs[full] = jobs[full].flip(1)
    turned_masks[full, 1:] = masks[full, 1:].flip(1)
    other_logits, other_values = network(turned, turned_masks)
    torch.testing.assert_close(other_values, values)
    back = other_logits[full, 1:].flip(1)
    torch.testing.assert_close(back[masks[full, 1:]], logits[full, 1:][masks[full, 1:]])


def test_hosts_in_another_order_have_the_same_scores() -> None:
    observations, masks = random_hosts(30)
    network = _lively("hosts", HOST_LAYOUT)
    logits, values = network(observations, masks)
    order = torch.tensor([3, 0, 4, 1, 2])
    turned = observations.clone()
    HOST_LAYOUT.split(turned)["hosts"][:] = HOST_LAYOUT.split(observations)["hosts"][:, order]
    other_logits, other_values = network(turned, masks[:, order])
    torch.testing.assert_close(other_logits, logits[:, order])
    torch.testing.assert_close(other_values, values)
    assert logits.std(dim=1).min() > 0.001


def test_weights_for_few_hosts_work_with_many() -> None:
    many = replace(HOST_LAYOUT, num_hosts=50)
    network = build(NetworkOptions(kind="hosts"), many)
    network.load_state_dict(build(NetworkOptions(kind="hosts"), HOST_LAYOUT).state_dict())
    assert network(*random_hosts(3, many))[0].shape == (3, 50)


@pytest.mark.parametrize(
    ("kind", "layout"), [("kernel", HOST_LAYOUT), ("attention", HOST_LAYOUT), ("hosts", JOB_LAYOUT)]
)
def test_a_network_that_does_not_fit_is_refused(kind: str, layout: Layout) -> None:
    with pytest.raises(InputError, match=rf"\[network\] kind is '{kind}', which does not fit {layout.kind}"):
        build(NetworkOptions(kind=kind), layout)


def test_tanh_is_another_function() -> None:
    observations, masks = random_jobs(10)
    relu, tanh = (_lively("mlp", JOB_LAYOUT, each)(observations, masks)[1] for each in ("relu", "tanh"))
    assert not torch.allclose(relu, tanh)


class Counting(Network):
    """Prefers rows by their number: a network of the user's own."""

    def __init__(self, layout: Layout, options: NetworkOptions) -> None:
        super().__init__()
        self.score = torch.nn.Linear(layout.observation_size, layout.actions)
        self.value = torch.nn.Linear(layout.observation_size, options.layers_hidden[0])

    def evaluate(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Returns logits and values."""
        assert isinstance(batch, DenseBatch)
        return self.score(batch.observations), self.value(batch.observations)[:, 0]

    def policy_layers(self) -> tuple[torch.nn.Linear, ...]:
        """Returns the scores' layer."""
        return (self.score,)

    def value_layer(self) -> torch.nn.Linear:
        """Returns the value's layer."""
        return self.value


def test_a_network_is_added_by_registering_it() -> None:
    register_network("counting", NetworkKind(Counting, hidden=(3,), decisions=("pick-job",)))
    try:
        network = build(NetworkOptions(kind="counting"), JOB_LAYOUT, seed=2)
        assert isinstance(network, Counting)
        assert network.value.weight.shape == (3, JOB_LAYOUT.observation_size)
        logits, values = network(*random_jobs(5, JOB_LAYOUT))
        assert (logits.shape, values.shape) == ((5, JOB_LAYOUT.actions), (5,))
        begun = build(NetworkOptions(kind="counting", order_temperature=4.0), JOB_LAYOUT)
        assert begun.policy_layers()[0].weight.abs().sum() == 0
        with pytest.raises(InputError, match="'counting', which does not fit pick-host"):
            build(NetworkOptions(kind="counting"), HOST_LAYOUT)
    finally:
        del NETWORKS["counting"]
