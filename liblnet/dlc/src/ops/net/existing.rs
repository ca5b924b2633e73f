//! Comparison of requested interfaces with existing ones: which values differ, and which of these can change.

use crate::ops::error_text::OpError;
use crate::present::has_large_nids;
use crate::request::{AddLocalNi, Backend, LocalNi, Request, SetConnsPerPeer};
use lnet_os::interfaces::without_large;
use lnet_wire::Errno;
use lnet_wire::nid::Address;
use std::net::IpAddr;

/// The change that makes an existing interface the requested one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Adjustment {
    /// No change: the interface is as requested.
    Nothing,
    /// The interface gets another number of connections.
    ConnsPerPeer(SetConnsPerPeer),
}

/// The interface of the node that `asked` names, by its name or its address.
pub(super) fn find(backend: &dyn Backend, asked: &AddLocalNi) -> Option<Box<LocalNi>> {
    asked.interface.as_ref()?;
    let nis: Vec<Box<LocalNi>> = backend.list(Request::GetLocalNi).unwrap_or_default();
    let mut named: Vec<_> = nis.into_iter().filter(|ni| is_named(ni, asked)).collect();
    if named.len() > 1 {
        let large_nids = has_large_nids(backend);
        named.sort_by_key(|ni| is_long(ni) != large_nids);
    }
    named.into_iter().next()
}

/// The interface that each request names. A name means the NI of its link with the family of addresses that the node takes for names
/// (`large_nids`: IPv6), and on a node with large NIDs the other one if there is no such, or if another request names that. On a node
/// without them it never means an NI with an IPv6 address.
pub(crate) fn named_nis<'a>(
    now: &'a [LocalNi],
    asked: &[AddLocalNi],
    large_nids: bool,
) -> Vec<Option<&'a LocalNi>> {
    let mut found: Vec<Option<&LocalNi>> = vec![None; asked.len()];
    // Addresses first: they mean one NI.
    for by_name in [false, true] {
        for (at, asked) in asked.iter().enumerate().filter(|(_, asked)| has_plain_name(asked) == by_name) {
            let is_taken = |ni: &LocalNi| found.iter().flatten().any(|its| its.nid == ni.nid);
            let may_be = |ni: &&LocalNi| is_named(ni, asked) && (!by_name || large_nids || !is_long(ni));
            let best = now.iter().filter(may_be).min_by_key(|ni| (is_taken(ni), is_long(ni) != large_nids));
            if let Some(its) = found.get_mut(at) {
                *its = best;
            }
        }
    }
    found
}

/// Whether the interface is given by its name alone, which says nothing of the family.
fn has_plain_name(asked: &AddLocalNi) -> bool {
    let name = asked.interface.as_deref().map(without_large);
    name.is_some_and(|(name, is_large)| !is_large && name.parse::<IpAddr>().is_err())
}

fn is_long(ni: &LocalNi) -> bool {
    matches!(ni.nid.address(), Address::Long(_))
}

/// Whether `asked` names this interface, by its name or its address; one without a name is on its net alone.
fn is_named(ni: &LocalNi, asked: &AddLocalNi) -> bool {
    let Some(name) = asked.interface.as_deref() else {
        return ni.nid.net() == asked.net && ni.interface.is_none();
    };
    let (name, is_large) = without_large(name);
    let is_it = match name.parse::<IpAddr>() {
        Ok(address) => ni.nid.address() == address.into(),
        Err(_) => {
            // Nets without IP addresses have interfaces that are named by numbers.
            let is_name =
                ni.interface.as_deref() == Some(name) || ni.nid.to_string().split('@').next() == Some(name);
            is_name && (!is_large || is_long(ni))
        }
    };
    ni.nid.net() == asked.net && is_it
}

/// Returns the change that makes the interface `now` the one that `asked` describes; values that are not given may be anything.
/// `-EEXIST`, with the values that differ, if they cannot change while the interface exists.
pub(crate) fn adjustment(asked: &AddLocalNi, now: &LocalNi) -> Result<Adjustment, OpError> {
    let fixed = fixed_differences(asked, now);
    if !fixed.is_empty() {
        let interface = asked.interface.as_deref().unwrap_or_default();
        let text = format!(
            "cannot change {} of {interface} on {}; delete the interface first, and add it again",
            fixed.join(", "),
            asked.net
        );
        return Err((Errno::Exists.into(), text));
    }
    match asked.lnd.conns_per_peer {
        // 0 requests as many as suit the link: the present number is that.
        Some(value) if value != 0 && Some(value) != now.lnd.conns_per_peer => {
            Ok(Adjustment::ConnsPerPeer(SetConnsPerPeer { nid: Some(now.nid), value }))
        }
        _ => Ok(Adjustment::Nothing),
    }
}

/// The given values that differ from those of the interface and cannot change while it exists.
fn fixed_differences(asked: &AddLocalNi, now: &LocalNi) -> Vec<String> {
    let (want, have) = (&asked.tunables, &now.tunables);
    let numbers = [
        ("peer_timeout", want.peer_timeout, have.peer_timeout),
        ("peer_credits", want.peer_credits, have.peer_credits),
        ("peer_buffer_credits", want.peer_buffer_credits, have.peer_buffer_credits),
        ("credits", want.credits, have.credits),
    ];
    let differing = numbers.into_iter().filter(|(_, want, have)| want.is_some() && want != have);
    let mut found: Vec<String> = differing
        .map(|(name, want, have)| format!("{name} from {} to {}", have.unwrap_or(0), want.unwrap_or(0)))
        .collect();
    let others = now.lnd.numbers.other_than(asked.lnd.numbers, now.nid.net().kind());
    found.extend(others.map(|other| format!("{} from {} to {}", other.name, other.now, other.asked)));
    if let Some(cpts) = asked.cpts.as_ref().filter(|cpts| !cpts.is_empty() && **cpts != now.cpts) {
        found.push(format!("CPT from {} to {cpts}", now.cpts));
    }
    found
}
