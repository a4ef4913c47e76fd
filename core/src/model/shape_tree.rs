//! Shapes arranged by what they ask for: those that ask for much the same stand together, so that many are ruled out at once.

use crate::model::cluster::Cluster;
use crate::model::free::Free;
use crate::model::groups::Group;
use crate::model::job::Shape;
use crate::model::leftover::Leftover;
use crate::model::peaks::asked;

/// The least that the shapes below a node of the tree ask for. What has no room for this has no room for any of them.
#[derive(Clone, Copy, Debug)]
struct Least {
    cores_milli: i64,
    memory_mb: i64,
    gpu_milli: i64,
    tasks: u32,
    /// The partition, if all name the same.
    partition: Option<u32>,
}

impl Least {
    fn of(shape: &Shape) -> Self {
        let Shape { tasks, cores_milli, memory_mb, gpu_milli, partition, .. } = *shape;
        Least { cores_milli, memory_mb, gpu_milli, tasks, partition }
    }

    fn or_less(self, other: Least) -> Self {
        Least {
            cores_milli: self.cores_milli.min(other.cores_milli),
            memory_mb: self.memory_mb.min(other.memory_mb),
            gpu_milli: self.gpu_milli.min(other.gpu_milli),
            tasks: self.tasks.min(other.tasks),
            partition: self.partition.filter(|_| self.partition == other.partition),
        }
    }
}

/// A tree over shapes, halved again and again by the amount in which they differ most.
#[derive(Debug)]
pub(crate) struct ShapeTree {
    /// For each shape, its leaf.
    leaf_of: Vec<u32>,
    /// For each leaf, its shape; some leaves have none.
    shape_at: Vec<u32>,
    /// Node 1 is the root, and node i has the children 2i and 2i + 1.
    least: Vec<Least>,
}

impl ShapeTree {
    /// Arranges shapes.
    pub(crate) fn new(shapes: &[Shape]) -> Self {
        let leaves = shapes.len().next_power_of_two();
        let nothing = Least { cores_milli: 0, memory_mb: 0, gpu_milli: 0, tasks: 0, partition: None };
        let mut tree = ShapeTree {
            leaf_of: vec![0; shapes.len()],
            shape_at: vec![u32::MAX; leaves],
            least: vec![nothing; 2 * leaves],
        };
        let mut numbers: Vec<u32> = (0..shapes.len() as u32).collect();
        if !numbers.is_empty() {
            tree.arrange(shapes, &mut numbers, 1);
        }
        tree
    }

    /// Puts these shapes below a node.
    fn arrange(&mut self, shapes: &[Shape], numbers: &mut [u32], node: usize) -> Least {
        let leaves = self.shape_at.len();
        if node >= leaves {
            self.shape_at[node - leaves] = numbers[0];
            self.leaf_of[numbers[0] as usize] = (node - leaves) as u32;
            self.least[node] = Least::of(&shapes[numbers[0] as usize]);
            return self.least[node];
        }
        let asks: [fn(&Shape) -> i64; 5] = [
            |shape| shape.cores_milli,
            |shape| i64::from(shape.tasks),
            |shape| shape.memory_mb,
            |shape| shape.gpu_milli,
            |shape| shape.partition.map_or(-1, i64::from),
        ];
        // How many times the least the most is: so cores, megabytes and tasks can be compared.
        let spread = |ask: &fn(&Shape) -> i64| {
            let all = || numbers.iter().map(|&number| ask(&shapes[number as usize]));
            let (least, most) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
            ((most + 2) as f64 / (least + 2) as f64 * 1e6) as i64
        };
        let ask = *asks.iter().max_by_key(|ask| spread(ask)).unwrap_or(&asks[0]);
        let half = numbers.len().div_ceil(2);
        numbers.select_nth_unstable_by_key(half - 1, |&number| (ask(&shapes[number as usize]), number));
        let (lower, upper) = numbers.split_at_mut(half);
        let mut least = self.arrange(shapes, lower, 2 * node);
        if !upper.is_empty() {
            least = least.or_less(self.arrange(shapes, upper, 2 * node + 1));
        }
        self.least[node] = least;
        least
    }

    /// For each shape, its leaf.
    pub(crate) fn leaf_of(&self) -> &[u32] {
        &self.leaf_of
    }

    /// The shape of a leaf that has one.
    pub(crate) fn shape_at(&self, leaf: u32) -> u32 {
        self.shape_at[leaf as usize]
    }

    /// How many leaves there are, a power of two.
    pub(crate) fn leaves(&self) -> usize {
        self.shape_at.len()
    }

    /// The partition of all shapes below a node, if they name the same.
    pub(crate) fn partition(&self, node: usize) -> Option<u32> {
        self.least[node].partition
    }

    /// Whether any shape below a node could ask for no more than so many milli-cores and milli-GPUs in all: if not, none does.
    pub(crate) fn asks_at_most(&self, node: usize, [cores_milli, gpu_milli]: [i64; 2]) -> bool {
        let least = &self.least[node];
        let tasks = i64::from(least.tasks);
        tasks * least.cores_milli <= cores_milli && tasks * least.gpu_milli <= gpu_milli
    }

    /// Whether jobs of any shape below a node could run on without being in the way of one that waits for its time: if not,
    /// those of none could.
    #[inline]
    pub(crate) fn may_run_on(&self, leftover: &Leftover, node: usize) -> bool {
        let Least { cores_milli, memory_mb, gpu_milli, tasks, .. } = self.least[node];
        leftover.may_hold(&asked(cores_milli, memory_mb, gpu_milli), tasks)
    }

    /// Whether any shape below a node could have room in what is free: if not, none has.
    #[inline]
    pub(crate) fn may_hold(&self, cluster: &Cluster, free: &Free, node: usize) -> bool {
        let Least { cores_milli, memory_mb, gpu_milli, tasks, partition } = self.least[node];
        let asked = asked(cores_milli, memory_mb, gpu_milli);
        let holds = |group: &Group| free.may_hold(group, &asked, tasks);
        i64::from(tasks) * cores_milli <= free.total_cores_milli()
            && cluster.groups_within(partition, gpu_milli > 0).iter().any(holds)
    }
}
