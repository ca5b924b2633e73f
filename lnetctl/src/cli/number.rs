//! Numbers as they are written on the command line.

pub(super) use lnet_command_line::number::seconds;

use lnet_command_line::number::any_base;

/// Reads a whole number: decimal, hexadecimal behind `0x`, octal behind `0`, with a sign before it.
pub(super) fn whole(text: &str) -> Result<i64, String> {
    let (sign, digits) = match text.as_bytes().first() {
        Some(b'-') => (-1, &text[1..]),
        Some(b'+') => (1, &text[1..]),
        _ => (1, text),
    };
    let value = any_base(digits).and_then(|value| i64::try_from(value).ok());
    value.map(|value| sign * value).ok_or_else(|| NOT_A_NUMBER.to_owned())
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

const NOT_A_NUMBER: &str = "not a whole number (decimal, 0x... or octal 0...)";

#[cfg(test)]
mod tests {
    use super::*;

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
