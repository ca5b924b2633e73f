//! The legacy `routes` string, which lists the gateways to remote nets.
//!
//! As in the kernel's module parameter, entries stand between `;` or line ends, each `NET [HOPS] GATEWAY[:PRIORITY]...`
//! as in `tcp1 2 10.0.0.[1-3]@tcp:1; o2ib 10.0.0.9@tcp`. The form of files of routes,
//! `tcp1: { gateway: 10.0.0.[1-3]@tcp, hop: 2, priority: 1 }`, is read too, and both may be mixed. Brackets may stand in
//! nets and gateways, and masks in gateways; `#` begins a comment.

use crate::legacy_syntax::{Piece, entries};
use crate::request::AddRoute;
use lnet_wire::text::Problem;
use lnet_wire::{Expression, IpRange, NetId, Nid, NidList};
use std::str::FromStr;
use thiserror::Error;

/// The most routes of one string, and the most texts of one pair of brackets.
const MAX_ROUTES: usize = 4096;
/// The gateway's health sensitivity, which cannot be given in these strings.
const SENSITIVITY: u32 = 1;

/// An error in a `routes` string, and the byte at which it is.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{what}, at byte {at}")]
pub struct RoutesError {
    /// The error.
    pub what: RoutesErrorCause,
    /// The byte of the string at which it is, from 0.
    pub at: usize,
}

/// The ways in which a `routes` string can be wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RoutesErrorCause {
    /// A text that is not the name of a net.
    #[error("`{0}` is no net")]
    NotANet(String),
    /// A text that is not a NID.
    #[error("`{0}` is no NID of a gateway")]
    NotANid(String),
    /// A NID with an address that no interface can have.
    #[error("`{0}`, {1} is no NID of a gateway")]
    Address(String, Problem),
    /// A net without a gateway.
    #[error("a gateway should be here, such as 10.0.0.1@tcp")]
    NoGateway,
    /// A number of hops outside 1 to 255.
    #[error("`{0}` is no number of hops from 1 to 255")]
    Hops(String),
    /// A priority that is no number.
    #[error("`{0}` is no priority from 0 to 2147483647")]
    Priority(String),
    /// Brackets that cannot be read.
    #[error("brackets: {0}")]
    Brackets(Problem),
    /// More than 4096 routes.
    #[error("more than 4096 routes")]
    TooMany,
    /// An entry with `{` that is not `NET: { ... }`.
    #[error("an entry with braces is wanted as NET: {{ gateway: NID, hop: N, priority: N }}")]
    Braces,
    /// A key within braces other than `gateway`, `hop` and `priority`, or one of them twice.
    #[error("`{0}`: within braces, gateway, hop and priority may be said once each")]
    Key(String),
}

/// Reads a `routes` string: every net of an entry by every gateway of it, in the order written.
pub fn parse(text: &str) -> Result<Vec<AddRoute>, RoutesError> {
    let mut routes = Vec::new();
    for entry in entries(text) {
        let (nets, ways) = if entry.text.contains('{') { braces(entry)? } else { words(entry)? };
        if nets.len().saturating_mul(ways.len()).saturating_add(routes.len()) > MAX_ROUTES {
            return Err(error(entry, RoutesErrorCause::TooMany));
        }
        for net in nets {
            routes.extend(ways.iter().map(|way| AddRoute {
                net,
                gateway: way.gateway,
                hops: way.hops,
                priority: way.priority,
                health_sensitivity: SENSITIVITY,
            }));
        }
    }
    Ok(routes)
}

/// A gateway to a net, with the number of hops and the priority.
struct Gateway {
    gateway: Nid,
    hops: Option<u32>,
    priority: u32,
}

/// Reads an entry `NET [HOPS] GATEWAY[:PRIORITY]...`: its nets, and the ways to them.
fn words(entry: Piece<'_>) -> Result<(Vec<NetId>, Vec<Gateway>), RoutesError> {
    let mut words = entry.words().peekable();
    let nets = words.next().map_or(Ok(Vec::new()), nets)?;
    let is_number = |word: &Piece<'_>| word.text.bytes().all(|byte| byte.is_ascii_digit());
    let hops = words.next_if(is_number).map(hops).transpose()?;
    let mut ways = Vec::new();
    for word in words {
        let (nids, priority) = split_priority(word);
        let priority = priority.map_or(Ok(0), self::priority)?;
        ways.extend(gateways(nids)?.into_iter().map(|gateway| Gateway { gateway, hops, priority }));
        if ways.len() > MAX_ROUTES {
            return Err(error(word, RoutesErrorCause::TooMany));
        }
    }
    if ways.is_empty() {
        return Err(error(entry.from(entry.text.len()), RoutesErrorCause::NoGateway));
    }
    Ok((nets, ways))
}

/// Reads an entry `NET: { gateway: NID [, hop: N] [, priority: N] }`: its nets, and the ways to them.
fn braces(entry: Piece<'_>) -> Result<(Vec<NetId>, Vec<Gateway>), RoutesError> {
    let wrong = || error(entry, RoutesErrorCause::Braces);
    let (head, rest) = entry.text.split_once('{').ok_or_else(wrong)?;
    let net = head.trim_end().strip_suffix(':').ok_or_else(wrong)?;
    let body = Piece { at: entry.at + head.len() + 1, text: rest.strip_suffix('}').ok_or_else(wrong)? };
    let (mut gateway, mut hop, mut priority) = (None, None, None);
    for item in body.items() {
        let (key, value) = item.text.split_once(':').ok_or_else(|| error(item, RoutesErrorCause::Braces))?;
        let place = match key.trim_end() {
            "gateway" => &mut gateway,
            "hop" => &mut hop,
            "priority" => &mut priority,
            other => return Err(error(item, RoutesErrorCause::Key(other.to_owned()))),
        };
        let value = Piece { at: item.at + key.len() + 1, text: value }.trimmed();
        if place.replace(value).is_some() {
            return Err(error(item, RoutesErrorCause::Key(key.trim_end().to_owned())));
        }
    }
    let hops = hop.map(hops).transpose()?;
    let priority = priority.map_or(Ok(0), self::priority)?;
    let gateways = gateways(gateway.ok_or_else(|| error(body, RoutesErrorCause::NoGateway))?)?;
    let nets = nets(Piece { at: entry.at, text: net.trim_end() })?;
    Ok((nets, gateways.into_iter().map(|gateway| Gateway { gateway, hops, priority }).collect()))
}

/// Splits `10.0.0.1@tcp:2` into NID and priority. The colons of an IPv6 address are before the `@`; without an
/// `@`, a single colon does not belong to an address.
fn split_priority(word: Piece<'_>) -> (Piece<'_>, Option<Piece<'_>>) {
    let colon = match word.text.rfind('@') {
        Some(at) => word.from(at).text.find(':').map(|colon| at + colon),
        None => word.text.find(':').filter(|colon| word.text.rfind(':') == Some(*colon)),
    };
    match colon {
        None => (word, None),
        Some(colon) => {
            let nids = word.text.get(..colon).unwrap_or_default();
            (Piece { at: word.at, text: nids }, Some(word.from(colon + 1)))
        }
    }
}

fn nets(piece: Piece<'_>) -> Result<Vec<NetId>, RoutesError> {
    expanded(piece, |text| RoutesErrorCause::NotANet(text.to_owned()))
}

fn gateways(piece: Piece<'_>) -> Result<Vec<Nid>, RoutesError> {
    let address = piece.text.split('@').next().unwrap_or_default();
    let nids = match address.contains('/') || (address.contains(':') && address.contains('[')) {
        true => ranges_of_gateways(piece),
        false => expanded(piece, |text| RoutesErrorCause::NotANid(text.to_owned())),
    }?;
    match nids.iter().find_map(|nid| nid.check_address().err()) {
        None => Ok(nids),
        Some(problem) => Err(error(piece, RoutesErrorCause::Address(piece.text.to_owned(), problem))),
    }
}

/// Reads a mask, or a pattern of IPv6 addresses, in which numbers are hexadecimal, on nets that may have brackets of their own.
fn ranges_of_gateways(piece: Piece<'_>) -> Result<Vec<Nid>, RoutesError> {
    let (addresses, net) = piece.text.split_once('@').unwrap_or((piece.text, "tcp"));
    let nets = nets(Piece { at: piece.at + piece.text.len() - net.len(), text: net })?;
    let range: IpRange =
        addresses.parse().map_err(|_| error(piece, RoutesErrorCause::NotANid(piece.text.to_owned())))?;
    let mut all = Vec::new();
    for net in nets {
        let text = format!("{range}@{net}");
        let list: NidList = text.parse().map_err(|_| error(piece, RoutesErrorCause::NotANid(text)))?;
        all.extend(list.nids(MAX_ROUTES).map_err(|_| error(piece, RoutesErrorCause::TooMany))?);
    }
    Ok(all)
}

fn hops(piece: Piece<'_>) -> Result<u32, RoutesError> {
    let hops = number(piece).filter(|hops| (1..=255).contains(hops));
    hops.ok_or_else(|| error(piece, RoutesErrorCause::Hops(piece.text.to_owned())))
}

fn priority(piece: Piece<'_>) -> Result<u32, RoutesError> {
    // DLC's own numbers are signed.
    let priority = number(piece).filter(|priority| i32::try_from(*priority).is_ok());
    priority.ok_or_else(|| error(piece, RoutesErrorCause::Priority(piece.text.to_owned())))
}

fn number(piece: Piece<'_>) -> Option<u32> {
    let digits = piece.text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| piece.text.parse().ok()).flatten()
}

/// Expands the brackets in a text and reads each result as a `T`.
fn expanded<T: FromStr>(
    piece: Piece<'_>,
    wrong: impl Fn(&str) -> RoutesErrorCause,
) -> Result<Vec<T>, RoutesError> {
    let read = |text: &String| text.parse().map_err(|_| error(piece, wrong(text)));
    expand(piece)?.iter().map(read).collect()
}

/// All texts that a text with brackets stands for: `a[1-3/2]b[7,8]` is a1b7, a1b8, a3b7, a3b8.
fn expand(piece: Piece<'_>) -> Result<Vec<String>, RoutesError> {
    let mut texts = vec![String::new()];
    let mut rest = piece;
    while let Some(open) = rest.text.find('[') {
        let (before, bracket) = (rest.text.get(..open).unwrap_or_default(), rest.from(open));
        let Some(close) = bracket.text.find(']') else {
            return Err(error(bracket, RoutesErrorCause::Brackets(Problem::Bracket)));
        };
        let list = bracket.text.get(..=close).unwrap_or_default();
        let numbers = Expression::parse(list, 0..=u32::MAX)
            .map_err(|e| error(bracket.from(e.at), RoutesErrorCause::Brackets(e.problem)))?
            .values(MAX_ROUTES)
            .map_err(|_| error(bracket, RoutesErrorCause::TooMany))?;
        if numbers.is_empty() {
            return Err(error(bracket, RoutesErrorCause::Brackets(Problem::Empty)));
        }
        if numbers.len().saturating_mul(texts.len()) > MAX_ROUTES {
            return Err(error(bracket, RoutesErrorCause::TooMany));
        }
        texts = texts
            .iter()
            .flat_map(|text| numbers.iter().map(move |number| format!("{text}{before}{number}")))
            .collect();
        rest = bracket.from(close + 1);
    }
    texts.iter_mut().for_each(|text| text.push_str(rest.text));
    Ok(texts)
}

const fn error(place: Piece<'_>, what: RoutesErrorCause) -> RoutesError {
    RoutesError { what, at: place.at }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn route(net: &str, hops: Option<u32>, gateway: &str, priority: u32) -> AddRoute {
        AddRoute {
            net: net.parse().unwrap(),
            gateway: gateway.parse().unwrap(),
            hops,
            priority,
            health_sensitivity: 1,
        }
    }

    #[test]
    fn routes_are_read_as_the_kernel_writes_them() {
        let table = [
            ("", vec![]),
            ("tcp1 10.0.0.1@tcp", vec![route("tcp1", None, "10.0.0.1@tcp", 0)]),
            (
                " tcp1 2 10.0.0.1@tcp:3 10.0.0.2@o2ib ; # tcp8 10.0.0.1@tcp\no2ib1 255 10.0.0.9",
                vec![
                    route("tcp1", Some(2), "10.0.0.1@tcp", 3),
                    route("tcp1", Some(2), "10.0.0.2@o2ib", 0),
                    route("o2ib1", Some(255), "10.0.0.9@tcp", 0),
                ],
            ),
            (
                "tcp[1-3/2] 10.0.[0,1].[1-2]@tcp7:5",
                ["tcp1", "tcp3"]
                    .iter()
                    .flat_map(|net| {
                        ["10.0.0.1", "10.0.0.2", "10.0.1.1", "10.0.1.2"]
                            .map(|address| route(net, None, &format!("{address}@tcp7"), 5))
                    })
                    .collect(),
            ),
            ("tcp1 10.0.0.9:4", vec![route("tcp1", None, "10.0.0.9@tcp", 4)]),
            ("tcp1 fd00::[1]@tcp:4", vec![route("tcp1", None, "fd00::1@tcp", 4)]),
            (
                "tcp[1-2] fd99::[9-b]@tcp:4; tcp3 fd99::1@tcp7:5 fd99::2@tcp7",
                ["tcp1", "tcp2"]
                    .iter()
                    .flat_map(|net| {
                        ["9", "a", "b"].map(|last| route(net, None, &format!("fd99::{last}@tcp"), 4))
                    })
                    .chain([route("tcp3", None, "fd99::1@tcp7", 5), route("tcp3", None, "fd99::2@tcp7", 0)])
                    .collect(),
            ),
            (
                "tcp1 fd99::[a,c]@tcp[7-8]",
                ["a@tcp7", "c@tcp7", "a@tcp8", "c@tcp8"]
                    .iter()
                    .map(|end| route("tcp1", None, &format!("fd99::{end}"), 0))
                    .collect(),
            ),
            (
                "tcp1 fd99::2/127@tcp:4 10.0.0.4/31",
                [("fd99::2@tcp", 4), ("fd99::3@tcp", 4), ("10.0.0.4@tcp", 0), ("10.0.0.5@tcp", 0)]
                    .iter()
                    .map(|(gateway, priority)| route("tcp1", None, gateway, *priority))
                    .collect(),
            ),
            ("tcp1 3@gni 0x4@gni", vec![route("tcp1", None, "3@gni", 0), route("tcp1", None, "4@gni", 0)]),
            (
                "tcp1: { gateway: 10.0.0.[1,2]@tcp, hop: 3, priority: 4 }\no2ib:{priority:0,gateway:fd00::1@tcp}",
                vec![
                    route("tcp1", Some(3), "10.0.0.1@tcp", 4),
                    route("tcp1", Some(3), "10.0.0.2@tcp", 4),
                    route("o2ib", None, "fd00::1@tcp", 0),
                ],
            ),
        ];
        for (text, routes) in table {
            assert_eq!(parse(text), Ok(routes), "{text}");
        }
    }

    #[test]
    fn errors_name_their_position() {
        let not_a_net = |text: &str| RoutesErrorCause::NotANet(text.into());
        let not_a_nid = |text: &str| RoutesErrorCause::NotANid(text.into());
        let address = |text: &str, problem| RoutesErrorCause::Address(text.into(), problem);
        let table = [
            ("tcp1", 4, RoutesErrorCause::NoGateway),
            ("tcp1 2 ", 6, RoutesErrorCause::NoGateway),
            ("tpc1 10.0.0.1@tcp", 0, not_a_net("tpc1")),
            ("tcp1 10.0.0.1@tcp; tcp[65535-65536] 10.0.0.1@tcp", 19, not_a_net("tcp65536")),
            ("tcp1 10.0.0@tcp", 5, not_a_nid("10.0.0@tcp")),
            ("tcp1 10.0.0.[255-256]@tcp", 5, not_a_nid("10.0.0.256@tcp")),
            ("tcp1 1 2 10.0.0.1@tcp", 7, not_a_nid("2")),
            ("tcp1 0 10.0.0.1@tcp", 5, RoutesErrorCause::Hops("0".into())),
            ("tcp1 256 10.0.0.1@tcp", 5, RoutesErrorCause::Hops("256".into())),
            ("tcp1 10.0.0.1@tcp:x", 18, RoutesErrorCause::Priority("x".into())),
            ("tcp1 10.0.0.1@tcp:2147483648", 18, RoutesErrorCause::Priority("2147483648".into())),
            ("tcp1 10.0.0.[1@tcp", 12, RoutesErrorCause::Brackets(Problem::Bracket)),
            ("tcp1 10.0.0.[1,x]@tcp", 15, RoutesErrorCause::Brackets(Problem::NotANumber)),
            ("tcp1 fd99::[1-zz]@tcp", 5, not_a_nid("fd99::[1-zz]@tcp")),
            ("tcp1 fd99::[1-2]@o2ib", 5, not_a_nid("fd99::[1-2]@o2ib")),
            ("tcp1 fd99::[0-ffff]@tcp", 5, RoutesErrorCause::TooMany),
            ("tcp1 fd99::/64@tcp", 5, RoutesErrorCause::TooMany),
            ("tcp1 fd99::/129@tcp", 5, not_a_nid("fd99::/129@tcp")),
            ("tcp1 fe80::1@tcp", 5, address("fe80::1@tcp", Problem::LinkLocal)),
            ("tcp1 fe80::[1-2]@tcp", 5, address("fe80::[1-2]@tcp", Problem::LinkLocal)),
            ("tcp1 ::ffff:10.0.0.1@tcp", 5, address("::ffff:10.0.0.1@tcp", Problem::MappedIpv4)),
            ("tcp1 10.0.0.[3-1]@tcp", 12, RoutesErrorCause::Brackets(Problem::Empty)),
            ("tcp1 10.0.[0-255].[0-255]@tcp", 18, RoutesErrorCause::TooMany),
            ("tcp1 10.0.0.[0-4294967295]@tcp", 12, RoutesErrorCause::TooMany),
            ("tcp[1-100] 10.0.0.[1-100]@tcp", 0, RoutesErrorCause::TooMany),
            ("tcp1 { gateway: 10.0.0.1@tcp }", 0, RoutesErrorCause::Braces),
            ("tcp1: { gateway: 10.0.0.1@tcp", 0, RoutesErrorCause::Braces),
            ("tcp1: { 10.0.0.1@tcp }", 8, RoutesErrorCause::Braces),
            ("tcp1: { hop: 1 }", 7, RoutesErrorCause::NoGateway),
            ("tcp1: { gateway: 10.0.0.1@tcp, hops: 1 }", 31, RoutesErrorCause::Key("hops".into())),
            ("tcp1: { hop: 1, hop: 1 }", 16, RoutesErrorCause::Key("hop".into())),
            ("tcp1: { gateway: 10.0.0.1@tcp, hop: }", 35, RoutesErrorCause::Hops(String::new())),
        ];
        for (text, at, what) in table {
            assert_eq!(parse(text), Err(RoutesError { what, at }), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in ".*|[tcpo2ib0-9@:{}gatewyhr,;#\\[\\]*./\\- \n]*") {
            if let Err(error) = parse(&text) {
                prop_assert!(error.at <= text.len() && text.is_char_boundary(error.at));
            }
        }

        #[test]
        fn an_entry_has_every_net_by_every_gateway(
            nets in 0_u32..40, gateways in 0_u32..40, hops in 1_u32..256, priority in 0_u32..9
        ) {
            let text = format!("tcp[1-{nets}] {hops} 10.0.0.[1-{gateways}]@tcp:{priority}");
            let naive: Vec<_> = (1..=nets)
                .flat_map(|net| (1..=gateways).map(move |last| (net, last)))
                .map(|(net, last)| {
                    route(&format!("tcp{net}"), Some(hops), &format!("10.0.0.{last}@tcp"), priority)
                })
                .collect();
            prop_assert_eq!(parse(&text).unwrap_or_default(), naive);
        }
    }
}
