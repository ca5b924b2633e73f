//! The player of captures, tried on the captures themselves: one player has one node's part, another the
//! part of all the others.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_wire::Nid;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::thread;
use support::netns::namespace_or_skip;
use support::player::{Application, Player};
use support::script::{Line, script};

/// The complete captures.
const CAPTURES: [&str; 18] = [
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
    "k2170-d-lst-ping.pcap",
    "k2170-i-large-nid-ping.pcap",
];

#[test]
fn two_players_with_both_parts_of_a_capture_play_it_to_its_end() {
    let Some(_namespace) = namespace_or_skip() else { return };
    for file in CAPTURES {
        println!("{file}");
        let ours = ["10.99.0.12", "10.99.1.12", "fd99::12"].map(|address| address.parse::<IpAddr>().unwrap());
        let their_script = script(file, &ours);
        let our_script = script(file, &ours).reversed();
        let them = Player::new(&their_script);
        let us = Player::new(&our_script);
        thread::scope(|scope| {
            scope.spawn(|| us.play(&mut NoApplication));
            them.play(&mut NoApplication);
        });
    }
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
    fn start(&mut self, _: &Line) {}
    fn prepare(&mut self, _: &Line, _: Option<&[u8]>) {}
    fn received(&mut self, _: &Line) {}
}
