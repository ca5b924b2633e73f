//! The player of captures, tried on the captures themselves: one player has one node's part, another the
//! part of all the others.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_wire::Nid;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::thread;
use support::netns::namespace_or_skip;
use support::player::{Application, Player};
use support::script::{Line, Script, script};

/// The complete captures, but for those in which an interface has two incarnations, or a port is used again at once, which TCP does only for
/// one that was reset from the other side.
const CAPTURES: [&str; 23] = [
    "k2158-a-ping-1ni-nodisc.pcap",
    "k2158-b-discover-2rail-mr.pcap",
    "k2158-c-lst-read-4k.pcap",
    "k2158-c-lst-read-full-4k.pcap",
    "k2158-c-lst-write-1m.pcap",
    "k2158-c-lst-write-4k.pcap",
    "k2158-c-lst-write-full-4k.pcap",
    "k2158-d-lst-ping.pcap",
    "k2158-g-ping-disc-off-to-on.pcap",
    "k2158-h-routed-ping.pcap",
    "k2158-j-conns-per-peer-4.pcap",
    "k2158-k-accept-all-nonpriv.pcap",
    "k2158-k-checksum-on.pcap",
    "k2158-k-ping-wrong-net.pcap",
    "k2158-k-simultaneous-connect.pcap",
    "k2158-k-untyped-conns.pcap",
    "k2170-accept-port-bulk-both.pcap",
    "k2170-accept-port-bulk-g1only.pcap",
    "k2170-accept-port-bulk-g2only.pcap",
    "k2170-d-lst-ping.pcap",
    "k2170-i-large-nid-ping.pcap",
    "k2170-v4-router-v6.pcap",
    "k2170-v46-both-families-v6first.pcap",
];

#[test]
fn two_players_with_both_parts_of_a_capture_play_it_to_its_end() {
    let Some(_namespace) = namespace_or_skip() else { return };
    for file in CAPTURES {
        println!("{file}");
        let ours = ["10.99.0.12", "10.99.1.12", "fd99::12", "fd99:1::12"];
        let ours = ours.map(|address| address.parse::<IpAddr>().unwrap());
        assert!(plays_to_its_end(&script(file, &ours), &script(file, &ours).reversed()), "{file}");
    }
}

type Forge = fn(&mut Vec<u8>);

/// Forged messages: the difference, and the function that makes it in the bytes of a line.
const FORGERIES: [(&str, Forge); 4] = [
    ("another connection type in the HELLO", |said| said[48] ^= 1),
    ("another destination in the HELLO", |said| said[16] ^= 1),
    ("an incarnation of zero", |said| said[32..40].fill(0)),
    ("a byte too many behind the HELLO", |said| said.push(0)),
];

#[test]
fn a_node_that_sends_anything_else_fails_the_replay() {
    let Some(_namespace) = namespace_or_skip() else { return };
    let file = CAPTURES[0];
    let ours = ["10.99.0.12".parse::<IpAddr>().unwrap()];
    let honest = script(file, &ours);
    for (what, forge) in FORGERIES {
        let mut forged = script(file, &ours).reversed();
        // The last HELLO of the called node: nothing follows on its connection.
        forge(&mut forged.dialogues[2].last_line().bytes);
        assert!(!plays_to_its_end(&honest, &forged), "{what}");
    }
}

/// Plays both scripts against each other: one player is the node, the other its peers. Returns whether both reach their end.
fn plays_to_its_end(their_script: &Script, our_script: &Script) -> bool {
    let them = Player::new(their_script);
    let us = Player::new(our_script);
    thread::scope(|scope| {
        let us = scope.spawn(|| us.play(&mut NoApplication));
        let them = scope.spawn(|| them.play(&mut NoApplication));
        // Both threads are joined, also if the first has failed.
        let ends = [them.join(), us.join()];
        ends.iter().all(Result::is_ok)
    })
}

#[test]
fn a_namespace_has_the_captures_addresses_and_the_acceptor_port_to_itself() {
    let Some(_namespace) = namespace_or_skip() else { return };
    let listeners = ["10.99.0.12:988", "10.99.1.12:988"].map(|address| TcpListener::bind(address).unwrap());
    for listener in &listeners {
        let address = listener.local_addr().unwrap();
        let connects = move || TcpStream::connect(address).is_ok();
        assert!(thread::spawn(connects).join().unwrap(), "{address}");
    }
}

struct NoApplication;

impl Application for NoApplication {
    fn call(&mut self, _: Nid, _: Nid) {}
    fn connected(&mut self, _: IpAddr) {}
    fn start(&mut self, _: &Line) {}
    fn discover(&mut self, _: Nid) {}
    fn prepare(&mut self, _: &Line, _: Option<&[u8]>) {}
    fn received(&mut self, _: &Line) {}
}
