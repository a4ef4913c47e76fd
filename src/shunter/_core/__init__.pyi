"""The compiled core, as maturin generates it from the Rust sources; `core/include/shunter.h` says what it does."""

from collections.abc import Callable
from typing import Any, TypeAlias

from _cffi_backend import CType

_Pointer: TypeAlias = Any

class _FFI:
    # Looser than cffi's own stubs, which know neither the fields of structures nor numpy's arrays as buffers.
    CData: type[_Pointer]
    error: type[Exception]
    NULL: _Pointer
    def new(self, cdecl: str | CType, init: object = ...) -> _Pointer: ...
    def new_allocator(self, *, should_clear_after_alloc: bool = ...) -> Callable[[str, int], _Pointer]: ...
    def cast(self, cdecl: str | CType, value: _Pointer) -> _Pointer: ...
    def callback(self, cdecl: str | CType, python_callable: object) -> _Pointer: ...
    def from_buffer(self, cdecl: str | CType, python_buffer: object, require_writable: bool = ...) -> _Pointer: ...
    def buffer(self, cdata: _Pointer, size: int = ...) -> _Pointer: ...
    def sizeof(self, cdecl: str | CType | _Pointer, /) -> int: ...
    def typeof(self, cdecl: str | _Pointer, /) -> CType: ...
    def list_types(self) -> tuple[list[str], list[str], list[str]]: ...

class _Lib:
    def shunter_last_error(self, buffer: _Pointer, capacity: int, /) -> int: ...
    def shunter_spawner_serve(self, descriptor: int, /) -> int: ...
    def shunter_close(self, handle: int, /) -> int: ...
    def shunter_cluster_open(
        self,
        cores_milli: _Pointer,
        memory_mb: _Pointer,
        gpus: _Pointer,
        partition: _Pointer,
        gpu_type: _Pointer,
        speed_milli: _Pointer,
        rack: _Pointer,
        switch_: _Pointer,
        nodes: int,
        mix: int,
        speeds: _Pointer,
        scopes: _Pointer,
        handle: _Pointer,
        /,
    ) -> int: ...
    def shunter_jobs_open(
        self,
        submit_ms: _Pointer,
        run_ms: _Pointer,
        requested_ms: _Pointer,
        tasks: _Pointer,
        cores_milli: _Pointer,
        memory_mb: _Pointer,
        gpu_milli: _Pointer,
        partition: _Pointer,
        user: _Pointer,
        logged_wait_ms: _Pointer,
        gpu_types: _Pointer,
        kind: _Pointer,
        tier: _Pointer,
        exclusive: _Pointer,
        conditions: _Pointer,
        jobs: int,
        handle: _Pointer,
        /,
    ) -> int: ...
    def shunter_simulation_open(
        self,
        cluster: int,
        jobs: int,
        first: int,
        count: int,
        config: _Pointer,
        scores: _Pointer,
        scores_length: int,
        handle: _Pointer,
        /,
    ) -> int: ...
    def shunter_simulation_fork(self, simulation: int, handle: _Pointer, /) -> int: ...
    def shunter_simulation_serialize(
        self, simulation: int, bytes: _Pointer, capacity: int, needed: _Pointer, /
    ) -> int: ...
    def shunter_simulation_restore(
        self, cluster: int, jobs: int, bytes: _Pointer, length: int, handle: _Pointer, /
    ) -> int: ...
    def shunter_simulation_snapshot(self, simulation: int, snapshot: _Pointer, /) -> int: ...
    def shunter_simulation_load(self, simulation: int, snapshot: _Pointer, /) -> int: ...
    def shunter_simulation_decide(self, simulation: int, order: _Pointer, length: int, handle: _Pointer, /) -> int: ...
    def shunter_decision_read(self, decision: int, told: _Pointer, /) -> int: ...
    def shunter_simulation_consult(
        self, simulation: int, env_config: _Pointer, priority: _Pointer, priority_length: int, handle: _Pointer, /
    ) -> int: ...
    def shunter_consultation_sizes(
        self, consultation: int, observation: _Pointer, actions: _Pointer, rows: _Pointer, /
    ) -> int: ...
    def shunter_consultation_observe(
        self, consultation: int, due: _Pointer, observation: _Pointer, mask: _Pointer, jobs: _Pointer, /
    ) -> int: ...
    def shunter_consultation_act(self, consultation: int, action: int, due: _Pointer, /) -> int: ...
    def shunter_consultation_decision(self, consultation: int, handle: _Pointer, /) -> int: ...
    def shunter_simulation_run(self, simulation: int, most_decisions: int, over: _Pointer, /) -> int: ...
    def shunter_simulation_run_until(self, simulation: int, instant_ms: int, /) -> int: ...
    def shunter_simulation_foresee(
        self,
        simulation: int,
        scores: _Pointer,
        scores_length: int,
        foresight: _Pointer,
        jobs: _Pointer,
        jobs_length: int,
        start_ms: _Pointer,
        /,
    ) -> int: ...
    def shunter_simulation_advance(self, simulation: int, due: _Pointer, /) -> int: ...
    def shunter_simulation_dispatch(self, simulation: int, /) -> int: ...
    def shunter_simulation_dispatch_order(self, simulation: int, order: _Pointer, length: int, /) -> int: ...
    def shunter_simulation_fits(self, simulation: int, job: int, fits: _Pointer, /) -> int: ...
    def shunter_simulation_start(
        self, simulation: int, job: int, nodes: _Pointer, tasks: _Pointer, length: int, /
    ) -> int: ...
    def shunter_simulation_preempt(self, simulation: int, job: int, /) -> int: ...
    def shunter_simulation_status(self, simulation: int, status: _Pointer, /) -> int: ...
    def shunter_simulation_waiting(self, simulation: int, jobs: _Pointer, capacity: int, /) -> int: ...
    def shunter_simulation_jobs(
        self,
        simulation: int,
        phase: _Pointer,
        start_ms: _Pointer,
        latest_start_ms: _Pointer,
        end_ms: _Pointer,
        reserved_ms: _Pointer,
        reject_reason: _Pointer,
        preemptions: _Pointer,
        failures: _Pointer,
        capacity: int,
        /,
    ) -> int: ...
    def shunter_simulation_eligible(self, simulation: int, eligible_ms: _Pointer, capacity: int, /) -> int: ...
    def shunter_simulation_held(
        self, simulation: int, held_ms: _Pointer, lost_ms: _Pointer, capacity: int, /
    ) -> int: ...
    def shunter_simulation_stops(
        self,
        simulation: int,
        job: _Pointer,
        start_ms: _Pointer,
        end_ms: _Pointer,
        by_failure: _Pointer,
        node_offsets: _Pointer,
        capacity: int,
        nodes: _Pointer,
        tasks: _Pointer,
        node_capacity: int,
        /,
    ) -> int: ...
    def shunter_simulation_estimates(
        self, simulation: int, estimate_ms: _Pointer, basis: _Pointer, capacity: int, /
    ) -> int: ...
    def shunter_simulation_placements(
        self,
        simulation: int,
        node_offsets: _Pointer,
        device_offsets: _Pointer,
        jobs: int,
        nodes: _Pointer,
        tasks: _Pointer,
        node_capacity: int,
        devices: _Pointer,
        millis: _Pointer,
        device_capacity: int,
        /,
    ) -> int: ...
    def shunter_batch_run(
        self,
        cluster: int,
        jobs: int,
        config: _Pointer,
        scores: _Pointer,
        scores_length: int,
        first: _Pointer,
        windows: int,
        count: int,
        threads: int,
        eligible_ms: _Pointer,
        start_ms: _Pointer,
        end_ms: _Pointer,
        held_ms: _Pointer,
        lost_ms: _Pointer,
        phase: _Pointer,
        basis: _Pointer,
        /,
    ) -> int: ...
    def shunter_estimates_at_submit(
        self, jobs: int, config: _Pointer, estimate_ms: _Pointer, basis: _Pointer, capacity: int, /
    ) -> int: ...
    def shunter_swf_read(
        self, text: _Pointer, length: int, columns: _Pointer, lines: _Pointer, capacity: int, rows: _Pointer, /
    ) -> int: ...
    def shunter_env_open(
        self,
        tables: _Pointer,
        table_count: int,
        clusters: _Pointer,
        cluster_count: int,
        config: _Pointer,
        env_config: _Pointer,
        priority: _Pointer,
        priority_length: int,
        scores: _Pointer,
        scores_length: int,
        episodes: _Pointer,
        episode_count: int,
        relative_start_ms: _Pointer,
        relative_length: int,
        environments: int,
        handle: _Pointer,
        /,
    ) -> int: ...
    def shunter_env_reset(self, env: int, episodes: _Pointer, observations: _Pointer, masks: _Pointer, /) -> int: ...
    def shunter_env_reseed(self, env: int, seed: int, /) -> int: ...
    def shunter_env_step(
        self,
        env: int,
        actions: _Pointer,
        observations: _Pointer,
        masks: _Pointer,
        rewards: _Pointer,
        terminated: _Pointer,
        truncated: _Pointer,
        invalid: _Pointer,
        final_observations: _Pointer,
        final_masks: _Pointer,
        totals: _Pointer,
        /,
    ) -> int: ...
    def shunter_env_view(
        self,
        env: int,
        jobs: _Pointer,
        now_ms: _Pointer,
        episode: _Pointer,
        waiting: _Pointer,
        running: _Pointer,
        /,
    ) -> int: ...
    def shunter_env_fork(self, env: int, index: int, simulation: _Pointer, /) -> int: ...
    def shunter_env_state(self, env: int, bytes: _Pointer, capacity: int, needed: _Pointer, /) -> int: ...
    def shunter_env_restore(
        self, env: int, bytes: _Pointer, length: int, observations: _Pointer, masks: _Pointer, /
    ) -> int: ...
    def shunter_policy_load(self, path: _Pointer, length: int, handle: _Pointer, /) -> int: ...
    def shunter_policy_open(self, about: _Pointer, length: int, handle: _Pointer, /) -> int: ...
    def shunter_policy_sizes(
        self, policy: int, observation: _Pointer, actions: _Pointer, weights: _Pointer, /
    ) -> int: ...
    def shunter_policy_names(self, policy: int, bytes: _Pointer, capacity: int, needed: _Pointer, /) -> int: ...
    def shunter_policy_set(self, policy: int, weights: _Pointer, length: int, units: _Pointer, /) -> int: ...
    def shunter_policy_get(self, policy: int, weights: _Pointer, length: int, units: _Pointer, /) -> int: ...
    def shunter_policy_instructions(self, policy: int, wanted: int, used: _Pointer, /) -> int: ...
    def shunter_policy_evaluate(
        self, policy: int, observations: _Pointer, masks: _Pointer, count: int, logits: _Pointer, values: _Pointer, /
    ) -> int: ...
    def shunter_policy_activity(
        self, policy: int, observations: _Pointer, masks: _Pointer, count: int, active: _Pointer, length: int, /
    ) -> int: ...
    def shunter_policy_actions(
        self,
        policy: int,
        observations: _Pointer,
        masks: _Pointer,
        count: int,
        draws: int,
        seed: int,
        actions: _Pointer,
        /,
    ) -> int: ...
    def shunter_policy_decide(
        self,
        policy: int,
        simulation: int,
        priority: _Pointer,
        priority_length: int,
        budget_us: int,
        handle: _Pointer,
        /,
    ) -> int: ...
    def shunter_env_play(self, env: int, policy: int, most: int, over: _Pointer, /) -> int: ...
    def shunter_policy_gradient(
        self,
        policy: int,
        options: _Pointer,
        observations: _Pointer,
        masks: _Pointer,
        count: int,
        actions: _Pointer,
        samples: _Pointer,
        gradient: _Pointer,
        loss: _Pointer,
        /,
    ) -> int: ...
    def shunter_learner_open(
        self, policy: int, options: _Pointer, loss: _Pointer, seed: int, handle: _Pointer, /
    ) -> int: ...
    def shunter_learner_update(
        self, learner: int, env: int, policy: int, loss: _Pointer, learning_rate: float, learned: _Pointer, /
    ) -> int: ...
    def shunter_learner_get(
        self, learner: int, first: _Pointer, second: _Pointer, length: int, steps: _Pointer, updates: _Pointer, /
    ) -> int: ...
    def shunter_learner_set(
        self, learner: int, first: _Pointer, second: _Pointer, length: int, steps: int, updates: int, /
    ) -> int: ...
    def shunter_replay_open(self, options: _Pointer, handle: _Pointer, /) -> int: ...
    def shunter_replay_sizes(self, replay: int, drawable: _Pointer, bytes: _Pointer, /) -> int: ...
    def shunter_replay_begin(self, replay: int, observations: _Pointer, masks: _Pointer, /) -> int: ...
    def shunter_replay_add(
        self,
        replay: int,
        actions: _Pointer,
        observations: _Pointer,
        masks: _Pointer,
        rewards: _Pointer,
        terminated: _Pointer,
        truncated: _Pointer,
        final_observations: _Pointer,
        final_masks: _Pointer,
        /,
    ) -> int: ...
    def shunter_replay_sample(
        self,
        replay: int,
        count: int,
        importance_exponent: float,
        observations: _Pointer,
        masks: _Pointer,
        actions: _Pointer,
        returns: _Pointer,
        discounts: _Pointer,
        next_observations: _Pointer,
        next_masks: _Pointer,
        weights: _Pointer,
        places: _Pointer,
        /,
    ) -> int: ...
    def shunter_replay_prioritize(self, replay: int, places: _Pointer, errors: _Pointer, count: int, /) -> int: ...
    def shunter_replay_state(self, replay: int, bytes: _Pointer, capacity: int, needed: _Pointer, /) -> int: ...
    def shunter_replay_restore(self, replay: int, bytes: _Pointer, length: int, /) -> int: ...
    def shunter_number_of(
        self, kind: _Pointer, kind_length: int, name: _Pointer, name_length: int, number: _Pointer, /
    ) -> int: ...
    def shunter_blocks_open(self, config: _Pointer, policy: int, handle: _Pointer, /) -> int: ...
    def shunter_blocks_hosts(self, blocks: int, hosts: _Pointer, /) -> int: ...
    def shunter_blocks_prefer(
        self, blocks: int, memory_mb: int, hosts: _Pointer, capacity: int, told: _Pointer, /
    ) -> int: ...
    def shunter_blocks_order(
        self,
        blocks: int,
        waiting: _Pointer,
        running: _Pointer,
        now_ms: int,
        budget_us: int,
        block: _Pointer,
        times: _Pointer,
        capacity: int,
        told: _Pointer,
        complete: _Pointer,
        /,
    ) -> int: ...
    def shunter_tiers(
        self,
        gpus_per_node: int,
        gpus_per_task: int,
        tasks: int,
        free_gpus: _Pointer,
        capacity: _Pointer,
        nodes: int,
        order: int,
        tier: int,
        part_nodes: _Pointer,
        part_tasks: _Pointer,
        part_capacity: int,
        count: _Pointer,
        score: _Pointer,
        /,
    ) -> int: ...

ffi: _FFI
lib: _Lib
