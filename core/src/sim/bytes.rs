//! Numbers as bytes, and back: what saved simulations are made of.

use crate::model::job::{Fingerprint, MAX_DURATION_MS, MAX_TIME_MS};
use crate::place::placement::{DeviceShare, Part, Placement};

/// Numbers one after the other, 8 bytes each: simple to check, and fast enough.
#[derive(Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn put(&mut self, value: i64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn put_float(&mut self, value: f64) {
        self.put(value.to_bits() as i64);
    }

    pub(crate) fn put_floats(&mut self, values: &[f64]) {
        self.put_all(values.iter().map(|value| value.to_bits() as i64));
    }

    /// Puts how many there are before them.
    pub(crate) fn put_all(&mut self, values: impl ExactSizeIterator<Item = i64>) {
        self.put(values.len() as i64);
        values.for_each(|value| self.put(value));
    }

    pub(crate) fn put_placement(&mut self, placement: &Placement) {
        let parts = placement.parts().flat_map(|part| [i64::from(part.node), i64::from(part.tasks)]);
        self.put_all(parts.collect::<Vec<_>>().into_iter());
        let shares = placement.devices().iter().flat_map(|share| [i64::from(share.device), i64::from(share.milli)]);
        self.put_all(shares.collect::<Vec<_>>().into_iter());
    }

    /// All that was put, and its checksum.
    pub(crate) fn seal(mut self) -> Vec<u8> {
        self.put(checksum(&self.0) as i64);
        self.0
    }
}

/// Reads what a `Writer` has written, and believes none of it.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Reads bytes whose checksum matches.
    pub(crate) fn new(sealed: &'a [u8]) -> Result<Self, String> {
        let body = sealed.len().checked_sub(8).ok_or("the saved state is cut short")?;
        if sealed.len() % 8 != 0 || checksum(&sealed[..body]).to_le_bytes() != sealed[body..] {
            return Err("the saved state is damaged: its checksum does not match".to_string());
        }
        Ok(Reader(&sealed[..body]))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&mut self) -> Result<i64, String> {
        let (head, rest) = self.0.split_first_chunk::<8>().ok_or("the saved state is cut short")?;
        self.0 = rest;
        Ok(i64::from_le_bytes(*head))
    }

    pub(crate) fn number<T: TryFrom<i64>>(&mut self) -> Result<T, String> {
        let value = self.get()?;
        T::try_from(value).map_err(|_| format!("the saved state has {value} where that cannot be"))
    }

    pub(crate) fn time(&mut self) -> Result<i64, String> {
        checked_time(self.get()?)
    }

    pub(crate) fn duration(&mut self) -> Result<i64, String> {
        let value = self.get()?;
        if (0..=2 * MAX_DURATION_MS).contains(&value) {
            return Ok(value);
        }
        Err(format!("the saved state has {value} ms where that cannot be"))
    }

    /// How often something has happened: few enough that it can happen often again.
    pub(crate) fn count(&mut self) -> Result<u32, String> {
        let value: u32 = self.number()?;
        if value <= u32::MAX / 2 {
            return Ok(value);
        }
        Err(format!("the saved state has {value} where that cannot be"))
    }

    pub(crate) fn flag(&mut self) -> Result<bool, String> {
        Ok(self.get()? != 0)
    }

    pub(crate) fn float(&mut self) -> Result<f64, String> {
        Ok(f64::from_bits(self.get()? as u64))
    }

    pub(crate) fn floats(&mut self) -> Result<Vec<f64>, String> {
        Ok(self.numbers::<i64>()?.into_iter().map(|bits| f64::from_bits(bits as u64)).collect())
    }

    pub(crate) fn numbers<T: TryFrom<i64>>(&mut self) -> Result<Vec<T>, String> {
        let count: usize = self.number()?;
        // Before anything is allocated: a count is not believed either.
        if count > self.0.len() / 8 {
            return Err("the saved state is cut short".to_string());
        }
        (0..count).map(|_| self.number()).collect()
    }

    pub(crate) fn placement(&mut self) -> Result<Placement, String> {
        let mut placement = Placement::default();
        for pair in self.numbers::<u32>()?.chunks_exact(2) {
            placement.push(Part { node: pair[0], tasks: pair[1] });
        }
        for pair in self.numbers::<i32>()?.chunks_exact(2) {
            let device = u32::try_from(pair[0]).map_err(|_| "the saved state has an unknown device")?;
            placement.push_device(DeviceShare { device, milli: pair[1] });
        }
        Ok(placement)
    }
}

/// An instant: far enough from the ends of the range that a duration can be added to it.
pub(crate) fn checked_time(value: i64) -> Result<i64, String> {
    if (-MAX_TIME_MS..=i64::MAX / 2).contains(&value) {
        return Ok(value);
    }
    Err(format!("the saved state has {value} ms where that cannot be"))
}

fn checksum(bytes: &[u8]) -> u64 {
    let mut hash = Fingerprint::default();
    for chunk in bytes.chunks_exact(8) {
        hash.add(u64::from_le_bytes(chunk.try_into().unwrap_or_default()));
    }
    hash.finish()
}
