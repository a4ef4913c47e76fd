//! Observations and masks in little memory: filled rows alone, numbers in two bytes, masks in bits.

use std::collections::VecDeque;

use crate::net::spec::Layout;

/// What 1 is stored as.
const ONE: f32 = u16::MAX as f32;
/// 2^23: a number of single precision that is added to it is rounded to a whole one, which its last bits then are. Several times
/// as fast as a conversion that minds its range, which was checked before.
const WHOLE: f32 = 8_388_608.0;
/// Bits of a word.
const BITS: usize = u16::BITS as usize;
/// Words that are asked for at once, if one observation does not need more.
const CHUNK: usize = 1 << 15;

/// What observations look like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    /// Numbers of an observation.
    pub(crate) size: usize,
    pub(crate) actions: usize,
    /// Numbers beside the rows.
    context: usize,
    row_features: usize,
    pub(crate) most_rows: usize,
    /// Whether all rows are always filled.
    is_host: bool,
}

impl Form {
    pub(crate) fn of(layout: &Layout) -> Self {
        Form {
            size: layout.observation_size(),
            actions: layout.actions(),
            context: layout.context(),
            row_features: layout.row_features(),
            most_rows: layout.most_rows(),
            is_host: layout.is_host(),
        }
    }

    /// How many rows must be stored for nothing to be lost: those that are filled come first, zeros behind.
    fn rows(&self, observation: &[f32], mask: &[u8]) -> usize {
        if self.is_host {
            return self.most_rows;
        }
        let rows = observation[self.context..].chunks_exact(self.row_features);
        // All bits but the sign's, all numbers at once: zeros of either sign are zeros.
        let filled = rows.into_iter().rposition(|row| row.iter().fold(0, |any, value| any | value.to_bits() << 1) != 0);
        let allowed = mask[self.waits()..].iter().rposition(|&allowed| allowed != 0);
        filled.max(allowed).map_or(0, |last| last + 1)
    }

    /// How many actions choose no row; they come first.
    fn waits(&self) -> usize {
        self.actions - self.most_rows
    }

    /// How many numbers of an observation are stored; these come first, whatever the layout.
    fn numbers(&self, rows: usize) -> usize {
        self.context + rows * self.row_features
    }

    /// How many words an observation with its mask takes.
    pub(crate) fn words(&self, rows: usize) -> usize {
        self.numbers(rows) + (self.waits() + rows).div_ceil(BITS)
    }

    /// Packs an observation and its mask; an error if a number is not from 0 to 1, or nothing is allowed.
    pub(crate) fn pack(&self, observation: &[f32], mask: &[u8], into: &mut Packed) -> Result<(), String> {
        let rows = self.rows(observation, mask);
        let numbers = &observation[..self.numbers(rows)];
        if !numbers.iter().fold(true, |all, value| all & (0.0..=1.0).contains(value)) {
            let wrong = numbers.iter().position(|value| !(0.0..=1.0).contains(value)).unwrap_or_default();
            return Err(format!("number {wrong} of an observation is {}; expected 0 to 1", numbers[wrong]));
        }
        into.rows = rows;
        into.words.clear();
        into.words.extend(numbers.iter().map(|value| (value * ONE + WHOLE).to_bits() as u16));
        for some in mask[..self.waits() + rows].chunks(BITS) {
            let bits = some.iter().rev().fold(0, |bits, &allowed| bits << 1 | u16::from(allowed != 0));
            into.words.push(bits);
        }
        self.check(rows, &into.words)
    }

    /// Whether packed words can be what `pack` made: of so many rows, with a mask of these that allows something.
    pub(crate) fn check(&self, rows: usize, words: &[u16]) -> Result<(), String> {
        if rows > self.most_rows || (self.is_host && rows < self.most_rows) || words.len() != self.words(rows) {
            return Err(format!("an observation has {rows} rows; that cannot be"));
        }
        let masks = &words[self.numbers(rows)..];
        if masks.iter().all(|&bits| bits == 0) {
            return Err("a mask allows no action at all; one that is due must allow at least one".to_string());
        }
        let used = (self.waits() + rows) % BITS;
        if used > 0 && masks[masks.len() - 1] >> used != 0 {
            return Err("a mask allows actions that are not there".to_string());
        }
        Ok(())
    }

    /// Whether the mask of packed words allows an action.
    pub(crate) fn allows(&self, rows: usize, words: &[u16], action: u32) -> bool {
        let action = action as usize;
        action < self.waits() + rows && words[self.numbers(rows) + action / BITS] >> (action % BITS) & 1 == 1
    }

    /// Writes an observation and its mask as they were, to 1/65535.
    pub(crate) fn unpack(&self, rows: usize, words: &[u16], observation: &mut [f32], mask: &mut [u8]) {
        let (numbers, bits) = words.split_at(self.numbers(rows));
        let (filled, empty) = observation.split_at_mut(numbers.len());
        for (value, &number) in filled.iter_mut().zip(numbers) {
            *value = f32::from(number) * (1.0 / ONE);
        }
        empty.fill(0.0);
        let (known, beyond) = mask.split_at_mut(self.waits() + rows);
        for (some, &bits) in known.chunks_mut(BITS).zip(bits) {
            for (place, allowed) in some.iter_mut().enumerate() {
                *allowed = (bits >> place & 1) as u8;
            }
        }
        beyond.fill(0);
    }
}

/// One observation with its mask, on its way to a shelf.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packed {
    pub(crate) rows: usize,
    pub(crate) words: Vec<u16>,
}

/// Where an observation stands on a shelf.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// The number of its chunk, which may run over.
    chunk: u32,
    offset: u32,
    pub(crate) rows: u32,
}

/// Packed observations one behind the other: new ones are put at the end, old ones are taken from the beginning.
#[derive(Debug)]
pub(crate) struct Shelf {
    /// Words of a chunk.
    chunk: usize,
    chunks: VecDeque<Vec<u16>>,
    /// The number of the first of them.
    first: u32,
}

impl Shelf {
    /// For about so many observations.
    pub(crate) fn new(form: &Form, observations: usize) -> Self {
        let largest = form.words(form.most_rows);
        let chunk = largest.saturating_mul(observations).min(CHUNK).max(largest);
        Shelf { chunk, chunks: VecDeque::new(), first: 0 }
    }

    pub(crate) fn push(&mut self, packed: &Packed) -> Seen {
        let has_room = self.chunks.back().is_some_and(|last| last.len() + packed.words.len() <= self.chunk);
        if !has_room {
            self.chunks.push_back(Vec::with_capacity(self.chunk));
        }
        let place = self.chunks.len() - 1;
        let last = &mut self.chunks[place];
        let offset = last.len() as u32;
        last.extend_from_slice(&packed.words);
        Seen { chunk: self.first.wrapping_add(place as u32), offset, rows: packed.rows as u32 }
    }

    pub(crate) fn words(&self, form: &Form, seen: Seen) -> &[u16] {
        let chunk = &self.chunks[seen.chunk.wrapping_sub(self.first) as usize];
        &chunk[seen.offset as usize..][..form.words(seen.rows as usize)]
    }

    /// Forgets what stands in chunks before this one.
    pub(crate) fn forget_before(&mut self, seen: Seen) {
        while self.first != seen.chunk {
            self.chunks.pop_front();
            self.first = self.first.wrapping_add(1);
        }
    }

    /// How many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.capacity() * std::mem::size_of::<u16>()).sum()
    }
}
