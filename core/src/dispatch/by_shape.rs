//! What is the same for all jobs of a shape, worked out once in a pass.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::model::random::mix;

/// What is the same for all jobs of a shape as long as nothing starts, worked out once; where working it out is quick,
/// it is worked out again instead.
pub(crate) struct ByShape<T> {
    known: Option<HashMap<u32, T, BuildHasherDefault<NumberHasher>>>,
}

/// Shapes are numbered by us, so nobody can choose them to collide: this is far quicker than the standard hasher.
#[derive(Default)]
struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(byte.into()));
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = mix(self.0 ^ u64::from(number));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The jobs of which it is known that they cannot start as long as nothing starts: by shape, those that last for so long.
pub(crate) struct Refused {
    shortest_ms: Option<HashMap<u32, i64, BuildHasherDefault<NumberHasher>>>,
}

impl Refused {
    /// Nobody is; nor will anybody be where jobs of a shape are not alike (`is_alike`).
    pub(crate) fn new(is_alike: bool) -> Self {
        Refused { shortest_ms: is_alike.then(HashMap::default) }
    }

    /// Whether a job of this shape that lasts for so long is one of them.
    pub(crate) fn has(&self, shape: u32, span_ms: i64) -> bool {
        let shortest_ms = self.shortest_ms.as_ref().and_then(|known| known.get(&shape));
        shortest_ms.is_some_and(|&shortest_ms| span_ms >= shortest_ms)
    }

    /// No job of this shape can start that lasts for so long, or longer.
    pub(crate) fn add(&mut self, shape: u32, span_ms: i64) {
        self.shortest_ms.iter_mut().for_each(|known| {
            known.insert(shape, span_ms);
        });
    }

    /// Something has started.
    pub(crate) fn forget(&mut self) {
        self.shortest_ms.iter_mut().for_each(HashMap::clear);
    }
}

impl<T: Copy> ByShape<T> {
    pub(crate) fn new(is_quick: bool) -> Self {
        ByShape { known: (!is_quick).then(HashMap::default) }
    }

    pub(crate) fn get(&mut self, shape: u32, work_out: impl FnOnce() -> T) -> T {
        match &mut self.known {
            None => work_out(),
            Some(known) => *known.entry(shape).or_insert_with(work_out),
        }
    }

    /// Something has started.
    pub(crate) fn forget(&mut self) {
        self.known.iter_mut().for_each(HashMap::clear);
    }
}
