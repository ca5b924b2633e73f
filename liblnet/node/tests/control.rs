//! Control requests to a running node, and the replies.
#![allow(clippy::unwrap_used, clippy::panic)]

use lnet_core::Errno;
use lnet_core::FatalReporter;
use lnet_core::cpt::Layout;
use lnet_dlc::request::{
    AddLocalNi, AddPeerNi, AddRoute, AddUdsp, BufferCounts, CptBuffers, DelFaults, DelLocalNi, DelRoute,
    Discover, Discovered, ElementStats, Explain, Explanation, Fault, FaultCounts, FaultEffect, FaultKind,
    FaultOdds, FaultRule, LndNumbers, LndTunables, LnetStats, LocalNi, NetNotice, NiState, NiStatus,
    NiTunables, Passed, PassedOver, Peer, PeerNiState, Ping, PingResponse, Route, SetBy, SetConnsPerPeer,
    SetHealth, SetHealthKind, Setting, SettingState, Tunables, Udsp, UdspAction,
};
use lnet_dlc::runtime_dir::RuntimeDir;
use lnet_dlc::{Backend, Client, CptList, Request};
use lnet_node::{ControlConfig, ControlServer, Node, StartConfig};
use lnet_wire::{Nid, Pid, ProcessId};
use std::sync::Arc;

/// A node on the loopback alone, with two CPU partitions. It does not listen, so several may run at once.
fn node() -> Arc<Node> {
    let machine = tempfile::tempdir().unwrap();
    let cpus = machine.path().join("devices/system/cpu");
    std::fs::create_dir_all(&cpus).unwrap();
    std::fs::write(cpus.join("online"), "0-1").unwrap();
    let cpts = Layout::Pattern("0[0] 1[1]".parse().unwrap());
    let mut config = StartConfig { cpts, sysfs: machine.path().to_owned(), ..StartConfig::default() };
    config.drivers.get_mut::<socklnd::SocklndConfig>().unwrap().accept = socklnd::AcceptFrom::None;
    Node::start(Pid::LUSTRE, config).unwrap()
}

fn nid(text: &str) -> Nid {
    text.parse().unwrap()
}

fn add(net: &str, interface: &str) -> AddLocalNi {
    AddLocalNi {
        net: net.parse().unwrap(),
        interface: Some(interface.to_owned()),
        tunables: NiTunables::default(),
        lnd: LndTunables::default(),
        cpts: None,
    }
}

#[allow(clippy::vec_box, reason = "as answered")]
fn nis(node: &dyn Backend) -> Vec<Box<LocalNi>> {
    node.list(Request::GetLocalNi).unwrap()
}

/// cfg-020: fails if an interface cannot be added to or taken from a running node.
/// cfg-045: fails if a value that was set is reported otherwise, or not at all.
/// dbg-040: fails if an index leaves out an interface, or reports one twice.
#[test]
fn interfaces_are_added_listed_with_their_tunables_and_removed() {
    let node = node();
    let backend: &dyn Backend = &*node;
    let mut wanted = add("tcp1", "127.0.1.1");
    wanted.tunables = NiTunables { peer_timeout: Some(100), credits: Some(512), ..NiTunables::default() };
    wanted.lnd.conns_per_peer = Some(3);
    wanted.cpts = Some(CptList::new(vec![1]));
    assert_eq!(backend.ask::<Nid>(Request::AddLocalNi(wanted.clone())), Ok(nid("127.0.1.1@tcp1")));
    assert_eq!(backend.tell(Request::AddLocalNi(wanted)), Err(Errno::Exists));
    assert_eq!(backend.tell(Request::AddLocalNi(add("tcp", "no-such-if"))), Err(Errno::NoDevice));
    assert_eq!(backend.tell(Request::AddLocalNi(add("tcp", "192.0.2.1"))), Err(Errno::AddressNotAvailable));
    assert_eq!(backend.tell(Request::AddLocalNi(add("kfi", "lo"))), Err(Errno::ProtocolNotSupported));

    let all = nis(backend);
    assert_eq!(all.iter().map(|ni| ni.nid).collect::<Vec<_>>(), [Nid::LOOPBACK, nid("127.0.1.1@tcp1")]);
    assert_eq!(all[0].tunables.credits, Some(0));
    assert_eq!(all[0].cpts, CptList::new(vec![0, 1]));
    let its = &all[1];
    assert_eq!(its.interface.as_deref(), Some("127.0.1.1"));
    let tunables = NiTunables {
        peer_timeout: Some(100),
        peer_credits: Some(8),
        peer_buffer_credits: Some(0),
        credits: Some(512),
    };
    assert_eq!((its.tunables, its.lnd.conns_per_peer), (tunables, Some(3)));
    assert_eq!((its.cpts.as_slice(), its.device_cpt, its.health.value), (&[1][..], -1, 1000));

    let del = |net: &str, interface: Option<&str>| {
        let interface = interface.map(str::to_owned);
        backend.tell(Request::DelLocalNi(DelLocalNi { net: net.parse().unwrap(), interface }))
    };
    assert_eq!(del("tcp9", None), Err(Errno::NotFound));
    assert_eq!(del("tcp9", Some("lo")), Err(Errno::NotFound));
    assert_eq!(del("tcp1", Some("no-such-if")), Err(Errno::NoDevice));
    assert_eq!(del("tcp1", Some("127.0.1.1")), Ok(()));
    assert_eq!(nis(backend).len(), 1);
}

/// cfg-035: fails if an interface that names no partitions gets none, or only one.
#[test]
fn an_interface_without_partitions_is_bound_to_all() {
    let node = node();
    let backend: &dyn Backend = &*node;
    backend.tell(Request::AddLocalNi(add("tcp", "127.0.1.1"))).unwrap();
    assert_eq!(nis(backend)[1].cpts, CptList::new(vec![0, 1]));
}

#[test]
fn health_and_connections_are_set_for_one_or_for_all() {
    let node = node();
    let backend: &dyn Backend = &*node;
    for interface in ["127.0.1.1", "127.0.1.2"] {
        backend.tell(Request::AddLocalNi(add("tcp", interface))).unwrap();
    }
    let health = |which: Option<&str>, value| {
        let set = SetHealth { kind: SetHealthKind::LocalNi, nid: which.map(nid), value };
        let told = backend.tell(Request::SetHealth(set));
        (told, nis(backend).iter().map(|ni| ni.health.value).collect::<Vec<_>>())
    };
    assert_eq!(health(Some("127.0.1.1@tcp"), 500), (Ok(()), vec![0, 500, 1000]));
    assert_eq!(health(Some("127.0.1.9@tcp"), 1), (Err(Errno::NotFound), vec![0, 500, 1000]));
    assert_eq!(health(None, 5000), (Err(Errno::Invalid), vec![0, 500, 1000]));
    assert_eq!(health(None, 7), (Ok(()), vec![0, 7, 7]));
    assert_eq!(health(None, -1), (Ok(()), vec![0, 1000, 1000]));
    let conns = |nid, value| backend.tell(Request::SetConnsPerPeer(SetConnsPerPeer { nid, value }));
    assert_eq!(conns(Some(nid("127.0.1.2@tcp")), 4), Ok(()));
    assert_eq!(conns(Some(nid("127.0.1.2@tcp")), 128), Err(Errno::Invalid));
    assert_eq!(conns(Some(nid("127.0.1.9@tcp")), 4), Err(Errno::NotFound));
    let conns: Vec<_> = nis(backend).iter().map(|ni| ni.lnd.conns_per_peer).collect();
    assert_eq!(conns, [None, Some(1), Some(4)]);
}

fn type_of_service(tos: i64) -> LndTunables {
    LndTunables { conns_per_peer: None, numbers: LndNumbers::written_as([("tos", tos)]) }
}

/// Fails if an interface has another type of service than was asked for, or if a driver that has none refuses the interface.
#[test]
fn an_interface_over_tcp_has_the_type_of_service_that_is_asked_for_and_others_ignore_it() {
    let node = node();
    let backend: &dyn Backend = &*node;
    let table = [
        (add("tcp", "127.0.1.1"), None),
        (AddLocalNi { lnd: type_of_service(72), ..add("tcp1", "127.0.1.1") }, Some(72)),
        (AddLocalNi { lnd: type_of_service(0), ..add("tcp2", "127.0.1.1") }, Some(0)),
        // It is the system's.
        (AddLocalNi { lnd: type_of_service(-1), ..add("tcp3", "127.0.1.1") }, None),
        (AddLocalNi { lnd: type_of_service(72), ..add("shm", "1") }, None),
    ];
    for (asked, expected) in table {
        let nid = backend.ask::<Nid>(Request::AddLocalNi(asked.clone())).unwrap();
        let ni = nis(backend).into_iter().find(|ni| ni.nid == nid).unwrap();
        assert_eq!(ni.lnd.numbers.get("tos"), expected, "{asked:?}");
    }
}

/// Fails if the check of a request finds another error than the request itself.
#[test]
fn what_adding_an_interface_would_fail_with_is_told_without_adding_it() {
    let node = node();
    let backend: &dyn Backend = &*node;
    backend.tell(Request::AddLocalNi(add("tcp", "127.0.1.1"))).unwrap();
    let too_many = LndTunables { conns_per_peer: Some(128), ..LndTunables::default() };
    let table = [
        (add("tcp", "127.0.1.1"), Err(Errno::Exists)),
        (add("kfi", "127.0.1.1"), Err(Errno::ProtocolNotSupported)),
        (add("kfi", "nosuch0"), Err(Errno::ProtocolNotSupported)),
        (add("tcp1", "nosuch0"), Err(Errno::NoDevice)),
        (AddLocalNi { cpts: Some(CptList::new(vec![2])), ..add("tcp1", "127.0.1.2") }, Err(Errno::Invalid)),
        (AddLocalNi { lnd: too_many, ..add("tcp1", "127.0.1.2") }, Err(Errno::Invalid)),
        (add("tcp1", "127.0.1.2"), Ok(())),
    ];
    for (asked, expected) in table {
        assert_eq!(backend.tell(Request::CheckLocalNi(asked.clone())), expected, "{asked:?}");
        assert_eq!(nis(backend).len(), 2, "{asked:?}");
        if expected.is_err() {
            assert_eq!(backend.tell(Request::AddLocalNi(asked.clone())), expected, "{asked:?}");
        }
    }
}

/// Fails if a client does not get the message of the part that found the cause: the driver, the core, or the list of drivers.
#[test]
fn what_is_in_the_way_of_an_interface_is_told_in_words() {
    let node = node();
    let backend: &dyn Backend = &*node;
    backend.tell(Request::AddLocalNi(add("tcp", "127.0.1.1"))).unwrap();
    let too_many = LndTunables { conns_per_peer: Some(128), ..LndTunables::default() };
    let table = [
        (add("tcp", "nosuch0"), "interface nosuch0: not usable (there is no such interface)"),
        (add("tcp", "192.0.2.1"), "address 192.0.2.1: not usable ("),
        (
            add("kfi", "cxi0"),
            "net kfi: not started (there is no driver for nets of this kind here, only for tcp, o2ib, shm)",
        ),
        (
            add("tcp", "127.0.1.1"),
            "NI 127.0.1.1@tcp: not started (File exists; the net has this interface already)",
        ),
        (
            AddLocalNi { cpts: Some(CptList::new(vec![2])), ..add("tcp1", "127.0.1.2") },
            "NI 127.0.1.2@tcp1: not started (CPT 2 is not within 0 to 1, which are the node's CPU partitions)",
        ),
        (AddLocalNi { lnd: too_many, ..add("tcp1", "127.0.1.2") }, "net tcp1: not started ("),
        (
            AddLocalNi { lnd: type_of_service(256), ..add("tcp1", "127.0.1.2") },
            "net tcp1: not started (tos 256 is not within -1 to 255)",
        ),
    ];
    for (asked, expected) in table {
        let check = backend.call(Request::CheckLocalNi(asked.clone())).unwrap_err();
        let refused = backend.call(Request::AddLocalNi(asked)).unwrap_err();
        assert!(refused.text().starts_with(expected), "{expected}: {refused}");
        assert_eq!(check, refused);
    }
}

/// dbg-030: fails if an interface is reported in a state that differs from its health, its link and its net's other
/// interfaces.
#[test]
fn unhealthy_interfaces_are_listed_with_their_state_and_next_ping() {
    // The node does not listen: a ping to itself does not restore an interface.
    let node = node();
    let backend: &dyn Backend = &*node;
    for interface in ["127.0.1.1", "127.0.1.2"] {
        backend.tell(Request::AddLocalNi(add("tcp", interface))).unwrap();
    }
    let states_with = |health: [i32; 2]| {
        for (own, value) in ["127.0.1.1@tcp", "127.0.1.2@tcp"].into_iter().zip(health) {
            let set = SetHealth { kind: SetHealthKind::LocalNi, nid: Some(nid(own)), value };
            backend.tell(Request::SetHealth(set)).unwrap();
        }
        let all = nis(backend);
        ([1, 2].map(|at: usize| all[at].health.state.unwrap()), all[1].health.net_state.unwrap())
    };
    use NiState::{Active, Degraded, Failed};
    assert_eq!(states_with([1000, 1000]), ([Active, Active], Active));
    assert!(nis(backend).iter().all(|ni| ni.health.next_ping_in.is_none() && ni.health.next_ping == 0));
    let queue = |own| backend.ask::<Vec<Nid>>(Request::GetRecoveryQueue(own)).unwrap();
    assert_eq!(queue(true), []);
    assert_eq!(states_with([1000, 500]), ([Active, Degraded], Active));
    assert_eq!((queue(true), queue(false)), (vec![nid("127.0.1.2@tcp")], vec![]));
    assert!(nis(backend)[2].health.next_ping_in.is_some());
    assert_eq!(states_with([900, 0]), ([Degraded, Failed], Degraded));
    assert_eq!(states_with([0, 0]), ([Failed, Failed], Failed));
    assert_eq!(queue(true), [nid("127.0.1.2@tcp"), nid("127.0.1.1@tcp")]);
    node.core().admin().set_ni_fatal(nid("127.0.1.1@tcp"), FatalReporter::Host, Some("a test"));
    let broken = nis(backend)[1].clone();
    assert!(broken.health.fatal_error && broken.status == NiStatus::Down);
}

#[test]
fn failures_are_counted_by_cause() {
    let node = node();
    let backend: &dyn Backend = &*node;
    backend.tell(Request::SetTunable(Setting::Discovery, 0)).unwrap();
    backend.tell(Request::AddLocalNi(add("tcp", "127.0.1.1"))).unwrap();
    // No node has these NIDs, which the machine reports at once.
    let (primary, other) = (nid("127.0.97.1@tcp"), nid("127.0.97.2@tcp"));
    for nid in [None, Some(other)] {
        let add = AddPeerNi { primary, nid, multi_rail: true, lock_primary: false };
        backend.tell(Request::AddPeerNi(add)).unwrap();
    }
    let target = ProcessId { nid: primary, pid: Pid::LUSTRE };
    let ping = Ping { target, source: None, timeout_ms: Some(60_000), max_nids: 16 };
    assert!(backend.ask::<PingResponse>(Request::PingPeer(ping)).is_err());
    let peer: Box<Peer> = backend.ask(Request::GetPeerNi(primary)).unwrap();
    let dropped: u64 = peer.nis.iter().map(|ni| ni.health.dropped).sum();
    assert!(dropped > 0, "{peer:?}");
    assert!(peer.nis.iter().any(|ni| ni.health.value < 1000 && ni.health.state == Some(PeerNiState::Failed)));
    let stats: Box<LnetStats> = backend.ask(Request::GetLnetStats).unwrap();
    assert_eq!((stats.remote_dropped_count, stats.local_error_count), (dropped, 0));
    // A peer NI from which nothing was ever received is not pinged.
    assert_eq!(backend.ask::<Vec<Nid>>(Request::GetRecoveryQueue(false)), Ok(vec![]));
    backend.tell(Request::ResetLnetStats).unwrap();
    let stats: Box<LnetStats> = backend.ask(Request::GetLnetStats).unwrap();
    assert_eq!((stats.remote_dropped_count, stats.resend_count), (0, 0));
}

/// cfg-070: fails if a NID does not become part of the peer that it is added to.
/// cfg-080: fails if a NID of one peer can be given to another one, or the refusal is not EEXIST.
#[test]
fn peers_are_created_listed_and_rejected() {
    let node = node();
    let backend: &dyn Backend = &*node;
    let add = |primary: &str, other: Option<&str>, multi_rail| {
        let (primary, nid) = (nid(primary), other.map(nid));
        backend.tell(Request::AddPeerNi(AddPeerNi { primary, nid, multi_rail, lock_primary: false }))
    };
    assert_eq!(add("10.0.0.5@tcp", None, true), Ok(()));
    assert_eq!(add("10.0.0.5@tcp", Some("10.0.1.5@tcp1"), true), Ok(()));
    assert_eq!(add("10.0.0.6@tcp", None, false), Ok(()));
    assert_eq!(add("10.0.0.6@tcp", Some("10.0.1.5@tcp1"), false), Err(Errno::Exists));
    assert_eq!(
        backend.ask::<Vec<Nid>>(Request::GetPeerList),
        Ok(vec![nid("10.0.0.5@tcp"), nid("10.0.0.6@tcp")])
    );
    let peer: Box<Peer> = backend.ask(Request::GetPeerNi(nid("10.0.1.5@tcp1"))).unwrap();
    assert_eq!((peer.primary, peer.multi_rail), (nid("10.0.0.5@tcp"), true));
    assert_eq!(
        peer.nis.iter().map(|ni| ni.nid).collect::<Vec<_>>(),
        [nid("10.0.0.5@tcp"), nid("10.0.1.5@tcp1")]
    );
    // The node is on neither net: it has no credits to send by.
    assert_eq!((peer.nis[0].tx_credits, peer.nis[0].refcount, peer.nis[0].alive), (0, 1, None));
    assert_eq!(backend.tell(Request::GetPeerNi(nid("10.0.0.7@tcp"))), Err(Errno::NotFound));
}

/// RT-33: fails if an operator's word about a gateway does not reach its interface and its route.
#[test]
fn an_interface_of_a_gateway_is_down_or_alive_as_an_operator_says() {
    let node = node();
    let backend: &dyn Backend = &*node;
    backend.tell(Request::AddLocalNi(add("tcp", "127.0.1.1"))).unwrap();
    let gateway = nid("127.0.1.9@tcp");
    let route =
        AddRoute { net: "tcp5".parse().unwrap(), gateway, hops: None, priority: 0, health_sensitivity: 1 };
    backend.tell(Request::AddRoute(route)).unwrap();
    let interface_and_route = || {
        let peer: Box<Peer> = backend.ask(Request::GetPeerNi(gateway)).unwrap();
        let route = backend.list::<Route>(Request::GetRoute).unwrap().remove(0);
        (peer.nis[0].reported_down, route.alive)
    };
    // There is no node at that address: the check of the gateway may find the route down at any time.
    for alive in [false, true, false] {
        backend.tell(Request::NotifyRouter(NetNotice { nid: gateway, alive })).unwrap();
        let (is_down, route_is_up) = interface_and_route();
        assert_eq!(is_down, !alive);
        assert!(alive || !route_is_up);
    }
    let unknown = NetNotice { nid: nid("127.0.1.8@tcp"), alive: false };
    assert_eq!(backend.tell(Request::NotifyRouter(unknown)), Ok(()));
    assert_eq!(backend.tell(Request::GetPeerNi(unknown.nid)), Err(Errno::NotFound));
}

#[test]
fn routes_and_forwarding_are_stored_and_listed() {
    let node = node();
    let backend: &dyn Backend = &*node;
    backend.tell(Request::AddLocalNi(add("tcp", "127.0.1.1"))).unwrap();
    let net = "tcp5".parse().unwrap();
    let route =
        AddRoute { net, gateway: nid("127.0.1.9@tcp"), hops: Some(2), priority: 3, health_sensitivity: 1 };
    backend.tell(Request::AddRoute(route)).unwrap();
    assert_eq!(backend.tell(Request::AddRoute(route)), Err(Errno::Exists));
    let routes: Vec<Route> = backend.list(Request::GetRoute).unwrap();
    assert_eq!((routes.len(), routes[0].hops, routes[0].priority), (1, Some(2), 3));
    backend.tell(Request::DelRoute(DelRoute { net: Some(net), gateway: None })).unwrap();
    assert_eq!(backend.list::<Route>(Request::GetRoute), Ok(vec![]));

    let buffers = || backend.list::<CptBuffers>(Request::GetBuffers).unwrap();
    assert_eq!(buffers(), []);
    backend.tell(Request::ConfigRouter(true)).unwrap();
    backend.tell(Request::AddBuffers(BufferCounts { tiny: Some(100), ..BufferCounts::default() })).unwrap();
    let counts: Vec<_> = buffers().iter().map(|b| (b.tiny.buffers, b.small.buffers, b.enabled)).collect();
    assert_eq!(counts, [(50, 8192, true); 2]);
}

/// cfg-090: fails if the NUMA range cannot be set, or is not reported as set.
#[test]
fn settings_are_checked_and_listed() {
    let node = node();
    let backend: &dyn Backend = &*node;
    backend.tell(Request::SetNumaRange(5)).unwrap();
    assert_eq!(backend.ask::<u32>(Request::GetNumaRange), Ok(5));
    for (tunable, value, expected) in [
        (Setting::RetryCount, 3, Ok(())),
        (Setting::RetryCount, 1000, Err(Errno::Invalid)),
        (Setting::Discovery, -1, Ok(())),
        (Setting::RecoveryInterval, 9, Ok(())),
        (Setting::MaxInterfaces, 2, Ok(())),
        (Setting::LndTimeout, 5, Err(Errno::Invalid)),
        (Setting::FirstPing, 0, Err(Errno::Invalid)),
    ] {
        assert_eq!(backend.tell(Request::SetTunable(tunable, value)), expected, "{tunable:?} {value}");
    }
    let states: Vec<SettingState> = backend.ask(Request::GetSettings).unwrap();
    let set_by = |name: &str| {
        let state = states.iter().find(|state| state.name == name).unwrap();
        (state.value.to_string(), state.set_by.clone())
    };
    assert_eq!(set_by("retry_count"), ("3".to_owned(), SetBy::Command));
    assert_eq!(set_by("first_ping"), ("1".to_owned(), SetBy::Default));
    let all: Tunables = backend.ask(Request::GetTunables).unwrap();
    let values = [
        (Setting::RetryCount, 3),
        (Setting::LndTimeout, 12),
        (Setting::Discovery, 1),
        (Setting::RecoveryInterval, 1),
        (Setting::MaxInterfaces, 4096),
    ];
    for (setting, value) in values {
        assert_eq!(all.get(setting), value, "{setting:?}");
    }
}

/// cfg-050: fails if rules are not reported, or in another order than the one in which they apply.
/// cfg-095: fails if a rule cannot be added, inserted at an index, or deleted.
/// cfg-100: fails if the second rule replaces the first.
#[test]
fn selection_rules_are_kept_in_order() {
    let node = node();
    let backend: &dyn Backend = &*node;
    let add = |src: &str, priority, index| {
        let src = Some(src.parse().unwrap());
        let action = UdspAction::Priority(priority);
        backend.tell(Request::AddUdsp(AddUdsp { src, dst: None, rte: None, action, messages: None, index }))
    };
    assert_eq!(add("tcp", 0, None), Ok(()));
    assert_eq!(add("tcp1", 1, Some(0)), Ok(()));
    assert_eq!(add("tcp1", 1, None), Err(Errno::Already));
    let rules: Vec<Box<Udsp>> = backend.list(Request::GetUdsp).unwrap();
    let told: Vec<_> =
        rules.iter().map(|rule| (rule.index, rule.src.as_ref().unwrap().to_string())).collect();
    assert_eq!(told, [(0, "tcp1".to_owned()), (1, "tcp".to_owned())]);
    backend.tell(Request::DelUdsp(None)).unwrap();
    assert_eq!(backend.list::<Box<Udsp>>(Request::GetUdsp), Ok(vec![]));
}

#[test]
fn a_ping_returns_the_reply_and_the_local_knowledge_of_the_peer() {
    let node = node();
    let backend: &dyn Backend = &*node;
    backend.tell(Request::AddLocalNi(add("tcp", "127.0.1.1"))).unwrap();
    let target = ProcessId { nid: Nid::LOOPBACK, pid: Pid::LUSTRE };
    let ping = Ping { target, source: None, timeout_ms: Some(10_000), max_nids: 200 };
    let response: PingResponse = backend.ask(Request::PingPeer(ping)).unwrap();
    assert_eq!((response.primary, response.multi_rail), (Nid::LOOPBACK, false));
    assert_eq!(response.nids, [nid("127.0.1.1@tcp")]);
}

#[test]
fn an_explanation_names_the_path_and_creates_no_peer() {
    let node = node();
    let backend: &dyn Backend = &*node;
    for interface in ["127.0.1.1", "127.0.1.2"] {
        backend.tell(Request::AddLocalNi(add("tcp", interface))).unwrap();
    }
    let set = SetHealth { kind: SetHealthKind::LocalNi, nid: Some(nid("127.0.1.1@tcp")), value: 500 };
    backend.tell(Request::SetHealth(set)).unwrap();
    let ask = |destination: &str, source: Option<&str>| {
        let (destination, source) = (nid(destination), source.map(nid));
        backend.ask::<Explanation>(Request::Explain(Explain { destination, source }))
    };
    let told = ask("127.0.1.9@tcp", None).unwrap();
    assert_eq!((told.known, told.local, told.remote), (false, nid("127.0.1.2@tcp"), nid("127.0.1.9@tcp")));
    let [PassedOver { candidate, why }] = &told.passed_over[..] else { panic!("{told:?}") };
    assert_eq!(*candidate, Passed::LocalNi(nid("127.0.1.1@tcp")));
    assert_eq!(why, "lower health: 500, the chosen one has 1000");
    assert_eq!(ask("127.0.1.9@tcp", Some("127.0.1.1@tcp")).unwrap().local, nid("127.0.1.1@tcp"));
    assert_eq!(ask("127.0.1.9@tcp7", None), Err(Errno::HostUnreachable));
    assert_eq!(ask("127.0.1.9@tcp", Some("127.0.1.3@tcp")), Err(Errno::Invalid));
    assert_eq!(ask("0@lo", None).unwrap().local, Nid::LOOPBACK);
    assert_eq!(backend.ask::<Vec<Nid>>(Request::GetPeerList), Ok(vec![]));
}

/// cfg-105: fails if each client of a node has rules of its own, or not all can see and delete them.
#[test]
fn all_clients_of_a_node_have_one_set_of_selection_rules() {
    let node = node();
    let directory = tempfile::tempdir().unwrap();
    let directory = RuntimeDir::at(directory.path());
    let served = Arc::clone(&node) as Arc<dyn Backend + Send + Sync>;
    let server =
        ControlServer::start(ControlConfig::new(directory.clone(), "a".parse().unwrap()), served).unwrap();
    let clients: [&dyn Backend; 3] =
        [&*node, &Client::at(directory.clone(), None), &Client::at(directory.clone(), None)];
    let add = |client: &dyn Backend, src: &str| {
        let (src, action) = (Some(src.parse().unwrap()), UdspAction::Priority(0));
        client.tell(Request::AddUdsp(AddUdsp {
            src,
            dst: None,
            rte: None,
            action,
            messages: None,
            index: None,
        }))
    };
    for (client, src) in clients.into_iter().zip(["tcp", "tcp1", "tcp2"]) {
        assert_eq!(add(client, src), Ok(()));
        assert!(clients.iter().all(|client| add(*client, src) == Err(Errno::Already)), "{src}");
    }
    for client in clients {
        let rules: Vec<Box<Udsp>> = client.list(Request::GetUdsp).unwrap();
        let told = rules.iter().map(|rule| (rule.index, rule.src.as_ref().unwrap().to_string()));
        assert_eq!(told.collect::<Vec<_>>(), [(0, "tcp".into()), (1, "tcp1".into()), (2, "tcp2".into())]);
    }
    clients[2].tell(Request::DelUdsp(None)).unwrap();
    assert!(clients.iter().all(|client| client.list::<Box<Udsp>>(Request::GetUdsp) == Ok(vec![])));
    drop(server);
}

/// dbg-045: fails if the node's sums are not those of its interfaces.
/// dbg-070, dbg-075: fails if a NID that was just used has no heat.
/// dbg-120: fails if any counter is left after a reset.
#[test]
fn messages_bytes_and_heat_are_counted_and_reset() {
    let node = node();
    let backend: &dyn Backend = &*node;
    let target = ProcessId { nid: Nid::LOOPBACK, pid: Pid::LUSTRE };
    let ping = Ping { target, source: None, timeout_ms: None, max_nids: 16 };
    backend.tell(Request::PingPeer(ping)).unwrap();
    let stats = || *backend.ask::<Box<LnetStats>>(Request::GetLnetStats).unwrap();
    let loopback = || nis(backend).remove(0);
    let (counted, its) = (stats(), loopback());
    assert!(counted.send_count > 0);
    let sums = ElementStats { sent: counted.send_count, received: counted.recv_count, dropped: 0 };
    let bytes = ElementStats { sent: counted.send_length, received: counted.recv_length, dropped: 0 };
    assert_eq!((its.stats, its.bytes), (sums, bytes));
    assert!(its.bytes.sent > 0);
    // Heat decays meanwhile: it is less than the number of messages, but not zero.
    assert!((1..=1000 * (sums.sent + sums.received)).contains(&its.heat.messages));
    assert!((1..=1000 * (bytes.sent + bytes.received)).contains(&its.heat.bytes));

    backend.tell(Request::ResetLnetStats).unwrap();
    let its = loopback();
    assert_eq!((its.stats, its.bytes, its.heat), Default::default());
    assert_eq!(stats(), LnetStats::default());
}

/// As `ping 0@lo` in the kernel: fails if a node on the loopback alone sends a ping to discover itself.
#[test]
fn a_node_that_has_only_the_loopback_discovers_itself() {
    let node = node();
    let backend: &dyn Backend = &*node;
    let target = ProcessId { nid: Nid::LOOPBACK, pid: Pid::LUSTRE };
    for (mode, multi_rail) in [(1, true), (0, false)] {
        backend.tell(Request::SetTunable(Setting::Discovery, mode)).unwrap();
        let discover = Discover { target, force: false, max_nids: 16 };
        let found: Discovered = backend.ask(Request::Discover(discover)).unwrap();
        let response = PingResponse { primary: Nid::LOOPBACK, pid: Pid::LUSTRE.0, multi_rail, nids: vec![] };
        assert_eq!(found, Discovered::Found { response, differences: vec![] });
    }
}

#[test]
fn fault_rules_are_added_counted_and_removed() {
    let node = node();
    let backend: &dyn Backend = &*node;
    let one = std::num::NonZeroU32::MIN;
    let lost = FaultRule {
        source: "*@lo".parse().unwrap(),
        dest: "*".parse().unwrap(),
        local: "*".parse().unwrap(),
        messages: 4,
        portals: 1,
        odds: FaultOdds::OneIn(one),
        effect: FaultEffect::Drop { errors: 0, all: false },
    };
    let late = FaultRule { effect: FaultEffect::Delay { latency_ms: 250 }, messages: 0, portals: 0, ..lost };
    let wrong = [
        FaultRule { messages: 16, ..lost },
        FaultRule { messages: 8, ..lost },
        FaultRule { odds: FaultOdds::OnePerMs(0), ..lost },
        FaultRule { effect: FaultEffect::Drop { errors: 1, all: false }, ..lost },
        FaultRule { effect: FaultEffect::Delay { latency_ms: 0 }, ..lost },
    ];
    for rule in wrong {
        assert_eq!(backend.tell(Request::AddFault(rule)), Err(Errno::Invalid), "{rule:?}");
    }
    for rule in [lost, late] {
        assert_eq!(backend.tell(Request::AddFault(rule)), Ok(()));
    }
    let listed = |kind| backend.list::<Box<Fault>>(|index| Request::GetFault(kind, index)).unwrap();
    let counts = FaultCounts::default();
    assert_eq!(
        listed(FaultKind::Delay),
        [Box::new(Fault { rule: FaultRule { messages: 15, ..late }, counts })]
    );
    let delete = |kind, source: Option<&str>| {
        let source = source.map(|text| text.parse().unwrap());
        backend.ask::<u32>(Request::DelFaults(DelFaults { kind, source, dest: None })).unwrap()
    };
    assert_eq!(delete(FaultKind::Delay, None), 1);

    let timeout = Some(std::time::Duration::from_millis(10));
    let target = ProcessId { nid: Nid::LOOPBACK, pid: Pid::LUSTRE };
    let ping = || node.ping(lnet_node::PingRequest { target, source: None, max_entries: 16, timeout });
    assert!(ping().is_err());
    assert_eq!(listed(FaultKind::Drop)[0].counts, FaultCounts { matched: 1, hit: 1, get: 1, ..counts });
    assert_eq!(backend.tell(Request::ResetFaults(FaultKind::Drop)), Ok(()));
    assert_eq!(listed(FaultKind::Drop)[0].counts, counts);
    assert_eq!(delete(FaultKind::Drop, Some("*")), 0);
    assert_eq!(delete(FaultKind::Drop, Some("*@lo")), 1);
    assert!(ping().is_ok());
    node.shutdown();
}
