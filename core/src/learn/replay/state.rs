//! A replay buffer as bytes, and back: the same draws follow.
//!
//! Words of 8 bytes, a checksum last. It is written straight into the caller's memory: a second copy of gigabytes would not
//! fit everywhere.

use super::packing::{Packed, Seen};
use super::track::{Done, End, Track};
use super::{Replay, ReplayOptions, SMALL};
use crate::model::job::Fingerprint;
use crate::net::spec::Layout;

/// The bytes "SHREPLA1".
const MAGIC: u64 = 0x3141_4C50_4552_4853;
const WORD: usize = 8;
/// Numbers of two bytes in a word.
const TOGETHER: usize = 4;

impl Replay {
    /// How many bytes the state takes.
    pub fn state_size(&self) -> usize {
        let mut writer = Writer { into: None, written: 0, hash: Fingerprint::default() };
        self.put(&mut writer);
        writer.written + WORD
    }

    /// Writes everything that decides what comes next into `state_size` bytes.
    pub fn write_state(&self, into: &mut [u8]) {
        let mut writer = Writer { into: Some(into), written: 0, hash: Fingerprint::default() };
        self.put(&mut writer);
        writer.put(writer.hash.finish());
    }

    fn put(&self, writer: &mut Writer) {
        self.options.words().into_iter().for_each(|word| writer.put(word));
        let has_begun = self.tracks.iter().all(|track| track.current.is_some());
        for word in [self.options.seed, self.draws, self.largest.to_bits(), u64::from(has_begun)] {
            writer.put(word);
        }
        for (environment, track) in self.tracks.iter().enumerate() {
            writer.put(track.first);
            writer.put(track.steps.len() as u64);
            self.put_track(track, writer);
            for number in track.first..track.ready {
                writer.put(self.tree.get(self.leaf(environment, number)).to_bits());
            }
        }
    }

    /// Puts what was seen, and between two of these what was done and came of it.
    fn put_track(&self, track: &Track, writer: &mut Writer) {
        let observe = |seen: Seen, writer: &mut Writer| {
            writer.put(u64::from(seen.rows));
            writer.put_all(track.shelf.words(&self.form, seen));
        };
        for step in &track.steps {
            observe(step.seen, writer);
            writer.put((step.end.code() as u64) << 32 | u64::from(step.action));
            writer.put(step.reward.to_bits());
            if step.end == End::Truncated {
                observe(step.next, writer);
            }
        }
        if let Some(current) = track.current {
            observe(current, writer);
        }
    }

    /// Goes back to a state that was written; of one that is damaged or of another buffer, nothing is taken over.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), String> {
        let mut reader = Reader::new(bytes)?;
        for own in self.options.words() {
            if reader.get()? != own {
                return Err(
                    "the state belongs to another replay buffer: another layout, number, n_step, gamma or exponent"
                        .to_string(),
                );
            }
        }
        let seed = reader.get()?;
        let mut found = Replay::new(ReplayOptions { seed, ..self.options })?;
        found.draws = reader.get()?;
        found.largest = f64::from_bits(reader.get()?);
        let is_possible = found.largest.is_finite() && found.largest >= 1.0;
        if !is_possible || (self.options.priority_exponent == 0.0 && found.largest != 1.0) {
            return Err(format!("the state has {} as its largest priority; that cannot be", found.largest));
        }
        let has_begun = match reader.get()? {
            0 => false,
            1 => true,
            other => return Err(format!("the state has {other} for a yes or no")),
        };
        for environment in 0..found.tracks.len() {
            found.take_track(environment, has_begun, &mut reader)?;
        }
        if !reader.0.is_empty() {
            return Err("the state goes on behind its end".to_string());
        }
        *self = found;
        Ok(())
    }

    /// Reads what `put` wrote of one environment, by adding its steps again.
    fn take_track(&mut self, environment: usize, has_begun: bool, reader: &mut Reader) -> Result<(), String> {
        let (first, count) = (reader.get()?, reader.get()?);
        // Far enough from the end of the range for steps to be counted on; none was dropped while there was room.
        let is_possible = first <= u64::MAX / 4 / self.tracks.len() as u64
            && (count == self.each() as u64 || (first == 0 && count < self.each() as u64));
        if !is_possible || (!has_begun && (first, count) != (0, 0)) {
            return Err(format!("the state has {count} steps of environment {environment} from {first} on"));
        }
        let mut track = Track::new(&self.form, self.each(), first);
        if has_begun {
            let (mut seen, mut last) = (self.take_packed(reader)?, Packed::default());
            track.begin(&self.form, &seen);
            for _ in 0..count {
                let done = take_done(reader)?;
                if !self.form.allows(seen.rows, &seen.words, done.action) {
                    return Err(format!("the state has an action {} that its mask does not allow", done.action));
                }
                if done.end == End::Truncated {
                    last = self.take_packed(reader)?;
                }
                seen = self.take_packed(reader)?;
                track.add(&self.options, done, &last, &seen);
            }
        }
        let least = SMALL.powf(self.options.priority_exponent);
        for number in track.first..track.ready {
            let weight = f64::from_bits(reader.get()?);
            if !(least..=self.largest).contains(&weight) {
                return Err(format!("the state has a priority of {weight}; that cannot be"));
            }
            self.tree.set(self.leaf(environment, number), weight);
        }
        self.tracks[environment] = track;
        Ok(())
    }

    fn take_packed(&self, reader: &mut Reader) -> Result<Packed, String> {
        let rows = reader.get()?;
        // Before it is multiplied: a count is not believed either.
        let rows = usize::try_from(rows).ok().filter(|&rows| rows <= self.form.most_rows);
        let rows = rows.ok_or("the state has an observation of more rows than there are")?;
        let words = reader.get_all(self.form.words(rows))?;
        self.form.check(rows, &words)?;
        Ok(Packed { rows, words })
    }
}

fn take_done(reader: &mut Reader) -> Result<Done, String> {
    let (both, reward) = (reader.get()?, f64::from_bits(reader.get()?));
    let end = End::from_code((both >> 32) as i64).ok_or("the state has an episode that ended in no known way")?;
    if !(reward as f32).is_finite() {
        return Err(format!("the state has a reward of {reward}; that cannot be"));
    }
    Ok(Done { action: both as u32, reward, end })
}

impl ReplayOptions {
    /// What a state must agree in.
    fn words(&self) -> [u64; 12] {
        let sizes = match self.layout {
            Layout::Job(jobs) => [0, jobs.window, jobs.lookahead_size, jobs.job_features, jobs.history, jobs.stops],
            Layout::Host { hosts } => [1, hosts, 0, 0, 0, 0],
        };
        let [kind, rows, lookahead, features, history, stops] = sizes.map(|size| size as u64);
        let counts = [self.environments, self.capacity, self.n_step].map(|count| count as u64);
        let numbers = [self.gamma, self.priority_exponent].map(f64::to_bits);
        [
            MAGIC, kind, rows, lookahead, features, history, stops, counts[0], counts[1], counts[2], numbers[0],
            numbers[1],
        ]
    }
}

/// Writes words one behind the other, or only counts them.
struct Writer<'a> {
    into: Option<&'a mut [u8]>,
    written: usize,
    hash: Fingerprint,
}

impl Writer<'_> {
    fn put(&mut self, word: u64) {
        if let Some(into) = &mut self.into {
            into[self.written..self.written + WORD].copy_from_slice(&word.to_le_bytes());
            self.hash.add(word);
        }
        self.written += WORD;
    }

    /// Puts small numbers, with zeros behind them that fill the last word.
    fn put_all(&mut self, numbers: &[u16]) {
        if self.into.is_none() {
            self.written += numbers.len().div_ceil(TOGETHER) * WORD;
            return;
        }
        for some in numbers.chunks(TOGETHER) {
            self.put(some.iter().rev().fold(0, |word, &number| word << 16 | u64::from(number)));
        }
    }
}

/// Reads what a `Writer` has written, and believes none of it.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Reads bytes whose checksum matches.
    fn new(bytes: &'a [u8]) -> Result<Self, String> {
        let damaged = || "the state of the replay buffer is damaged; take another copy".to_string();
        let (body, seal) = bytes.split_at_checked(bytes.len().wrapping_sub(WORD)).ok_or_else(damaged)?;
        let mut hash = Fingerprint::default();
        let words = body.chunks_exact(WORD);
        let is_whole = words.remainder().is_empty();
        words.for_each(|word| hash.add(u64::from_le_bytes(word.try_into().unwrap_or_default())));
        if !is_whole || hash.finish().to_le_bytes() != seal {
            return Err(damaged());
        }
        Ok(Reader(body))
    }

    fn get(&mut self) -> Result<u64, String> {
        let (head, rest) = self.0.split_first_chunk::<WORD>().ok_or("the state ends too early")?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*head))
    }

    fn get_all(&mut self, count: usize) -> Result<Vec<u16>, String> {
        let size = count.div_ceil(TOGETHER) * WORD;
        let (numbers, rest) = self.0.split_at_checked(size).ok_or("the state ends too early")?;
        self.0 = rest;
        let pairs = numbers.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        Ok(pairs.take(count).collect())
    }
}
