//! Numbers as they are written on the command line.

use std::time::Duration;

/// Reads a whole number: decimal, hexadecimal behind `0x`, octal behind `0`, with a sign before it.
pub(super) fn whole(text: &str) -> Result<i64, String> {
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    // `from_str_radix` takes a sign of its own.
    if digits.is_empty() || !digits.bytes().all(|letter| letter.is_ascii_alphanumeric()) {
        return Err(NOT_A_NUMBER.to_owned());
    }
    let value = i64::from_str_radix(digits, radix).map_err(|_| NOT_A_NUMBER.to_owned())?;
    Ok(if negative { -value } else { value })
}

/// [`whole`], or the name of a mode of discovery.
pub(super) fn discovery_mode(text: &str) -> Result<i64, String> {
    let wrong = |_| "it takes 0 (off), 1 (on) or 2 (verify)".to_owned();
    lnet_dlc::ops::global::discovery_mode(text).map_or_else(|| whole(text).map_err(wrong), Ok)
}

/// [`whole`], for what C has as an `int`.
pub(super) fn int(text: &str) -> Result<i32, String> {
    i32::try_from(whole(text)?).map_err(|_| "it takes -2147483648 to 2147483647".to_owned())
}

/// [`whole`], without negative ones.
pub(super) fn count(text: &str) -> Result<u32, String> {
    u32::try_from(whole(text)?).map_err(|_| "it takes 0 to 4294967295".to_owned())
}

/// A time in seconds, with or without a fraction.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    const WRONG: &str = "it takes seconds, from 0.1 to 86400";
    let seconds: f64 = text.parse().map_err(|_| WRONG.to_owned())?;
    if (0.1..=86400.0).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(WRONG.to_owned())
    }
}

const NOT_A_NUMBER: &str = "not a whole number (decimal, 0x... or octal 0...)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_fractions_and_limits() {
        assert_eq!(seconds("1"), Ok(Duration::from_secs(1)));
        assert_eq!(seconds("0.25"), Ok(Duration::from_millis(250)));
        for wrong in ["0", "0.01", "-1", "NaN", "inf", "1e9", "x", ""] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_base_is_seen_from_the_first_digits() {
        let table = [("0", 0), ("7", 7), ("-1", -1), ("+5", 5), ("0x1F", 31), ("-0x10", -16), ("017", 15)];
        for (text, expected) in table {
            assert_eq!(whole(text), Ok(expected), "{text}");
        }
        for wrong in ["", "-", "abc", "1x", "0x", "08", "--1", "0x-1", "1 ", "9223372036854775808"] {
            assert!(whole(wrong).is_err(), "{wrong}");
        }
        assert!(int("2147483648").is_err() && count("-1").is_err());
    }

    #[test]
    fn modes_of_discovery_have_names_and_numbers() {
        let table = [("off", 0), ("on", 1), ("verify", 2), ("0", 0), ("0x2", 2), ("-1", -1)];
        for (text, expected) in table {
            assert_eq!(discovery_mode(text), Ok(expected), "{text}");
        }
        assert!(discovery_mode("").is_err() && discovery_mode("ON").is_err());
    }
}
