//! A placement by a learned policy: it is shown the hosts, and chooses one for each task of a job.

use std::cell::RefCell;
use std::fmt;
use std::sync::OnceLock;

use crate::net::batch::Batch;
use crate::net::choice::best_action;
use crate::net::network::Network;
use crate::net::sha256::sha256;
use crate::net::spec::NetworkKind;
use crate::net::workspace::Workspace;
use crate::place::placement::Placement;
use crate::place::rules::Search;
use crate::place::task_by_task::{TaskByTask, HOST_FEATURES, TASK_FEATURES};

/// A learned policy that chooses hosts. It never changes, so that copies and threads share one.
pub struct HostPolicy {
    network: Network,
    fingerprint: OnceLock<String>,
}

impl HostPolicy {
    /// A placement by this network; an error if it does not choose hosts.
    pub fn new(network: Network) -> Result<Self, String> {
        if !network.layout.is_host() {
            return Err("the policy chooses jobs (pick-job); a placement takes one that chooses hosts".to_string());
        }
        Ok(HostPolicy { network, fingerprint: OnceLock::new() })
    }

    /// Who decides.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Whether it can choose among so many hosts.
    pub(crate) fn check(&self, hosts: usize) -> Result<(), String> {
        // One encoder for every host does not mind how many there are.
        if self.network.spec.kind == NetworkKind::Hosts || self.network.layout.actions() == hosts {
            return Ok(());
        }
        let own = self.network.layout.actions();
        Err(format!(
            "the placement's network reads {own} hosts, and the cluster has {hosts}; a network of the kind hosts reads \
             any number"
        ))
    }

    fn fingerprint(&self) -> &str {
        self.fingerprint.get_or_init(|| {
            let Network { layout, spec, .. } = &self.network;
            let mut bytes = format!("{layout:?} {spec:?}").into_bytes();
            bytes.extend(self.network.weights().iter().flat_map(|weight| weight.to_le_bytes()));
            sha256(&bytes)
        })
    }
}

impl fmt::Debug for HostPolicy {
    /// What tells it from others, in every process: fingerprints of environments are made of it.
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "HostPolicy({})", self.fingerprint())
    }
}

/// What a choice needs room for; kept from job to job, for placements are asked for very often.
#[derive(Default)]
struct Scratch {
    tasks: TaskByTask,
    observation: Vec<f32>,
    mask: Vec<u8>,
    batch: Batch,
    workspace: Workspace,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl Search<'_> {
    /// The hosts that a learned policy chooses, task by task; none if the job does not fit.
    pub(crate) fn by_policy(&self, policy: &HostPolicy) -> Option<Placement> {
        SCRATCH.with_borrow_mut(|scratch| {
            let Scratch { tasks, observation, mask, batch, workspace } = scratch;
            if !tasks.begin(self.cluster, self.free, self.shape) {
                return None;
            }
            let hosts = self.cluster.nodes.len();
            observation.resize(hosts * HOST_FEATURES + TASK_FEATURES, 0.0);
            mask.resize(hosts, 0);
            while !tasks.is_done() {
                tasks.mask(mask);
                tasks.observe(self.cluster, self.free, Some(self.shape), observation);
                let host = best_action(&policy.network, batch, workspace, observation, mask).ok()?;
                tasks.give(self.cluster, self.shape, host);
            }
            let mut placement = Placement::default();
            tasks.parts().for_each(|part| placement.push(part));
            Some(placement)
        })
    }

    /// The hosts for a job of one task, by how much a learned policy likes them, at most so many; none if it does not fit.
    pub(crate) fn ranked_by(&self, policy: &HostPolicy, most: usize) -> Vec<u32> {
        SCRATCH.with_borrow_mut(|scratch| {
            let Scratch { tasks, observation, mask, batch, workspace } = scratch;
            if !tasks.begin(self.cluster, self.free, self.shape) {
                return Vec::new();
            }
            let hosts = self.cluster.nodes.len();
            observation.resize(hosts * HOST_FEATURES + TASK_FEATURES, 0.0);
            mask.resize(hosts, 0);
            tasks.mask(mask);
            tasks.observe(self.cluster, self.free, Some(self.shape), observation);
            batch.clear();
            if policy.network.push(batch, observation, mask).is_err() {
                return Vec::new();
            }
            workspace.score_all(&policy.network, batch);
            let mut ranked: Vec<usize> = (0..batch.choices.len()).collect();
            // Of equal ones the first, as in `greedy`.
            ranked.sort_by(|&one, &other| workspace.logits[other].total_cmp(&workspace.logits[one]));
            ranked.iter().take(most).map(|&choice| batch.choices[choice].action).collect()
        })
    }
}
