//! Requests about local NIs.

use crate::ni_starter::find;
use crate::node::{Node, logged};
use lnet_core::lnd::{NidSize, StartError};
use lnet_core::{Core, Errno, Ni};
use lnet_dlc::ops::net::conns_per_peer;
use lnet_dlc::request::{AddLocalNi, DelLocalNi, SetConnsPerPeer};
use lnet_dlc::{Reply, RequestError};
use lnet_os::interfaces::without_large;
use lnet_wire::nid::Address;
use lnet_wire::{NetId, Nid};
use std::net::IpAddr;
use std::sync::Arc;

/// Adds an interface; tunables that are not given are those of the node's start (cfg-020, cfg-025, cfg-035). Returns its NID, or
/// nothing if the interface waits, as one of the start configuration may.
pub(super) fn add(node: &Node, add: AddLocalNi, warnings: &mut Vec<String>) -> Result<Reply, RequestError> {
    let configured = node.starter.configured(add.clone());
    let error = match configured.and_then(|(nid, config)| node.start_ni(nid, config, warnings)) {
        Ok(nid) => {
            node.waiting.note_added(add.net, add.interface.as_deref());
            return Ok(Reply::Nid(nid));
        }
        Err(error) => error,
    };
    let waits = node.wait_for(add, error);
    waits.map(|()| Reply::Done).map_err(|error| refused(logged(error)))
}

/// The warnings about all interfaces, each once.
pub(super) fn warnings(node: &Node) -> Vec<String> {
    let mut all: Vec<String> =
        node.core().nets().nis().flat_map(|ni| node.starter.warnings_of(ni.nid())).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Checks whether adding the interface would fail, as far as that shows before its driver is started.
pub(super) fn check(node: &Node, add: AddLocalNi) -> Result<(), RequestError> {
    let checked =
        node.starter.configured(add).and_then(|(nid, config)| node.core().admin().check_ni(nid, config));
    checked.map_err(refused)
}

fn refused(error: StartError) -> RequestError {
    RequestError { errno: error.errno, text: Some(error.text) }
}

/// Removes an interface, one that waits too, or a net. An interface is found by the name under which it was added, in whatever state, or
/// else by its current address.
pub(super) fn delete(node: &Node, del: &DelLocalNi) -> Result<(), RequestError> {
    let nets = node.core().nets();
    let on_net = |net: NetId| nets.net(net).map_or(&[][..], |net| net.nis());
    let has_waited = node.waiting.remove(del.net, del.interface.as_deref());
    let nids: Vec<Nid> = match &del.interface {
        None => on_net(del.net).iter().map(|ni| ni.nid()).collect(),
        Some(name) => {
            vec![match named(on_net(del.net), name, node.starter.nid_size()) {
                Some(ni) => ni.nid(),
                None if has_waited => return Ok(()),
                None => {
                    let driver = node.starter.drivers.for_net(del.net).map_err(refused)?;
                    find(driver, del.net, Some(name), node.starter.nid_size()).map_err(refused)?.nid
                }
            }]
        }
    };
    if nids.is_empty() && !has_waited {
        return Err(Errno::NotFound.into());
    }
    Ok(nids.into_iter().try_for_each(|nid| node.remove_ni(nid))?)
}

/// The interface that was added under this name, or has this address. Of two with the same name, which have addresses of both families, that
/// which would be added under it now.
fn named<'a>(nis: &'a [Arc<Ni>], name: &str, size: NidSize) -> Option<&'a Arc<Ni>> {
    if let Ok(address) = name.parse::<IpAddr>() {
        return nis.iter().find(|ni| ni.nid().address() == address.into());
    }
    let (name, is_large) = without_large(name);
    let is_long = |ni: &Ni| matches!(ni.nid().address(), Address::Long(_));
    let of_name = || nis.iter().filter(|ni| ni.config().interface.as_deref() == Some(name));
    if is_large {
        return of_name().find(|ni| is_long(ni));
    }
    of_name().find(|ni| is_long(ni) == (size == NidSize::Large)).or_else(|| of_name().next())
}

/// Sets the number of connections of one interface, or of all that have connections. [`Errno::Invalid`] for a number out of
/// range, [`Errno::NotFound`] for a NID that is not local.
pub(super) fn set_conns_per_peer(core: &Core, set: SetConnsPerPeer) -> Result<(), Errno> {
    conns_per_peer(set.value.into()).map_err(|_| Errno::Invalid)?;
    let nets = core.nets();
    if set.nid.is_some_and(|nid| nets.ni(nid).is_none()) {
        return Err(Errno::NotFound);
    }
    let concerned = |ni: &&Arc<Ni>| set.nid.is_none_or(|nid| ni.nid() == nid);
    nets.nis().filter(concerned).for_each(|ni| ni.set_conns_per_peer(set.value));
    Ok(())
}
