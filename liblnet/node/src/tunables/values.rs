//! Parsing and checking the values of tunables.

use crate::start_config::StartConfig;
use lnet_core::{Errno, Settings};
use std::time::Duration;

/// The error for text that is not a number, and for a number out of range.
const WANTED: &str = "a number in the range that the variable has";

/// Parses a number, checks it with `accept` and stores it.
pub(super) fn put<N: std::str::FromStr, V>(
    place: &mut V,
    text: &str,
    accept: impl FnOnce(N) -> Option<V>,
) -> Result<(), &'static str> {
    *place = text.parse().ok().and_then(accept).ok_or(WANTED)?;
    Ok(())
}

/// Parses a number and changes a setting of the node to it.
pub(super) fn settings(
    config: &mut StartConfig,
    text: &str,
    set: impl FnOnce(&mut Settings, i64) -> Result<(), Errno>,
) -> Result<(), &'static str> {
    let number = text.parse().map_err(|_| WANTED)?;
    set(&mut config.settings, number).map_err(|_| WANTED)
}

pub(super) fn positive(number: u32) -> Option<u32> {
    (number > 0).then_some(number)
}

pub(super) fn seconds(number: u32) -> Option<Duration> {
    (number > 0).then(|| Duration::from_secs(number.into()))
}

pub(super) fn seconds_or_default(number: u32) -> Option<Duration> {
    Some(Duration::from_secs(number.into()))
}

pub(super) fn milliseconds(number: u32) -> Option<Duration> {
    Some(Duration::from_millis(number.into()))
}

pub(super) fn switch(number: u8) -> Option<bool> {
    (number <= 1).then_some(number == 1)
}
