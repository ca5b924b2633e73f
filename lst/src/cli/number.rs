//! Numbers as they are written on the command line.

use std::time::Duration;

/// Decimal, hexadecimal behind `0x`, octal behind `0`, as C's `strtoul` reads them.
pub(super) fn any_base(text: &str) -> Option<u64> {
    let (radix, digits) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, text.get(2..)?),
        [b'0', _, ..] => (8, text.get(1..)?),
        _ => (10, text),
    };
    // `from_str_radix` takes a sign.
    let plain = !digits.is_empty() && digits.bytes().all(|letter| letter.is_ascii_alphanumeric());
    u64::from_str_radix(digits, radix).ok().filter(|_| plain)
}

/// Above 0.
pub(super) fn positive(text: &str) -> Result<u32, String> {
    let wrong = || "it takes a number above 0".to_owned();
    text.parse().ok().filter(|number| *number > 0).ok_or_else(wrong)
}

/// A time in seconds, with or without a fraction.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || "it takes seconds, from 0.1 to 86400".to_owned();
    let seconds = text.parse().ok().filter(|seconds| (0.1..=86400.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(wrong)
}
