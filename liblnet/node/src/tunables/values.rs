//! Parsing and checking the values of tunables. An error says what is wanted.

use crate::start_config::StartConfig;
use lnet_core::{Errno, Settings};
use lnet_dlc::ops::global::Setting;
use lnet_dlc::ranges::Range;
use lnet_dlc::request::Tunable;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The largest number of 32 bits, with or without a sign.
pub(super) const MAX_WORD: i64 = u32::MAX as i64;
pub(super) const MAX_INT: i64 = i32::MAX as i64;

/// Parses a number and checks its range.
pub(super) fn read(text: &str, range: RangeInclusive<i64>) -> Result<i64, String> {
    let read = text.parse().ok().filter(|number| range.contains(number));
    read.ok_or_else(|| format!("a number from {} to {}", range.start(), range.end()))
}

/// Stores a number.
pub(super) fn number<V: TryFrom<i64>>(
    place: &mut V,
    text: &str,
    range: RangeInclusive<i64>,
) -> Result<(), String> {
    let read = read(text, range)?;
    *place = V::try_from(read).map_err(|_| "a smaller number".to_owned())?;
    Ok(())
}

/// Stores a number that is also configured in other ways, with the range that it has there; `least` is its smallest value here.
pub(super) fn ranged<V: TryFrom<i64>>(
    place: &mut V,
    text: &str,
    range: Range,
    least: i64,
) -> Result<(), String> {
    number(place, text, least..=range.most)
}

/// Stores a time in seconds.
pub(super) fn seconds(place: &mut Duration, text: &str, least: i64) -> Result<(), String> {
    *place = Duration::from_secs(read(text, least..=MAX_WORD)?.unsigned_abs());
    Ok(())
}

/// Stores a time in milliseconds.
pub(super) fn milliseconds(place: &mut Duration, text: &str, least: i64) -> Result<(), String> {
    *place = Duration::from_millis(read(text, least..=MAX_WORD)?.unsigned_abs());
    Ok(())
}

/// Stores whether something is on.
pub(super) fn switch(place: &mut bool, text: &str) -> Result<(), String> {
    *place = read(text, 0..=1)? == 1;
    Ok(())
}

/// Parses a number and changes a setting of the node to it.
pub(super) fn setting(
    config: &mut StartConfig,
    text: &str,
    tunable: Tunable,
    set: impl FnOnce(&mut Settings, i64) -> Result<(), Errno>,
) -> Result<(), String> {
    let range = Setting::Tunable(tunable).range();
    let number = read(text, range.least..=range.most)?;
    set(&mut config.settings, number).map_err(|errno| format!("another number ({errno})"))
}
