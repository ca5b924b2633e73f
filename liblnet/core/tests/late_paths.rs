//! Late paths, on which messages are in flight and nothing is received: messages that wait for credits do not wait for theirs.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

mod support;

use lnet_core::credit::Credits;
use lnet_core::lnd::Upcalls;
use lnet_core::{EventKind, MdOptions};
use lnet_wire::Header;
use support::{FakeDriver, OnSend, Rig, header_from, put_body, tcp};

/// A node with two interfaces to the only NID of a peer, with one credit: a message by the first is in flight, and one by each
/// waits.
fn waiting() -> Rig {
    let rig = Rig::builder(FakeDriver::new(OnSend::Keep)).nids([tcp(1), tcp(2)]).credits(8, 1).build();
    rig.core.admin().make_peer(tcp(9), true, false).unwrap();
    rig.attach(-1, MdOptions::OP_PUT.0 | MdOptions::MANAGE_REMOTE.0);
    let md = rig.bind(-1);
    (0..3).for_each(|_| rig.put(md, tcp(9)));
    assert_eq!(in_flight(&rig), [1, 0]);
    rig
}

/// The number of messages in flight by each interface.
fn in_flight(rig: &Rig) -> [usize; 2] {
    [0, 1].map(|at| rig.driver.ni(at).kept())
}

fn credits(rig: &Rig) -> Credits {
    rig.core.admin().peer(tcp(9)).unwrap().1[0].credits()
}

/// A message of the peer arrives by the interface with this index.
fn hears_by(rig: &Rig, at: usize) {
    let header = Header { dest_nid: rig.nis[at].nid(), ..header_from(tcp(9), put_body(None), 8) };
    rig.driver.ni(at).arrives(&header);
    rig.driver.ni(at).finish_arriving(Ok(()));
}

/// Fails if new messages wait for the credits of those on a dead path until that is found unresponsive; or if credits are
/// returned although no better path is known, so that the number of messages in flight would grow without limit.
#[test]
fn messages_on_a_late_path_keep_no_credits_from_those_that_have_a_path_which_works() {
    type Change = fn(&Rig);
    // (the case, the change of the other path, whether credits are to be returned)
    let table: [(&str, Change, bool); 4] = [
        ("nothing is heard on the other path", |_| {}, false),
        ("something is heard on it", |rig| hears_by(rig, 1), true),
        ("it is late", |rig| assert!(!rig.core.data_path().path_is_late(&rig.nis[1], tcp(9))), false),
        (
            "it is unresponsive",
            |rig| _ = rig.core.data_path().path_is_unresponsive(&rig.nis[1], tcp(9)),
            false,
        ),
    ];
    for (what, known, gives_back) in table {
        let rig = waiting();
        // At first every other path is suspect.
        assert!(!rig.core.data_path().path_is_late(&rig.nis[0], tcp(9)), "{what}");
        known(&rig);
        assert_eq!(rig.core.data_path().path_is_late(&rig.nis[0], tcp(9)), gives_back, "{what}");
        assert_eq!((in_flight(&rig), credits(&rig)), ([1, 0], Credits(-2)), "{what}");
        if !gives_back {
            continue;
        }
        // The driver returns the credit of the message, and later the message.
        let mut stuck = rig.driver.ni(0).take_kept();
        for credits in stuck.iter_mut().filter_map(|message| message.take_credits()) {
            rig.core.data_path().release_credits(credits);
        }
        assert_eq!((in_flight(&rig), credits(&rig)), ([0, 1], Credits(-1)));
        rig.driver.ni(1).finish(Ok(()));
        assert_eq!((in_flight(&rig), credits(&rig)), ([0, 1], Credits(0)), "the other takes that path, too");
        rig.driver.ni(1).finish(Ok(()));
        stuck.into_iter().for_each(|message| rig.core.data_path().finalize(message, Ok(())));
        let ends = rig.take_events().into_iter().filter(|event| event.0 == EventKind::Send).count();
        assert_eq!((credits(&rig), ends), (Credits(1), 3));
    }
}

/// Fails if messages that wait behind each other on a late path change places without end.
#[test]
fn messages_that_wait_keep_a_late_path_if_the_others_are_late() {
    let rig = waiting();
    for at in [0, 1, 0, 1] {
        assert!(!rig.core.data_path().path_is_late(&rig.nis[at], tcp(9)));
    }
    for left in [-1, 0, 1] {
        let at = usize::from(in_flight(&rig)[0] == 0);
        assert_eq!(rig.driver.ni(at).finish(Ok(())), 1);
        assert_eq!(credits(&rig), Credits(left));
    }
}
