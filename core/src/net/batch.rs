//! Observations in the form in which networks read them: only rows that count, one sample's behind the other's.

use super::beginning::{host_beginning, order_beginning};
use super::matmul::padded;
use super::spec::{JobLayout, Layout, NetworkKind, NetworkSpec, HOST_FEATURES, HOST_JOB_FEATURES, HOST_ROW, SCALES};

/// Jobs are small beside the largest host.
const JOB_SCALE: f32 = 8.0;

/// One action that the mask allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    /// Its number.
    pub(crate) action: u32,
    /// The row that it chooses, counted among those that the batch holds of its sample; none: to wait.
    pub(crate) row: Option<u32>,
}

/// How observations are packed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packing {
    layout: Layout,
    kind: NetworkKind,
    temperature: Option<f32>,
    pub(crate) context: usize,
    /// The distance of rows in a batch.
    pub(crate) row_stride: usize,
}

impl Packing {
    pub(crate) fn of(layout: Layout, spec: &NetworkSpec) -> Self {
        let (context, row_stride) = match (spec.kind, layout) {
            // All rows of a sample are one long row: nothing may stand between them.
            (NetworkKind::Mlp | NetworkKind::Layers, _) => (layout.context(), layout.row_features()),
            (_, Layout::Job(jobs)) => (jobs.context(), padded(jobs.job_features)),
            (_, Layout::Host { .. }) => (0, padded(HOST_ROW)),
        };
        Packing { layout, kind: spec.kind, temperature: spec.order_temperature, context, row_stride }
    }
}

/// Packed observations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    pub(crate) context: Vec<f32>,
    pub(crate) rows: Vec<f32>,
    /// Where each sample's rows end, counted in rows.
    pub(crate) row_ends: Vec<usize>,
    pub(crate) choices: Vec<Choice>,
    pub(crate) choice_ends: Vec<usize>,
    /// For each choice, what the network's scores are added to; empty if they are added to nothing.
    pub(crate) beginnings: Vec<f32>,
}

impl Batch {
    pub(crate) fn clear(&mut self) {
        self.context.clear();
        self.rows.clear();
        self.row_ends.clear();
        self.choices.clear();
        self.choice_ends.clear();
        self.beginnings.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.row_ends.len()
    }

    /// Which rows a sample has.
    pub(crate) fn rows_of(&self, sample: usize) -> std::ops::Range<usize> {
        range_of(&self.row_ends, sample)
    }

    /// Which choices a sample has.
    pub(crate) fn choices_of(&self, sample: usize) -> std::ops::Range<usize> {
        range_of(&self.choice_ends, sample)
    }

    /// Packs one observation; an error if the mask allows nothing.
    pub(crate) fn push(&mut self, packing: &Packing, observation: &[f32], mask: &[u8]) -> Result<(), String> {
        let first = self.choices.len();
        match packing.layout {
            Layout::Job(jobs) => self.push_jobs(packing, &jobs, observation, mask),
            Layout::Host { .. } => self.push_hosts(packing, observation, mask),
        }
        if self.choices.len() == first {
            return Err("a mask allows no action at all; one that is due must allow at least one".to_string());
        }
        self.row_ends.push(self.rows.len() / packing.row_stride);
        self.choice_ends.push(self.choices.len());
        Ok(())
    }

    fn push_jobs(&mut self, packing: &Packing, layout: &JobLayout, observation: &[f32], mask: &[u8]) {
        let (context, rows) = observation.split_at(layout.context());
        self.context.extend_from_slice(context);
        if mask[0] != 0 {
            self.choices.push(Choice { action: 0, row: None });
        }
        // Scores are made of rows that may be chosen; where rows look at each other, of all that are filled.
        let takes_all = packing.kind != NetworkKind::Kernel;
        let mut taken = 0;
        // Filled rows come first, and say so in their first number.
        let filled = rows.chunks_exact(layout.job_features).take_while(|row| row[0] > 0.0);
        for (number, (row, &allowed)) in filled.zip(&mask[1..]).enumerate() {
            if allowed != 0 {
                self.choices.push(Choice { action: number as u32 + 1, row: Some(taken) });
            } else if !takes_all {
                continue;
            }
            self.rows.extend_from_slice(row);
            self.rows.resize(self.rows.len() + packing.row_stride - layout.job_features, 0.0);
            taken += 1;
        }
        if let Some(temperature) = packing.temperature {
            order_beginning(rows, layout.job_features, mask, temperature, &mut self.beginnings);
        }
    }

    fn push_hosts(&mut self, packing: &Packing, observation: &[f32], mask: &[u8]) {
        let (hosts, job) = observation.split_at(observation.len() - HOST_JOB_FEATURES);
        for (number, (host, &allowed)) in hosts.chunks_exact(HOST_FEATURES).zip(mask).enumerate() {
            if allowed != 0 {
                self.choices.push(Choice { action: number as u32, row: Some(number as u32) });
            }
            if packing.kind == NetworkKind::Hosts {
                self.rows.extend_from_slice(&host_row(host, job, allowed != 0));
                self.rows.resize(self.rows.len() + packing.row_stride - HOST_ROW, 0.0);
            }
        }
        if packing.kind != NetworkKind::Hosts {
            self.context.extend_from_slice(job);
            self.rows.extend_from_slice(hosts);
        }
        if let Some(temperature) = packing.temperature {
            host_beginning(hosts, mask, temperature, &mut self.beginnings);
        }
    }
}

/// What one of several has, given where each ends.
pub(crate) fn range_of(ends: &[usize], place: usize) -> std::ops::Range<usize> {
    place.checked_sub(1).map_or(0, |before| ends[before])..ends[place]
}

/// What would be left of a host; best-fit is then nearly a weighted sum.
fn host_row(host: &[f32], job: &[f32], allowed: bool) -> [f32; HOST_ROW] {
    let free = free_parts(host);
    let left = [free[0] - job[0], free[1] - job[1]];
    let mut row = [0.0; HOST_ROW];
    row[..4].copy_from_slice(host);
    // Every job has some memory: this tells how many there are, and so how soon one will end.
    row[4] = host[1] * host[3];
    row[5..7].copy_from_slice(&free);
    row[7..9].copy_from_slice(&left);
    for (place, scale) in SCALES.into_iter().enumerate() {
        row[9 + place] = (left[0] * scale).clamp(0.0, 1.0);
        row[9 + SCALES.len() + place] = (free[0] * scale).clamp(0.0, 1.0);
    }
    row[HOST_ROW - 3] = f32::from(u8::from(allowed));
    row[HOST_ROW - 2] = job[0] * JOB_SCALE;
    row[HOST_ROW - 1] = job[1] * JOB_SCALE;
    row
}

/// Free cores and memory of a host, as parts of what the largest host has.
pub(crate) fn free_parts(host: &[f32]) -> [f32; 2] {
    [(1.0 - host[0]) * host[2], (1.0 - host[1]) * host[3]]
}
