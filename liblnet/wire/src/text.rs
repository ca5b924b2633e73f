//! Common parts of the readers of LNet's texts: their error, and the forms of numbers.

use thiserror::Error;

/// The reason why a text could not be read, and the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{problem} at byte {at}")]
pub struct TextError {
    /// The reason.
    pub problem: Problem,
    /// The byte of the text, counted from 0, at which the wrong part starts.
    pub at: usize,
}

/// The reason why a text could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// The text, or a part of it, is empty.
    #[error("nothing there")]
    Empty,
    /// No network has this name. Names are matched with case.
    #[error("unknown network name")]
    UnknownNetwork,
    /// `lo` is one net and takes no number.
    #[error("the loopback net takes no number")]
    LoopbackNumber,
    /// A number is missing.
    #[error("not a number")]
    NotANumber,
    /// A number of an IPv6 pattern is missing.
    #[error("not one to four hexadecimal digits, as numbers between the colons of an IPv6 address are")]
    NotHexadecimal,
    /// A number is out of bounds.
    #[error("number not within {0} to {1}")]
    OutOfBounds(u32, u32),
    /// The address is not four numbers with dots between.
    #[error("not a dotted IPv4 address")]
    NotIpv4,
    /// The address has a colon, yet is not an IPv6 address.
    #[error("not an IPv6 address")]
    NotIpv6,
    /// A NID list's entry is without `@NET`.
    #[error("no '@' and network")]
    NoNetwork,
    /// A process identifier is without `PID-`.
    #[error("no process number and '-'")]
    NoPid,
    /// `[` is without `]`, or text follows it.
    #[error("a '[' without its ']' at the end")]
    Bracket,
    /// The stride is 0.
    #[error("a stride of 0")]
    ZeroStride,
    /// A range contains no number, such as `3-2`.
    #[error("a range that ends before it begins")]
    EmptyRange,
    /// The address has the name of a link behind it, as in `fe80::1%eth0`.
    #[error("an address with a link behind '%', which only this machine knows,")]
    Zone,
    /// The address is the same on other links.
    #[error("a link-local address, which other links have as well,")]
    LinkLocal,
    /// The address is an IPv4 address in the form of IPv6.
    #[error("an IPv4 address in the form of IPv6 (write it as IPv4)")]
    MappedIpv4,
    /// The address is none of an interface: the unspecified one, or that of a group.
    #[error("an address that no interface has")]
    NoInterfacesAddress,
    /// No host has this name, or it has no address of the kind that the net has.
    #[error("no address, and no name of a host that is known")]
    UnknownHost,
    /// The system's resolver has not found the address of a host in time.
    #[error("the name of a host, for which the system's resolver gave no address in time")]
    ResolverTimeout,
    /// The text has the name of a host where names are not looked up.
    #[error("the name of a host, and names are not looked up here: write the address")]
    NotLookedUp,
    /// A blank stands at the end of a NID list.
    #[error("a blank at the end")]
    TrailingBlank,
}

impl TextError {
    pub(crate) const fn new(problem: Problem, at: usize) -> Self {
        Self { problem, at }
    }

    /// Returns the same error with its position relative to a text that contains this one from byte `start` on.
    pub(crate) const fn within(self, start: usize) -> Self {
        Self { problem: self.problem, at: self.at + start }
    }
}

/// Reads a number as in NIDs: decimal, with leading zeros allowed.
pub(crate) fn decimal(text: &str, max: u32) -> Result<u32, Problem> {
    radix(text, 10, 0, max)
}

/// Reads a number as in addresses of numeric networks: decimal, with leading zeros allowed, or hexadecimal after
/// `0x`.
pub(crate) fn decimal_or_hex(text: &str, max: u32) -> Result<u32, Problem> {
    match hex_digits(text) {
        Some(digits) => radix(digits, 16, 0, max),
        None => radix(text, 10, 0, max),
    }
}

/// Reads a number as in expressions: decimal, hexadecimal after `0x`, octal after `0`.
pub(crate) fn any_base(text: &str, min: u32, max: u32) -> Result<u32, Problem> {
    match (hex_digits(text), text.strip_prefix('0')) {
        (Some(digits), _) => radix(digits, 16, min, max),
        (None, Some(digits)) if !digits.is_empty() => radix(digits, 8, min, max),
        _ => radix(text, 10, min, max),
    }
}

fn hex_digits(text: &str) -> Option<&str> {
    text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))
}

fn radix(digits: &str, radix: u32, min: u32, max: u32) -> Result<u32, Problem> {
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Err(Problem::NotANumber);
    }
    u32::from_str_radix(digits, radix)
        .ok()
        .filter(|n| (min..=max).contains(n))
        .ok_or(Problem::OutOfBounds(min, max))
}

/// Returns the number of blanks that `text` starts with.
pub(crate) fn leading_blanks(text: &str) -> usize {
    text.len() - text.trim_ascii_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_the_base_of_each_place() {
        use Problem::{NotANumber, OutOfBounds};
        let out = Err(OutOfBounds(0, u32::MAX));
        let bad = Err(NotANumber);
        for (text, as_decimal, as_decimal_or_hex, in_any_base) in [
            ("0", Ok(0), Ok(0), Ok(0)),
            ("10", Ok(10), Ok(10), Ok(10)),
            ("010", Ok(10), Ok(10), Ok(8)),
            ("08", Ok(8), Ok(8), bad),
            ("0x10", bad, Ok(16), Ok(16)),
            ("0XfF", bad, Ok(255), Ok(255)),
            ("4294967295", Ok(u32::MAX), Ok(u32::MAX), Ok(u32::MAX)),
            ("4294967296", out, out, out),
            ("99999999999999999999999", out, out, out),
            ("", bad, bad, bad),
            ("0x", bad, bad, bad),
            ("+1", bad, bad, bad),
            ("-1", bad, bad, bad),
            ("1 ", bad, bad, bad),
            ("\u{0661}", bad, bad, bad),
        ] {
            assert_eq!(decimal(text, u32::MAX), as_decimal, "{text:?}");
            assert_eq!(decimal_or_hex(text, u32::MAX), as_decimal_or_hex, "{text:?}");
            assert_eq!(any_base(text, 0, u32::MAX), in_any_base, "{text:?}");
        }
        assert_eq!(any_base("3", 4, 9), Err(OutOfBounds(4, 9)));
    }
}
