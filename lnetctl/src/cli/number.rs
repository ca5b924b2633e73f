//! Numbers as they are written on the command line.

pub(super) use lnet_command_line::number::seconds;

use lnet_command_line::number::any_base;
use lnet_dlc::host_names::Names;
use lnet_dlc::ops::policy::priority_of;
use lnet_dlc::ranges::{RULE_PRIORITY, Range};
use lnet_settings::Values;
use lnet_wire::Nid;

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

/// [`whole`], or one of the words of these values.
pub(super) fn of_words(values: Values, text: &str) -> Result<i64, String> {
    let wrong = |_| format!("it takes {}", values.wanted());
    values.number_of(text).map_or_else(|| whole(text).map_err(wrong), Ok)
}

/// [`whole`], for what C has as an `int`.
pub(super) fn int(text: &str) -> Result<i32, String> {
    i32::try_from(whole(text)?).map_err(|_| "it takes -2147483648 to 2147483647".to_owned())
}

/// [`whole`], without negative ones.
pub(super) fn count(text: &str) -> Result<u32, String> {
    u32::try_from(whole(text)?).map_err(|_| "it takes 0 to 4294967295".to_owned())
}

/// [`whole`], within a range.
pub(super) fn within(range: Range) -> impl Fn(&str) -> Result<i64, String> + Clone + Send + Sync + 'static {
    move |text| {
        let value = whole(text).map_err(|error| format!("{error}, from {}", range.wanted()))?;
        range.check(value).map_err(|error| error.to_string())
    }
}

/// [`within`], for numbers without negative values.
pub(super) fn counted(range: Range) -> impl Fn(&str) -> Result<u32, String> + Clone + Send + Sync + 'static {
    let within = within(range);
    move |text| u32::try_from(within(text)?).map_err(|_| format!("it takes {}", range.wanted()))
}

/// [`within`], for what C has as an `int`.
pub(super) fn int_within(
    range: Range,
) -> impl Fn(&str) -> Result<i32, String> + Clone + Send + Sync + 'static {
    let within = within(range);
    move |text| i32::try_from(within(text)?).map_err(|_| format!("it takes {}", range.wanted()))
}

/// The priority of a selection rule.
pub(super) fn rule_priority(text: &str) -> Result<u32, String> {
    let value = whole(text).map_err(|error| format!("{error}, from {}", RULE_PRIORITY.wanted()))?;
    priority_of(value).map_err(|error| error.to_string())
}

/// The NID of an interface or another node; its address may be the name of a host.
pub(super) fn nid(text: &str) -> Result<Nid, String> {
    Names::new().nid(text).map_err(|error| error.to_string())
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
        let discovery_mode = |text| of_words(Values::NumberedWords(&["off", "on", "verify"]), text);
        let table = [("off", 0), ("on", 1), ("verify", 2), ("0", 0), ("0x2", 2), ("-1", -1)];
        for (text, expected) in table {
            assert_eq!(discovery_mode(text), Ok(expected), "{text}");
        }
        assert!(discovery_mode("").is_err() && discovery_mode("ON").is_err());
    }
}
