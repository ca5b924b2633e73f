//! RPCs over two rails in network namespaces, one of which fails, and with a server that is killed (ptlrpc 10, tests 5, 6, 8,
//! 14, 15 and 17). LNet detects the failure of a rail in real time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod rail_failure {
    pub(crate) mod process;
}
#[allow(dead_code, unreachable_pub)]
mod support {
    #[path = "../../../tests/support/machine_process.rs"]
    pub mod machine_process;
    #[path = "../../../tests/support/machines.rs"]
    pub mod machines;
    #[path = "../../../tests/support/netns.rs"]
    pub mod netns;
    #[path = "../../../tests/support/rail_breaks.rs"]
    pub mod rail_breaks;
}

use lnet as _;
use std::collections::BTreeMap;
use std::time::Duration;
use support::machine_process::{Process, role};
use support::machines::{Machines, Wiring, port, run};
use support::rail_breaks::BREAKS;

const CLIENT: usize = 0;
const SERVER: usize = 1;
const RAILS: usize = 2;
const WIRING: Wiring = Wiring::SwitchPerCard;

/// Runs the program of a client or of a server, if the environment names it.
#[test]
fn a_process_of_the_testbed() {
    if let Some(role) = role() {
        rail_failure::process::run(&role);
    }
}

/// Starts a process that uses both rails. `discovery`: whether its node asks others for their NIDs and tells its own.
fn start(machines: &Machines, machine: usize, role: &str, discovery: bool) -> Process {
    let discovery = if discovery { "1" } else { "0" };
    Process::start(
        machines,
        machine,
        role,
        &[("LNET_NETWORKS", "tcp(eth0,eth1)"), ("LNET_DISCOVERY", discovery)],
    )
}

/// The counts of the client's load.
#[derive(Debug)]
struct LoadCounts {
    succeeded: u64,
    failed: u64,
    corrupted: u64,
    duplicated: u64,
    lost: u64,
    #[allow(dead_code, reason = "printed")]
    longest: Duration,
    connections: u64,
}

impl LoadCounts {
    fn of(text: &str) -> Self {
        let words: Vec<&str> = text.split(' ').collect();
        let number = |name: &str| {
            let at = words.iter().position(|word| *word == name).expect(name);
            words[at + 1].parse::<u64>().unwrap()
        };
        Self {
            succeeded: number("succeeded"),
            failed: number("failed"),
            corrupted: number("corrupted"),
            duplicated: number("duplicated"),
            lost: number("lost"),
            longest: Duration::from_millis(number("longest")),
            connections: number("connections"),
        }
    }
}

/// A client that generates load, and its server.
struct Testbed {
    machines: Machines,
    server: Process,
    client: Process,
}

impl Testbed {
    /// Starts the testbed; `None`: this machine has no network namespaces.
    fn or_skip(wiring: Wiring, client_discovers: bool) -> Option<Self> {
        let machines = Machines::or_skip(2, RAILS, wiring, |_| None)?;
        let server = start(&machines, SERVER, "server", true);
        let nids = (0..RAILS).map(|card| wiring.nid(SERVER, card).to_string()).collect::<Vec<_>>().join(",");
        let client = start(&machines, CLIENT, &format!("client {nids}"), client_discovers);
        Some(Self { machines, server, client })
    }

    /// Ends the load; returns the counts of the client.
    fn end(&mut self) -> LoadCounts {
        let counts = LoadCounts::of(&self.client.command("end"));
        println!("{counts:?}");
        assert_eq!((counts.corrupted, counts.duplicated), (0, 0), "{counts:?}");
        counts
    }

    /// The paths of requests to the server: from, to, and how many.
    fn paths(&mut self) -> Vec<(String, String, u64)> {
        let response = self.server.command("paths");
        let words: Vec<&str> = response.split(' ').collect();
        let path = |path: &[&str]| (path[0].to_owned(), path[1].to_owned(), path[2].parse().unwrap());
        words.chunks_exact(3).map(path).collect()
    }
}

/// Runs `happens` under load; returns the counts of the client. `None`: this machine has no network namespaces.
fn under_load(happens: impl FnOnce(&mut Testbed)) -> Option<LoadCounts> {
    let mut testbed = Testbed::or_skip(WIRING, true)?;
    happens(&mut testbed);
    Some(testbed.end())
}

/// Longer than LNet takes to detect the failure of a rail.
const DETECTION_TIME: Duration = Duration::from_secs(2);

/// Fails if an RPC fails because a rail does: LNet uses the other rail.
#[test]
fn the_failure_of_a_rail_fails_no_rpc() {
    for (name, set) in BREAKS {
        let counts = under_load(|testbed| {
            set(&testbed.machines, 1, false);
            std::thread::sleep(DETECTION_TIME);
            set(&testbed.machines, 1, true);
            std::thread::sleep(DETECTION_TIME);
        });
        let Some(counts) = counts else { return };
        assert_eq!((counts.failed, counts.lost), (0, 0), "{name}: {counts:?}");
        assert!(counts.succeeded >= 500, "{name}: {counts:?}");
    }
}

/// The near client on `tcp`, the server on `tcp1`, and two routers between them.
struct Routed {
    machines: Machines,
    routers: [Process; 2],
    server: Process,
    client: Process,
}

const ROUTERS: [usize; 2] = [2, 3];

impl Routed {
    /// Starts the testbed; `None`: this machine has no network namespaces.
    fn or_skip() -> Option<Self> {
        let machines = Machines::or_skip(4, RAILS, WIRING, |_| None)?;
        let routes = |net: &str, gateway_net: &str, card| -> String {
            let over = |router| format!("{net} {}@{gateway_net}", WIRING.address(router, card));
            ROUTERS.map(over).join("; ")
        };
        let routers = ROUTERS.map(|machine| Self::router(&machines, machine));
        let (near, far) = (routes("tcp1", "tcp", 0), routes("tcp", "tcp1", 1));
        let server_variables = [("LNET_NETWORKS", "tcp1(eth1)"), ("LNET_ROUTES", &*far)];
        let server = Process::start(&machines, SERVER, "server", &server_variables);
        let role = format!("client {}@tcp1", WIRING.address(SERVER, 1));
        let client_variables = [("LNET_NETWORKS", "tcp(eth0)"), ("LNET_ROUTES", &*near)];
        let client = Process::start(&machines, CLIENT, &role, &client_variables);
        Some(Self { machines, routers, server, client })
    }

    fn router(machines: &Machines, machine: usize) -> Process {
        let variables = [("LNET_NETWORKS", "tcp(eth0),tcp1(eth1)"), ("LNET_FORWARDING", "enabled")];
        Process::start(machines, machine, "router", &variables)
    }

    fn signal(&self, router: usize, signal: &str) {
        run("kill", &[signal, &self.routers[router].id().to_string()]);
    }

    fn set_forwarding(&self, router: usize, forwarding: bool) {
        let state = if forwarding { "3" } else { "0" };
        for card in 0..RAILS {
            let port = port(ROUTERS[router], card);
            self.machines.in_the_middle(|| run("bridge", &["link", "set", "dev", &port, "state", state]));
        }
    }
}

/// A fault of a router: its name, the function that causes it, and the function that ends it.
type RouterFault = (&'static str, fn(&mut Routed, usize), fn(&mut Routed, usize));

const KILLED: RouterFault = (
    "killed",
    |routed, router| {
        routed.routers[router].kill();
    },
    |routed, router| routed.routers[router] = Routed::router(&routed.machines, ROUTERS[router]),
);
const STOPPED: RouterFault = (
    "stopped",
    |routed, router| routed.signal(router, "-STOP"),
    |routed, router| routed.signal(router, "-CONT"),
);
const BLACKHOLE: RouterFault = (
    "blackhole",
    |routed, router| routed.set_forwarding(router, false),
    |routed, router| routed.set_forwarding(router, true),
);

/// Fails if a fault of a router costs a request, a reply or bulk data, of either direction.
fn no_rpc_fails_with_routers(faults: &[RouterFault]) {
    for (name, fault, end) in faults {
        let Some(mut routed) = Routed::or_skip() else { return };
        let more = |routed: &mut Routed| assert_eq!(routed.client.command("more"), "done", "{name}");
        more(&mut routed);
        for router in 0..ROUTERS.len() {
            fault(&mut routed, router);
            more(&mut routed);
            end(&mut routed, router);
            more(&mut routed);
        }
        let Routed { machines, server, client, routers } = routed;
        let counts = Testbed { server, client, machines }.end();
        drop(routers);
        assert_eq!((counts.failed, counts.lost, counts.connections), (0, 0, 1), "{name}: {counts:?}");
        assert!(counts.succeeded >= 500, "{name}: {counts:?}");
    }
}

/// ptlrpc 10, test 1: fails if the death of a router fails an RPC.
#[test]
fn the_death_of_a_router_fails_no_rpc() {
    no_rpc_fails_with_routers(&[KILLED]);
}

#[test]
#[ignore = "takes minutes: make failover"]
fn a_router_that_stands_still_or_is_cut_off_fails_no_rpc() {
    no_rpc_fails_with_routers(&[STOPPED, BLACKHOLE]);
}

#[test]
fn a_killed_and_restarted_server_is_reconnected_and_executes_nothing_twice() {
    under_load(|testbed| {
        testbed.server.kill();
        std::thread::sleep(Duration::from_millis(500));
        testbed.server = start(&testbed.machines, SERVER, "server", true);
        std::thread::sleep(2 * DETECTION_TIME);
    })
    .inspect(|counts| assert!(counts.connections > 1, "{counts:?}"));
}

/// LNet uses the NIs of both sides in turn. Without other traffic they stay in step, so that only two of the four paths may
/// be used.
///
/// snd-075: fails if a client names the interface that its requests leave by.
#[test]
fn requests_are_distributed_over_all_nis_of_both_sides() {
    let Some(mut testbed) = Testbed::or_skip(Wiring::OneSwitch, true) else { return };
    let counts = testbed.end();
    let paths = testbed.paths();
    for side in [|path: &(String, String, u64)| path.0.clone(), |path: &(String, String, u64)| path.1.clone()]
    {
        let mut by_ni = BTreeMap::<String, u64>::new();
        paths.iter().for_each(|path| *by_ni.entry(side(path)).or_default() += path.2);
        assert_eq!(by_ni.len(), RAILS, "{paths:?}");
        assert!(by_ni.values().all(|count| *count > counts.succeeded / 4), "{paths:?}, of {counts:?}");
    }
}

/// Fails if a client without Multi-Rail sends from several NIDs: its servers know it by one, which has to be the one that they
/// see.
#[test]
fn all_requests_of_a_client_that_is_not_multi_rail_come_from_one_nid() {
    let Some(mut testbed) = Testbed::or_skip(Wiring::OneSwitch, false) else { return };
    testbed.end();
    let paths = testbed.paths();
    assert!(!paths.is_empty() && paths.iter().all(|(from, ..)| *from == paths[0].0), "{paths:?}");
}

/// Fails if an RPC is resent because a peer drops messages: LNet resends them before the RPC times out.
#[test]
fn lnet_resends_messages_that_the_peer_drops_without_rpcs_being_resent() {
    let resent = |testbed: &mut Testbed| testbed.server.command("resent").parse::<u64>().unwrap();
    let mut seen = None;
    let counts = under_load(|testbed| {
        assert_eq!(testbed.client.command("drop requests"), "done");
        std::thread::sleep(DETECTION_TIME);
        seen = Some(resent(testbed));
    });
    let Some(counts) = counts else { return };
    assert_eq!((counts.failed, counts.lost, seen), (0, 0, Some(0)), "{counts:?}");
}

/// Removes the primary NID of the server, so that it gets another one. Fails if a reply does not match then.
#[test]
fn replies_match_though_the_primary_nid_changes() {
    let counts = under_load(|testbed| {
        assert_eq!(testbed.server.command("without eth0"), "done");
        std::thread::sleep(DETECTION_TIME);
    });
    let Some(counts) = counts else { return };
    assert_eq!((counts.failed, counts.lost, counts.connections), (0, 0, 1), "{counts:?}");
}
