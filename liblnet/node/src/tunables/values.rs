//! What the values of tunables may be, and how they are read.

use crate::start_config::StartConfig;
use lnet_core::{Errno, Settings};
use std::time::Duration;

/// What is said of text that is no number, and of a number out of range.
const WANTED: &str = "a number in the range that the variable has";

/// Reads a number, checks it with `accept` and puts it in its place.
pub(super) fn put<N: std::str::FromStr, V>(
    place: &mut V,
    text: &str,
    accept: impl FnOnce(N) -> Option<V>,
) -> Result<(), &'static str> {
    *place = text.parse().ok().and_then(accept).ok_or(WANTED)?;
    Ok(())
}

/// Reads a number and sets a setting of the whole node to it.
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
