//! Match entries that name a peer by any of its NIDs.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use lnet_core::lnd::{RxAction, Upcalls};
use lnet_core::{InsertPosition, MatchId, MdOptions};
use lnet_wire::{Nid, Pid};
use support::{BITS, FakeDriver, OnSend, PORTAL, Rig, header_from, nid, put_body, tcp};

/// Attaches memory for one PUT of this peer.
fn attach(rig: &Rig, from: Nid, pid: Option<Pid>) {
    let path = rig.core.data_path();
    let from = MatchId { nid: Some(from), pid };
    let me = path.me_attach(PORTAL, from, BITS, 0, true, InsertPosition::After).unwrap();
    let (spec, memory) = rig.spec(1, MdOptions::OP_PUT.0);
    path.md_attach(me, spec, memory, true, &mut |_| ()).unwrap();
}

/// Whether a PUT from this NID arrives in an entry's memory; the primary NID in its event.
fn initiator(rig: &Rig, source: Nid) -> Option<Nid> {
    let RxAction::Deliver(message) = rig.arrives(&header_from(source, put_body(None), 1)) else {
        return None;
    };
    rig.core.data_path().received(message, Ok(()));
    rig.events.lock().unwrap().drain(..).find_map(|event| event.initiator.nid)
}

/// Fails if programs whose NIDs have four bytes of address cannot name a peer with an IPv6 primary NID, or if a NID of a stranger stands
/// for it.
#[test]
fn a_match_entry_may_name_a_peer_by_any_of_its_nids() {
    let long = nid("fd99::2@tcp");
    for pid in [None, Some(Pid::LUSTRE)] {
        let rig = Rig::new(FakeDriver::new(OnSend::Complete));
        rig.core.admin().make_peer(long, true, false).unwrap();
        rig.core.admin().add_peer_nid(long, tcp(2), true).unwrap();
        rig.core.admin().add_peer_nid(long, tcp(3), true).unwrap();
        for named in [tcp(2), tcp(3), long] {
            for source in [tcp(2), tcp(3)] {
                attach(&rig, named, pid);
                assert_eq!(initiator(&rig, tcp(4)), None, "{named}, from a stranger");
                assert_eq!(initiator(&rig, source), Some(long), "{named}, from {source}");
            }
        }
        // A NID that is not known yet stands for itself.
        attach(&rig, tcp(4), pid);
        assert_eq!(initiator(&rig, tcp(2)), None);
        assert_eq!(initiator(&rig, tcp(4)), Some(tcp(4)));
        rig.core.admin().shutdown();
    }
}
