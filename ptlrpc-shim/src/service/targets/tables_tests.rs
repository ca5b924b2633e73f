#![allow(clippy::unwrap_used)]
use super::*;
use crate::clock::Time;
use crate::lnet::Nid;
use crate::message::{ConnectFlags, Opcode, Service};

const CLIENT: &str = "a client";

fn request(target: &str, client: &str, handle: u64) -> ConnectRequest {
    ConnectRequest {
        target: target.parse().unwrap(),
        client: client.parse().unwrap(),
        handle: ExportCookie(handle),
        data: ConnectData { flags: ConnectFlags::AT, ..ConnectData::default() },
    }
}

fn connect(targets: &Targets, client: &str, handle: u64, conn_cnt: u32) -> Result<Connected, NotConnected> {
    let body =
        Body { conn_cnt, op_flags: ConnectOps::INITIAL, ..Body::request(Service::OBD, Opcode::OST_CONNECT) };
    let peer = ProcessId::lustre(Nid::LOOPBACK);
    targets.connect(&request("ost", client, handle), &body, peer, Time::START)
}

fn targets(seed: u64) -> Arc<Targets> {
    let targets = Targets::new(seed);
    targets.add("ost".parse().unwrap(), ConnectData::default()).unwrap();
    targets
}

#[test]
fn names_of_targets_are_unique() {
    let targets = targets(1);
    assert_eq!(targets.add("ost".parse().unwrap(), ConnectData::default()).err(), Some(Errno::Exists));
    assert!(targets.add("other".parse().unwrap(), ConnectData::default()).is_ok());
}

#[test]
fn a_client_that_connects_again_keeps_its_connection() {
    let targets = targets(1);
    let first = connect(&targets, CLIENT, 7, 1).ok().unwrap();
    assert_eq!((first.ops, first.data.flags), (ConnectOps::NONE, ConnectFlags::NONE));
    assert_ne!(first.export.cookie(), ExportCookie::NONE);
    let again = connect(&targets, CLIENT, 7, 2).ok().unwrap();
    assert!(Arc::ptr_eq(&first.export, &again.export));
    assert_eq!((again.ops, again.export.conn_cnt()), (ConnectOps::RECONNECT, 2));
    assert_eq!(connect(&targets, CLIENT, 7, 2).err(), Some(NotConnected::Stale));
    assert_eq!(connect(&targets, CLIENT, 7, 1).err(), Some(NotConnected::Stale));
}

#[test]
fn a_restarted_client_gets_another_connection_and_loses_the_old_one() {
    let targets = targets(1);
    let first = connect(&targets, CLIENT, 7, 9).ok().unwrap().export;
    let second = connect(&targets, CLIENT, 8, 1).ok().unwrap();
    assert_ne!(first.cookie(), second.export.cookie());
    assert_eq!((second.ops, first.is_connected()), (ConnectOps::NONE, false));
    assert!(targets.export(first.cookie()).is_none());
    assert_eq!(targets.exports().len(), 1);
}

#[test]
fn an_unknown_target_is_refused() {
    let targets = targets(1);
    let body = Body::request(Service::OBD, Opcode::OST_CONNECT);
    let peer = ProcessId::lustre(Nid::LOOPBACK);
    let refused = targets.connect(&request("mdt", CLIENT, 7), &body, peer, Time::START);
    assert_eq!(refused.err(), Some(NotConnected::Refused(Errno::NoDevice)));
}

#[test]
fn handles_from_before_a_restart_of_the_server_are_unknown() {
    let (before, now) = (targets(1), targets(2));
    let cookie = connect(&before, CLIENT, 7, 1).ok().unwrap().export.cookie();
    for client in ["a", "b", "c"] {
        assert_ne!(connect(&now, client, 7, 1).ok().unwrap().export.cookie(), cookie);
    }
    assert!(now.export(cookie).is_none() && before.export(cookie).is_some());
}

#[test]
fn clients_disconnect_or_are_evicted() {
    let targets = targets(1);
    let exports: Vec<_> =
        ["a", "b", "c"].map(|client| connect(&targets, client, 7, 1).ok().unwrap().export).into();
    targets.disconnect(&exports[0]);
    assert_eq!(targets.evict(exports[1].client()), 1);
    assert_eq!(targets.evict(exports[1].client()), 0);
    let left: Vec<_> = exports.iter().map(|export| export.is_connected()).collect();
    assert_eq!(left, [false, false, true]);
    let after = Duration::from_secs(150);
    let last_heard = exports[2].last_heard();
    assert_eq!(targets.evict_unresponsive(last_heard + Duration::from_secs(149), after), 0);
    assert_eq!(targets.evict_unresponsive(last_heard + after, after), 1);
    assert!(targets.exports().is_empty());
    // An evicted client is unknown.
    assert_eq!(connect(&targets, "b", 7, 2).ok().unwrap().ops, ConnectOps::NONE);
}
