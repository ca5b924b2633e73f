//! Addresses as topology files have them.

use crate::model::{Addresses, Run, is_long};
use lnet_wire::IpPrefix;
use lnet_wire::nid::Address;
use std::net::IpAddr;

/// Reads the addresses of `count` nodes: a prefix (`10.0.0.0/16`, whose first address is no node's), the first and the last one
/// (`10.0.0.1-10.0.39.16`), or the first one alone, from which the others count up. Each element of `texts` follows the one before.
/// The error is a text.
pub fn parse_addresses<'a>(
    texts: impl IntoIterator<Item = &'a str>,
    count: u64,
) -> Result<Addresses, String> {
    let texts: Vec<&str> = texts.into_iter().collect();
    let mut all = Addresses::UNKNOWN;
    for text in &texts {
        let left = count - all.count().min(count);
        if left == 0 {
            return Err(format!("there are addresses for more than {count} nodes; leave out '{text}'"));
        }
        let (first, most) = ends(text, left, texts.len() == 1)?;
        // The nodes of a class differ by their addresses only, so not by the families of these.
        if all.runs().first().is_some_and(|run| is_long(run.first) != is_long(first)) {
            return Err(format!(
                "'{text}' is of another family than the addresses before it; give each interface addresses of one"
            ));
        }
        all.push(Run { first, count: most.min(left) });
    }
    match all.count() {
        found if found < count => Err(format!("these are {found} addresses for {count} nodes; give more")),
        _ => Ok(all),
    }
}

/// The first address of a text, and the number of addresses from it on.
fn ends(text: &str, left: u64, is_only: bool) -> Result<(Address, u64), String> {
    let text = text.trim();
    if text.contains('/') {
        let prefix: IpPrefix = text.parse().map_err(|error| format!("'{text}': {error}"))?;
        let (first, bits) = (prefix.first(), prefix.bits());
        if text.split_once('/').is_some_and(|(address, _)| address.parse() != Ok(first)) {
            return Err(format!(
                "'{text}' has bits behind the prefix; write {prefix}, or the first address alone"
            ));
        }
        let width = if first.is_ipv4() { 32 } else { 128 };
        let hosts = 1_u128.checked_shl(width - u32::from(bits)).unwrap_or(u128::MAX);
        // The first address of a network is its own, and the last one of IPv4 that of all.
        let (skipped, usable) = match hosts {
            1 | 2 => (0, hosts),
            _ if first.is_ipv4() => (1, hosts - 2),
            _ => (1, hosts - 1),
        };
        return Ok((above(first, skipped), u64::try_from(usable).unwrap_or(u64::MAX)));
    }
    let address = |text: &str| -> Result<IpAddr, String> {
        let trimmed = text.trim();
        trimmed.parse().map_err(|_| {
            format!("'{trimmed}' is no address; write 10.0.0.0/16, 10.0.0.1-10.0.0.9, or the first address")
        })
    };
    match text.split_once('-') {
        Some((first, last)) => {
            let (first, last) = (address(first)?, address(last)?);
            if first.is_ipv4() != last.is_ipv4() {
                return Err(format!("'{text}': the addresses are of different families"));
            }
            let more = number(last).checked_sub(number(first));
            let more = more.ok_or_else(|| format!("'{text}': the last address is before the first one"))?;
            Ok((Address::from(first), one_and(more)))
        }
        None => {
            let first = address(text)?;
            let max = if first.is_ipv4() { u32::MAX.into() } else { u128::MAX };
            let most = one_and(max - number(first));
            Ok((Address::from(first), if is_only { most.min(left) } else { 1 }))
        }
    }
}

/// The number of an address and so many after it, as far as it can be said.
fn one_and(more: u128) -> u64 {
    u64::try_from(more.saturating_add(1)).unwrap_or(u64::MAX)
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_bits().into(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

fn above(first: IpAddr, by: u64) -> Address {
    Run { first: Address::from(first), count: by + 1 }.at(by)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_classes_are_prefixes_ranges_and_first_addresses() {
        let table = [
            (&["10.0.0.0/16"][..], 10_000, Ok("10.0.0.1-10.0.39.16")),
            (&["10.0.0.0/30"], 2, Ok("10.0.0.1-10.0.0.2")),
            (&["10.0.0.0/31"], 2, Ok("10.0.0.0-10.0.0.1")),
            (&["fd00::/64"], 2, Ok("fd00::1-fd00::2")),
            (&["10.0.0.5"], 3, Ok("10.0.0.5-10.0.0.7")),
            (&["10.0.0.5", "10.0.0.9"], 2, Ok("10.0.0.5 10.0.0.9")),
            (&["10.0.0.5-10.0.0.6", "10.0.0.9-10.0.0.20"], 4, Ok("10.0.0.5-10.0.0.6 10.0.0.9-10.0.0.10")),
            (&["10.0.0.0/30"], 3, Err("these are 2 addresses for 3 nodes; give more")),
            (
                &["10.0.0.1", "10.0.0.2"],
                1,
                Err("there are addresses for more than 1 nodes; leave out '10.0.0.2'"),
            ),
            (&["10.0.0.9-10.0.0.1"], 1, Err("'10.0.0.9-10.0.0.1': the last address is before the first one")),
            (&["255.255.255.255"], 2, Err("these are 1 addresses for 2 nodes; give more")),
            (&["::-::ffff:ffff:ffff:ffff"], 2, Ok("::-::1")),
            (&["ffff:ffff:ffff:ffff::"], 2, Ok("ffff:ffff:ffff:ffff::-ffff:ffff:ffff:ffff::1")),
            (&["::/0"], 1 << 32, Ok("::1-::1:0:0")),
            (&["0.0.0.0/0"], (1 << 32) - 2, Ok("0.0.0.1-255.255.255.254")),
            (&["0.0.0.0/0"], 1 << 32, Err("these are 4294967294 addresses for 4294967296 nodes; give more")),
            (&["fd00::1-10.0.0.1"], 1, Err("'fd00::1-10.0.0.1': the addresses are of different families")),
            (
                &["10.0.0.1", "fd00::1"],
                2,
                Err(
                    "'fd00::1' is of another family than the addresses before it; give each interface addresses of one",
                ),
            ),
            (
                &["10.0.0.5/16"],
                2,
                Err(
                    "'10.0.0.5/16' has bits behind the prefix; write 10.0.0.0/16, or the first address alone",
                ),
            ),
            (&["10.0.0.0/33"], 2, Err("'10.0.0.0/33': number not within 0 to 32 at byte 9")),
        ];
        for (texts, count, expected) in table {
            let found = parse_addresses(texts.iter().copied(), count).map(|all| all.to_string());
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{texts:?}");
        }
        assert!(parse_addresses(["eth0"], 1).is_err());
    }
}
