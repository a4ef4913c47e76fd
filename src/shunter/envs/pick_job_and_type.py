"""``shunter/PickJobAndType-v0``: which waiting job next, and on which type of GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from shunter.checks import declared, distinct_names
from shunter.envs.pick_job import PickJobSource
from shunter.envs.queue_options import LARGEST, QueueOptions, queue_vector
from shunter.envs.single import SingleEnv, check_render_mode
from shunter.envs.world import CoreMode
from shunter.errors import InputError
from shunter.policies.catalog import PICK_JOB_AND_TYPE
from shunter.policies.pairs import check_cluster

if TYPE_CHECKING:
    from shunter.envs.layout import Layout
    from shunter.envs.log_source import LogSource
    from shunter.envs.vector import NativeVectorEnv
    from shunter.model.cluster import Cluster
    from shunter.model.workload import Workload

MODE: Final = "pairs"
"""What the core calls it."""

EXAMPLE: Final = (
    'gymnasium.make("shunter/PickJobAndType-v0", '
    'workload="generate:helios-like?jobs=5000&nodes=4&kinds=gavel-like", cluster="gavel-like")'
)
"""How such an environment is made."""


@dataclass(frozen=True)
class PickJobAndTypeOptions(QueueOptions):
    """What a policy that chooses jobs and types of GPUs sees: the section ``[environment]``."""

    window: int = declared(
        32, "How many waiting jobs the policy sees.", low=1, high=LARGEST, option="window", metavar="N"
    )
    placement: str | None = declared("fastest", "Which nodes of the type that is chosen a job gets.")
    types: tuple[str, ...] = declared(
        (), "The types of GPUs, in the order in which a job's rows stand. Empty: those of the cluster."
    )

    def check_own(self) -> None:
        """Takes a list of types as well as a tuple."""
        object.__setattr__(self, "types", distinct_names("types", self.types))

    @property
    def kind(self) -> str:
        """`PICK_JOB_AND_TYPE`."""
        return PICK_JOB_AND_TYPE

    @property
    def dispatch(self) -> str:
        """Whatever fits may start."""
        return "greedy"

    @property
    def source(self) -> type[LogSource]:
        """Windows of logs."""
        return PickJobSource

    @property
    def layout(self) -> Layout:
        """The layout of the observations; where no cluster has been seen yet, without types."""
        return replace(super().layout, types=self.types)

    @property
    def core_mode(self) -> CoreMode:
        """The core's numbers for what is decided."""
        return CoreMode.of(MODE, self.lookahead, self.history_interval_s)

    def on_clusters(self, clusters: Sequence[Cluster]) -> PickJobAndTypeOptions:
        """Returns the same with the types of the clusters.

        Raises:
            InputError: A cluster has one type or none, others than those that are given, or lets jobs mix them.
        """
        types = self.types or clusters[0].gpu_types
        for cluster in clusters:
            check_cluster(PICK_JOB_AND_TYPE, cluster)
            found = ", ".join(cluster.gpu_types) or "none"
            if len(cluster.gpu_types) < 2:
                what = f"{PICK_JOB_AND_TYPE} chooses among types of GPUs; the cluster has {found}"
                raise InputError(f"{what}: give a cluster with two or more, or take pick-job")
            if cluster.gpu_types != types:
                what = f"the policy chooses among the GPUs {', '.join(types)}, in this order; the cluster has {found}"
                raise InputError(f"{what}: give a cluster with the same types, or train anew")
        return replace(self, types=types)


def make_vector(
    num_envs: int,
    *,
    workload: str | Workload | None = None,
    cluster: str | Cluster | None = None,
    **keywords: Any,  # noqa: ANN401 - the fields of four classes, checked there
) -> NativeVectorEnv:
    """Returns environments on windows of one log.

    Args:
        num_envs: How many environments.
        workload: A log, or what `shunter.read_workload` reads; an error says so where there is none.
        cluster: A cluster with two or more types of GPUs, or what `shunter.read_cluster` takes.
        keywords: The fields of `PickJobAndTypeOptions`, `RewardOptions`, `EpisodeOptions` and `VectorOptions`.

    Raises:
        InputError: There is no workload, a keyword is unknown, a value is wrong, or the cluster has a single type.
    """
    return queue_vector(PickJobAndTypeOptions, EXAMPLE, num_envs, workload, cluster, keywords)


class PickJobAndTypeEnv(SingleEnv):
    """Decides which waiting job goes next, and on which type of GPU of the cluster of a log.

    Observation: ``Box(0, 1)`` of ``float32``, flat, in three parts that `layout` names and splits.
        ``cluster`` (16 + 4 for each type,): as in PickJob, with `history` as there; then what is told of each type
        (`TYPE_FEATURES`).
        ``lookahead`` (lookahead_size,): when running jobs give capacity back.
        ``jobs`` (window x types, 31 + types + own features): of each waiting job that is shown a row for each type:
        what PickJob tells of the job (`JOB_FEATURES`), what is told of the pair (`PAIR_FEATURES`), and which type it
        is. Jobs that may start on some type come first, then others; rows without a job are zeros.

    Action: ``Discrete(window x types + 1)``. 0 waits until the next event; *k* starts the job of row *k* - 1 on the
        type of that row, on nodes that `placement` chooses among those of the type.

    Mask: ``action_masks()`` or ``info["action_mask"]``, (window x types + 1,) of ``bool``: the pairs that have room
        now. An action that it forbids is taken as *wait*, or as the first that is allowed, costs `invalid_penalty`,
        and ``info["invalid_action"]`` is True. At least one action is always allowed.

    Reward, ending: as in `PickJobEnv`.
    """

    def __init__(
        self,
        workload: str | Workload | None = None,
        cluster: str | Cluster | None = None,
        *,
        render_mode: str | None = None,
        **keywords: Any,  # noqa: ANN401 - the fields of three classes, checked there
    ) -> None:
        """Opens the environment; the arguments are those of `make_vector`, and what `render` returns."""
        check_render_mode(render_mode)
        vector = make_vector(1, workload=workload, cluster=cluster, autoreset=False, **keywords)
        super().__init__(vector, render_mode)
