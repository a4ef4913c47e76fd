//! A sum tree: the weights of places, and which place a part of their sum falls on.

/// A binary tree over places whose inner nodes are the sums of what is below them.
#[derive(Debug)]
pub(crate) struct SumTree {
    /// A power of two; the leaf of a place stands so far behind its number.
    leaves: usize,
    /// The root is the second: the children of a node are at twice its number, and behind it.
    nodes: Vec<f64>,
}

impl SumTree {
    /// For so many places, all of weight 0.
    pub(crate) fn new(places: usize) -> Self {
        let leaves = places.next_power_of_two();
        SumTree { leaves, nodes: vec![0.0; 2 * leaves] }
    }

    pub(crate) fn get(&self, place: usize) -> f64 {
        self.nodes[self.leaves + place]
    }

    /// How many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        std::mem::size_of_val(self.nodes.as_slice())
    }

    pub(crate) fn set(&mut self, place: usize, weight: f64) {
        let mut node = self.leaves + place;
        self.nodes[node] = weight;
        while node > 1 {
            node /= 2;
            // Added up anew, not changed by a difference: errors of rounding do not pile up.
            self.nodes[node] = self.nodes[2 * node] + self.nodes[2 * node + 1];
        }
    }

    /// The place at a part of the sum, from 0 to below 1. Some weight must be above 0, and so is that of the place.
    pub(crate) fn find(&self, part: f64) -> usize {
        let mut rest = part * self.nodes[1];
        let mut node = 1;
        while node < self.leaves {
            let (left, right) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
            // A rounded sum may end up beyond the last weight: never to where there is none.
            if rest < left || right <= 0.0 {
                node *= 2;
            } else {
                rest -= left;
                node = 2 * node + 1;
            }
        }
        node - self.leaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_fall_on_places_by_weight() {
        let mut tree = SumTree::new(5);
        for (place, weight) in [(0, 1.0), (2, 2.0), (4, 5.0)] {
            tree.set(place, weight);
        }
        let found: Vec<usize> = (0..8).map(|eighth| tree.find(f64::from(eighth) / 8.0)).collect();
        assert_eq!(found, [0, 2, 2, 4, 4, 4, 4, 4]);
    }

    #[test]
    fn what_has_no_weight_is_never_found() {
        let mut tree = SumTree::new(3);
        tree.set(0, 0.1);
        tree.set(1, 0.2);
        assert_eq!(tree.find(1.0), 1);
        tree.set(1, 0.0);
        assert_eq!(tree.find(1.0 - f64::EPSILON), 0);
        assert_eq!(SumTree::new(1).find(0.5), 0);
    }

    #[test]
    fn sums_do_not_drift() {
        let mut tree = SumTree::new(7);
        for round in 0..100_000u32 {
            tree.set((round % 7) as usize, f64::from(round % 13) * 0.1 + 1e9 * f64::from(round % 3));
        }
        (0..7).for_each(|place| tree.set(place, 0.25));
        assert_eq!(tree.nodes[1], 1.75);
    }
}
