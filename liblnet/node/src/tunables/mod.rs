//! The environment variables that tune a node: one table for each module.
//!
//! To add a tunable, add a row. The name is that of the kernel's module parameter, in capitals, after the prefix of
//! the module: `LNET_` or `SOCKLND_`.

mod lnet;
mod socklnd;
#[cfg(test)]
mod tests;
mod values;

use self::lnet::LNET;
use self::socklnd::SOCKLND;
use crate::start_config::StartConfig;

/// One environment variable.
#[derive(Clone, Copy, Debug)]
pub struct Tunable {
    /// Its name.
    pub variable: &'static str,
    /// Its effect and its default, in a few words.
    pub help: &'static str,
    /// Stores its value in the configuration; the error names the valid values.
    pub set: fn(&mut StartConfig, &str) -> Result<(), String>,
}

/// All tunables, in the order in which they are applied: of two that set the same field the later one wins.
pub const TUNABLES: &[Tunable] = &concatenated();

const fn concatenated() -> [Tunable; LNET.len() + SOCKLND.len()] {
    let mut all = [LNET[0]; LNET.len() + SOCKLND.len()];
    let mut n = 1;
    while n < all.len() {
        all[n] = if n < LNET.len() { LNET[n] } else { SOCKLND[n - LNET.len()] };
        n += 1;
    }
    all
}
