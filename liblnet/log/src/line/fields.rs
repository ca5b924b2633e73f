//! The things that a line is about, found in its text, which has the same shape everywhere: `NI A`, `peer B`, `A -> B`, `via G`, `net N`.
//! Pure.

/// The NIDs and the net of a line, the first of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields<'a> {
    /// The interface of this node.
    pub(super) ni: Option<&'a str>,
    /// The interface of the other node.
    pub(super) peer: Option<&'a str>,
    /// The gateway of a route.
    pub(super) gateway: Option<&'a str>,
    /// The net.
    pub(super) net: Option<&'a str>,
}

impl<'a> Fields<'a> {
    /// Finds the fields of a message.
    pub(super) fn of(message: &'a str) -> Self {
        let mut fields = Self::default();
        let mut before = "";
        let mut words = message.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let thing = bare(word);
            if is_nid(thing) {
                let is_left_of_arrow = words.peek() == Some(&"->");
                let place = match before {
                    _ if is_left_of_arrow => Some(&mut fields.ni),
                    "->" | "peer" | "from" => Some(&mut fields.peer),
                    "NI" => Some(&mut fields.ni),
                    "via" | "gateway" => Some(&mut fields.gateway),
                    _ => None,
                };
                place.into_iter().for_each(|place| *place = place.or(Some(thing)));
            }
            before = word;
        }
        fields.net = net_of(message);
        fields
    }
}

/// The net that a line begins with: `net N: ...`, `NI on N: ...`, `route to N via ...`.
fn net_of(message: &str) -> Option<&str> {
    let rest = ["net ", "NI on ", "route to "].iter().find_map(|begin| message.strip_prefix(begin))?;
    rest.split_whitespace().next().map(bare).filter(|word| is_net(word))
}

/// The word without the signs around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|sign: char| matches!(sign, ',' | ';' | ':' | '(' | ')' | '"' | '.' | '`' | '\''))
}

/// Whether the word has the form of a NID: an address and a net.
fn is_nid(word: &str) -> bool {
    word.split_once('@').is_some_and(|(address, net)| is_address(address) && is_net(net))
}

fn is_address(word: &str) -> bool {
    let is_part = |sign: char| sign.is_ascii_hexdigit() || matches!(sign, '.' | ':');
    !word.is_empty() && word.chars().all(is_part)
}

/// Whether the word has the form of a net: a kind, and perhaps a number.
fn is_net(word: &str) -> bool {
    word.starts_with(|sign: char| sign.is_ascii_lowercase())
        && word.chars().all(|sign| sign.is_ascii_lowercase() || sign.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nids_and_nets_are_found_by_the_words_beside_them() {
        const A: &str = "10.0.0.1@tcp";
        const B: &str = "fd00::2@o2ib7";
        let fields = |ni, peer, gateway, net| Fields { ni, peer, gateway, net };
        for (message, expected) in [
            ("NI 10.0.0.1@tcp: ACTIVE -> FAILED (eth0 is down)", fields(Some(A), None, None, None)),
            ("peer fd00::2@o2ib7: reachable -> unreachable (refused)", fields(None, Some(B), None, None)),
            ("path 10.0.0.1@tcp -> fd00::2@o2ib7 unresponsive", fields(Some(A), Some(B), None, None)),
            (
                "PUT 10.0.0.1@tcp -> fd00::2@o2ib7 failed; resending via C -> D",
                fields(Some(A), Some(B), None, None),
            ),
            (
                "route to tcp7 via 10.0.0.1@tcp: up -> down (its gateway does not answer)",
                fields(None, None, Some(A), Some("tcp7")),
            ),
            ("net tcp: no route is up (2 routes)", fields(None, None, None, Some("tcp"))),
            ("PUT from 10.0.0.1@tcp dropped (no match)", fields(None, Some(A), None, None)),
            ("NI on o2ib7: not started yet (...)", fields(None, None, None, Some("o2ib7"))),
            ("mail from someone@example.org by another net", Fields::default()),
            ("", Fields::default()),
        ] {
            assert_eq!(Fields::of(message), expected, "{message}");
        }
    }
}
