//! Parsers for numbers on the command line.

use std::time::Duration;

/// Decimal, hexadecimal behind `0x`, octal behind `0`, as C's `strtoul` reads them; without a sign.
pub fn any_base(text: &str) -> Option<u64> {
    let (radix, digits) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, text.get(2..)?),
        [b'0', _, ..] => (8, text.get(1..)?),
        _ => (10, text),
    };
    // `from_str_radix` takes a sign.
    let plain = !digits.is_empty() && digits.bytes().all(|letter| letter.is_ascii_alphanumeric());
    u64::from_str_radix(digits, radix).ok().filter(|_| plain)
}

/// A time in seconds, with or without a fraction.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.1..=86400.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "it takes seconds, from 0.1 to 86400".to_owned())
}

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
        for (text, expected) in [("0", 0), ("7", 7), ("0x1F", 31), ("0X10", 16), ("017", 15)] {
            assert_eq!(any_base(text), Some(expected), "{text}");
        }
        for wrong in ["", "-1", "+1", "abc", "1x", "0x", "08", "0x-1", "1 ", "18446744073709551616"] {
            assert_eq!(any_base(wrong), None, "{wrong}");
        }
    }
}
