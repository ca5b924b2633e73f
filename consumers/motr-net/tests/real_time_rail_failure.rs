//! Bulk transfers over two rails in network namespaces, one of which fails in the middle of them. LNet detects the failure of a rail in
//! real time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod rail_failure {
    pub(crate) mod process;
}
#[allow(dead_code, unreachable_pub)]
mod support {
    pub mod machine;
    #[path = "../../../../tests/support/machine_process.rs"]
    pub mod machine_process;
    #[path = "../../../../tests/support/machines.rs"]
    pub mod machines;
    #[path = "../../../../tests/support/netns.rs"]
    pub mod netns;
    #[path = "../../../../tests/support/rail_breaks.rs"]
    pub mod rail_breaks;
}

use lnet as _;
use std::time::Duration;
use support::machine_process::{Process, role};
use support::machines::{Machines, Wiring};
use support::rail_breaks::BREAKS;

const CLIENT: usize = 0;
const SERVER: usize = 1;
const RAILS: usize = 2;
const WIRING: Wiring = Wiring::SwitchPerCard;
/// Longer than LNet takes to detect the failure of a rail.
const DETECTION_TIME: Duration = Duration::from_secs(2);

/// Runs the program of a client or of a server, if the environment names it.
#[test]
fn a_process_of_the_testbed() {
    if let Some(role) = role() {
        rail_failure::process::run(&role);
    }
}

/// Transfers bulk data in both directions between two machines during `happens`; asserts that no transfer fails.
fn no_transfer_fails(name: &str, networks: &str, rails: usize, happens: impl FnOnce(&Machines)) {
    let Some(machines) = Machines::or_skip(2, rails, WIRING, |_| None) else { return };
    let address = |machine| format!("{}:12345:31:{machine}", WIRING.nid(machine, 0));
    let variables = [("LNET_NETWORKS", networks)];
    let _server = Process::start(&machines, SERVER, &format!("server {}", address(SERVER)), &variables);
    let role = format!("client {} {}", address(CLIENT), address(SERVER));
    let mut client = Process::start(&machines, CLIENT, &role, &variables);
    happens(&machines);
    let counts = client.command("end");
    println!("{name}: {counts}");
    assert!(counts.contains(" failed 0 corrupted 0 "), "{name}: {counts}");
}

#[test]
fn bulk_data_is_transferred_both_ways_over_one_rail() {
    no_transfer_fails("one rail", "tcp(eth0)", 1, |_| ());
}

#[test]
fn bulk_data_is_transferred_both_ways_over_two_rails() {
    no_transfer_fails("two rails", "tcp(eth0,eth1)", RAILS, |_| ());
}

/// Bulk data takes the other rail. Messages are sent by the NI of the transfer machine's address, which is on the first rail.
#[test]
fn a_rail_that_dies_in_the_middle_of_bulk_transfers_fails_none() {
    for (name, set) in BREAKS {
        no_transfer_fails(name, "tcp(eth0,eth1)", RAILS, |machines| {
            set(machines, 1, false);
            std::thread::sleep(DETECTION_TIME);
            set(machines, 1, true);
            std::thread::sleep(DETECTION_TIME);
        });
    }
}
