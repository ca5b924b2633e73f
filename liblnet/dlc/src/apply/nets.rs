//! Interfaces of this node that differ.

use super::change::Change;
use crate::ops::net::{Adjustment, adjustment, is_named};
use crate::request::{AddLocalNi, DelLocalNi, LocalNi, Request};
use lnet_wire::NetId;

/// The changes of interfaces.
#[derive(Debug, Default)]
pub(super) struct NetPlan {
    pub(super) changes: Vec<Change>,
    /// The nets that have no interface for a moment, and then one again: the node forgets the routes and peers on them.
    pub(super) emptied: Vec<NetId>,
}

/// Plans the changes. An interface whose other values cannot change while it exists is removed and added again.
pub(super) fn plan(now: &[LocalNi], wanted: Option<&[AddLocalNi]>) -> NetPlan {
    let Some(wanted) = wanted else { return NetPlan::default() };
    let (mut again, mut add, mut set) = (Vec::new(), Vec::new(), Vec::new());
    for asked in wanted {
        let what = named(asked.net, asked.interface.as_deref());
        let adding = || Change::add(what.clone(), Request::AddLocalNi(asked.clone()));
        match now.iter().find(|ni| is_named(ni, asked)).map(|ni| (ni, adjustment(asked, ni))) {
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
    let is_left = |ni: &&LocalNi| !ni.nid.is_loopback() && !wanted.iter().any(|asked| is_named(ni, asked));
    let gone = now.iter().filter(is_left).map(removal);
    let emptied = emptied(now, &again);
    let changes = again.into_iter().map(removal).chain(add).chain(gone).chain(set).collect();
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
    let address = ni.nid.to_string();
    // Without a name the interface is known by its address.
    let interface = ni.interface.clone().or_else(|| address.split('@').next().map(str::to_owned));
    let what = named(net, interface.as_deref());
    Change::remove(what, Request::DelLocalNi(DelLocalNi { net, interface }))
}

fn named(net: NetId, interface: Option<&str>) -> String {
    format!("net {net} {}", interface.unwrap_or_default()).trim_end().to_owned()
}
