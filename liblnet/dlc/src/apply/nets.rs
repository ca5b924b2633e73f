//! Interfaces of this node that differ.

use super::change::Change;
use crate::ops::net::{Adjustment, adjustment, named_nis};
use crate::request::{AddLocalNi, DelLocalNi, LocalNi, Request, WaitingNi};
use lnet_wire::NetId;
use std::net::IpAddr;

/// The changes of interfaces.
#[derive(Debug, Default)]
pub(super) struct NetPlan {
    pub(super) changes: Vec<Change>,
    /// The nets that have no interface for a moment, and then one again: the node forgets the routes and peers on them.
    pub(super) emptied: Vec<NetId>,
}

/// Plans the changes. An interface whose other values cannot change while it exists is removed and added again.
///
/// An interface that waits with the wanted values is left to wait; with others, it is added, which changes them.
pub(super) fn plan(
    now: &[LocalNi],
    waiting: &[WaitingNi],
    wanted: Option<&[AddLocalNi]>,
    large_nids: bool,
) -> NetPlan {
    let Some(wanted) = wanted else { return NetPlan::default() };
    let (mut again, mut add, mut set) = (Vec::new(), Vec::new(), Vec::new());
    let named_nis = named_nis(now, wanted, large_nids);
    for (asked, its_ni) in wanted.iter().zip(&named_nis) {
        let what = named(asked.net, asked.interface.as_deref());
        let adding = || Change::add(what.clone(), Request::AddLocalNi(asked.clone()));
        match its_ni.map(|ni| (ni, adjustment(asked, ni))) {
            None if waiting.iter().any(|one| one.ni == *asked) => {}
            None => add.push(adding()),
            Some((ni, Err(_))) => {
                again.push(ni);
                add.push(adding());
            }
            Some((_, Ok(Adjustment::Nothing))) => {}
            Some((_, Ok(Adjustment::ConnsPerPeer(its)))) => {
                let what = format!("{what} conns_per_peer {}", its.value);
                set.push(Change::set(what, Request::SetConnsPerPeer(its)));
            }
        }
    }
    let is_left =
        |ni: &&LocalNi| !ni.nid.is_loopback() && !named_nis.iter().flatten().any(|its| its.nid == ni.nid);
    let gone = now.iter().filter(is_left).map(removal);
    let unwanted = waiting.iter().filter(|one| !wanted.iter().any(|asked| is_same(&one.ni, asked)));
    let no_longer_awaited = unwanted.filter_map(|one| removal_of_waiting(&one.ni));
    let emptied = emptied(now, &again);
    let changes =
        again.into_iter().map(removal).chain(add).chain(gone).chain(no_longer_awaited).chain(set).collect();
    NetPlan { changes, emptied }
}

/// The nets all of whose interfaces are made again.
fn emptied(now: &[LocalNi], again: &[&LocalNi]) -> Vec<NetId> {
    let mut nets: Vec<NetId> = again.iter().map(|ni| ni.nid.net()).collect();
    nets.dedup();
    let is_again = |ni: &LocalNi| again.iter().any(|its| its.nid == ni.nid);
    nets.retain(|net| now.iter().filter(|ni| ni.nid.net() == *net).all(is_again));
    nets
}

fn removal(ni: &LocalNi) -> Change {
    let net = ni.nid.net();
    let text = ni.nid.to_string();
    let address = text.split('@').next().map(str::to_owned);
    let what = named(net, ni.interface.as_deref().or(address.as_deref()));
    // Interfaces with addresses of both families may have one name.
    let is_ip = address.as_ref().is_some_and(|it| it.parse::<IpAddr>().is_ok());
    let interface = if is_ip { address } else { ni.interface.clone().or(address) };
    Change::remove(what, Request::DelLocalNi(DelLocalNi { net, interface }))
}

fn is_same(one: &AddLocalNi, other: &AddLocalNi) -> bool {
    (one.net, &one.interface) == (other.net, &other.interface)
}

/// One without a name stays: without a name the whole net would be meant.
fn removal_of_waiting(ni: &AddLocalNi) -> Option<Change> {
    let interface = ni.interface.clone()?;
    let what = named(ni.net, Some(&interface));
    let request = DelLocalNi { net: ni.net, interface: Some(interface) };
    Some(Change::remove(what, Request::DelLocalNi(request)))
}

fn named(net: NetId, interface: Option<&str>) -> String {
    format!("net {net} {}", interface.unwrap_or_default()).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{LndTunables, NiTunables};

    #[test]
    fn interfaces_that_wait_as_wanted_are_left_alone_and_others_are_changed_or_forgotten() {
        let ni = |interface: &str, credits| AddLocalNi {
            net: "tcp1".parse().unwrap(),
            interface: Some(interface.to_owned()),
            tunables: NiTunables { credits, ..NiTunables::default() },
            lnd: LndTunables::default(),
            cpts: None,
        };
        let waits = |interface| WaitingNi { ni: ni(interface, None), reason: String::new() };
        let waiting = [waits("eth1"), waits("eth2"), waits("eth3")];
        let wanted = [ni("eth1", None), ni("eth2", Some(8))];
        let changes = plan(&[], &waiting, Some(&wanted), false).changes;
        let said: Vec<String> =
            changes.iter().map(|change| format!("{} {}", change.verb.word(), change.what)).collect();
        assert_eq!(said, ["add net tcp1 eth2", "remove net tcp1 eth3"]);
        assert!(plan(&[], &waiting, None, false).changes.is_empty());
    }
}
