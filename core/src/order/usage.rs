//! What users have used: their jobs' sizes times seconds, which weigh half as much after every half-life.

use std::f64::consts::LN_2;

use crate::model::size::units;
use crate::sim::bytes::{Reader, Writer};

/// One user's use so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Account {
    /// Sizes times seconds, decayed, at `at_ms`.
    pub used: f64,
    /// When the sum was last brought up to date.
    pub at_ms: i64,
    /// The size of what the user holds since then, in millionths.
    pub held_micro: i64,
}

impl Account {
    fn at(&self, now_ms: i64, half_life_s: f64) -> f64 {
        let elapsed_s = (now_ms - self.at_ms) as f64 / 1000.0;
        let decayed = (-(elapsed_s / half_life_s) * LN_2).exp();
        let held = units(self.held_micro);
        // What was used before fades; what is held since then is the integral of held · 2^(−age / half-life).
        self.used * decayed + held * (1.0 - decayed) * half_life_s / LN_2
    }

    fn change(&mut self, now_ms: i64, half_life_s: f64, micro: i64) {
        self.used = self.at(now_ms, half_life_s);
        self.at_ms = now_ms;
        self.held_micro = self.held_micro.saturating_add(micro);
    }
}

/// The accounts of all users, and their sum.
#[derive(Clone, Debug)]
pub struct Usage {
    half_life_s: f64,
    /// Of each user, as a part of all shares.
    shares: Vec<f64>,
    pub(crate) accounts: Vec<Account>,
    total: Account,
}

impl Usage {
    /// Nobody has used anything. Without shares, all users have the same; only those that are known count.
    pub fn new(known: &[bool], half_life_s: f64, shares: &[f64], now_ms: i64) -> Result<Self, String> {
        let users = known.len();
        let is_good = |value: f64| value > 0.0 && value.is_finite();
        if !is_good(half_life_s) {
            return Err(format!("the half-life is {half_life_s} s; expected a positive number"));
        }
        if !shares.is_empty() && shares.len() != users {
            return Err(format!("{} shares were given for {users} users", shares.len()));
        }
        if let Some(&share) = shares.iter().find(|&&share| !is_good(share)) {
            return Err(format!("a share is {share}; expected a positive number"));
        }
        let shares = if shares.is_empty() { vec![1.0; users] } else { shares.to_vec() };
        // Users who have not come yet are none of those whose parts add up to 1: nobody knows of them.
        let sum: f64 = shares.iter().zip(known).filter(|(_, &known)| known).map(|(share, _)| share).sum();
        let account = Account { at_ms: now_ms, ..Account::default() };
        Ok(Usage {
            half_life_s,
            shares: shares.into_iter().map(|share| share / sum).collect(),
            accounts: vec![account; users],
            total: account,
        })
    }

    /// A job of the user starts (its size, in millionths) or stops (minus that).
    pub fn change(&mut self, user: u32, now_ms: i64, micro: i64) {
        self.accounts[user as usize].change(now_ms, self.half_life_s, micro);
        self.total.change(now_ms, self.half_life_s, micro);
    }

    /// A job of the user is found running: it has counted since the accounts were brought up to date.
    pub(crate) fn hold(&mut self, user: u32, micro: i64) {
        for account in [&mut self.accounts[user as usize], &mut self.total] {
            account.held_micro = account.held_micro.saturating_add(micro);
        }
    }

    /// A user's use, divided by the user's share.
    pub fn over_share(&self, user: u32, now_ms: i64) -> f64 {
        self.accounts[user as usize].at(now_ms, self.half_life_s) / self.shares[user as usize]
    }

    /// Slurm's factor: 1 for those who have used nothing, 1/2 for those who have used just their share.
    pub fn factor(&self, user: u32, now_ms: i64) -> f64 {
        let total = self.total.at(now_ms, self.half_life_s);
        if total <= 0.0 {
            return 1.0;
        }
        let part = self.accounts[user as usize].at(now_ms, self.half_life_s) / total;
        (-(part / self.shares[user as usize]) * LN_2).exp()
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        for account in self.accounts.iter().chain([&self.total]) {
            out.put_float(account.used);
            out.put(account.at_ms);
            out.put(account.held_micro);
        }
    }

    pub(crate) fn read(&mut self, input: &mut Reader) -> Result<(), String> {
        for account in self.accounts.iter_mut().chain([&mut self.total]) {
            account.used = input.float()?;
            account.at_ms = input.time()?;
            // What is held follows from who runs: `hold` is told of it. What was saved may be in other units.
            input.get()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_is_left_after_a_half_life() {
        let mut usage = Usage::new(&[true; 2], 100.0, &[], 0).unwrap();
        usage.change(0, 0, 4_000_000);
        usage.change(0, 10_000, -4_000_000);
        let then = usage.accounts[0].at(10_000, 100.0);
        // Four cores for ten seconds, the first of them worth a little less.
        assert!((38.0..40.0).contains(&then));
        assert!((usage.accounts[0].at(110_000, 100.0) - then / 2.0).abs() < 1e-9);
        assert_eq!(usage.factor(1, 10_000), 1.0);
        assert!((usage.factor(0, 10_000) - 0.25).abs() < 1e-12);
        assert!((usage.over_share(0, 10_000) - 2.0 * then).abs() < 1e-9);
    }

    #[test]
    fn impossible_parameters_are_refused() {
        assert!(Usage::new(&[true; 2], 0.0, &[], 0).is_err());
        assert!(Usage::new(&[true; 2], 1.0, &[1.0], 0).is_err());
        assert!(Usage::new(&[true; 2], 1.0, &[1.0, -1.0], 0).is_err());
    }
}
