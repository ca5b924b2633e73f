//! A fake node: its replies are a function of the requests. There is one with one interface that accepts every request and records
//! those that change something, and one that does not run.

use lnet_wire::Reachability;

use lnet_dlc::request::{
    AttachedProgram, AttachedPrograms, Difference, Discover, Discovered, DiscoveryFailure, DiscoveryStep,
    ElementStats, Explanation, Fault, FaultCounts, FaultEffect, FaultKind, FaultOdds, FaultRule, LnetStats,
    LocalHealth, LocalNi, NodeInfo, PayloadWays, Peer, PeerHealth, PeerNi, PeerReachability, Ping,
    PingResponse, ProgramCounts, RingFill, SetBy, SettingState, Tunables, Udsp, UdspAction,
};
use lnet_dlc::{Backend, CptList, Reply, Request, RequestError};
use lnet_settings::Value;
use lnet_wire::latency::{Delay, Histogram};
use lnet_wire::{Errno, Nid};
use lnetctl::node::Node;
use std::cell::RefCell;
use std::rc::Rc;

/// The requests that change something, in order.
pub(crate) type Changes = Rc<RefCell<Vec<Request>>>;

/// A node that gives each request to `reply`.
pub(crate) struct FakeNode<F> {
    reply: F,
    /// The reason why no node is reached.
    explanation: Option<&'static str>,
}

impl<F: Fn(Request) -> Result<Reply, RequestError> + 'static> FakeNode<F> {
    pub(crate) fn boxed(reply: F) -> Box<dyn Node> {
        Box::new(Self { reply, explanation: None })
    }
}

impl<F: Fn(Request) -> Result<Reply, RequestError>> Backend for FakeNode<F> {
    fn call(&self, request: Request) -> Result<Reply, RequestError> {
        (self.reply)(request)
    }
}

impl<F: Fn(Request) -> Result<Reply, RequestError>> Node for FakeNode<F> {
    fn explain(&self) -> Option<String> {
        self.explanation.map(str::to_owned)
    }

    fn own_node(&self, networks: &str) -> Result<Box<dyn Node>, Errno> {
        match networks {
            "tcp(nosuch0)" => Err(Errno::NoDevice),
            _ => Ok(FakeNode::boxed(one_interface(Changes::default()))),
        }
    }
}

/// No node: every request fails with `ENETDOWN`.
pub(crate) fn no_node() -> Box<dyn Node> {
    let reply = |_| Err(Errno::NetworkDown.into());
    Box::new(FakeNode { reply, explanation: Some("no node runs here") })
}

/// The replies of a node with one interface, which records in `changes` the requests that change something.
pub(crate) fn one_interface(changes: Changes) -> impl Fn(Request) -> Result<Reply, RequestError> {
    move |request| {
        if !request.only_reads() {
            changes.borrow_mut().push(request.clone());
        }
        match request {
            Request::GetNode => Some(Reply::Node(NodeInfo {
                version: "0".into(),
                name: "fake".into(),
                process: 1,
                started_ms: Some(1_700_000_000_250),
                selftest: None,
            })),
            Request::GetPrograms => Some(Reply::Programs(programs())),
            Request::GetLocalNi(index) => {
                nis().into_iter().nth(index as usize).map(Box::new).map(Reply::LocalNi)
            }
            Request::GetUdsp(index) => rule(index).map(Box::new).map(Reply::Udsp),
            Request::GetNi(_) | Request::GetRoute(_) | Request::GetBuffers(_) => None,
            Request::GetFault(_, 1..) => None,
            Request::GetFault(kind, _) => Some(Reply::Fault(Box::new(fault(kind)))),
            Request::GetPeerList => Some(Reply::Nids(Vec::new())),
            Request::GetRecoveryQueue(_) => Some(Reply::Nids(vec!["10.0.0.1@tcp".parse().unwrap()])),
            Request::GetNumaRange => Some(Reply::Number(0)),
            Request::GetSettings => Some(Reply::Settings(settings())),
            Request::GetTunables => Some(Reply::Tunables(Tunables::default())),
            Request::GetLnetStats => Some(Reply::Stats(Box::<LnetStats>::default())),
            Request::PingPeer(Ping { target, .. }) => return ping(target.nid),
            Request::Discover(Discover { target, .. }) => return Ok(Reply::Discovered(discover(target.nid))),
            Request::AddPeerNi(_) => return Err(Errno::Exists.into()),
            Request::GetPeerNi(nid) if nid == unreachable() => Some(Reply::Peer(Box::new(peer()))),
            Request::Explain(ask) if ask.destination == unreachable() => {
                Some(Reply::Explanation(Explanation {
                    primary: unreachable(),
                    multi_rail: true,
                    known: true,
                    local: "10.0.0.1@tcp".parse().unwrap(),
                    remote: unreachable(),
                    gateway: None,
                    passed_over: Vec::new(),
                    rules: Vec::new(),
                    reachability: peer().reachability,
                    remark: Some(
                        "the path has been unresponsive for 24 s; there is no better one".to_owned(),
                    ),
                }))
            }
            _ => Some(Reply::Done),
        }
        .ok_or_else(|| Errno::NotFound.into())
    }
}

fn unreachable() -> Nid {
    "10.0.0.77@tcp".parse().unwrap()
}

/// The delays of acknowledged PUTs.
fn latencies() -> Vec<Histogram> {
    vec![Histogram { delay: Delay::PutAck, sum_ns: 150_000, counts: vec![0, 0, 0, 0, 12, 3] }]
}

/// A peer all of whose paths are unresponsive.
fn peer() -> Peer {
    let ni = PeerNi {
        tx_credits: 6,
        min_tx_credits: 2,
        tx_queued_bytes: 144,
        refcount: 3,
        stats: ElementStats { sent: 12, received: 10, dropped: 0 },
        health: PeerHealth::default(),
        latencies: latencies(),
        ..PeerNi::unused(unreachable())
    };
    let reachability =
        PeerReachability { state: Reachability::Unreachable, seconds: 23, paths: 2, usable_paths: 0 };
    Peer {
        primary: ni.nid,
        multi_rail: true,
        state: 273,
        nis: vec![ni],
        discovery: None,
        reachability: Some(reachability),
    }
}

fn fault(kind: FaultKind) -> Fault {
    let effect = match kind {
        FaultKind::Drop => FaultEffect::Drop { errors: 1 << 6, all: false },
        FaultKind::Delay => FaultEffect::Delay { latency_ms: 1500 },
    };
    let rule = FaultRule {
        source: "*@tcp".parse().unwrap(),
        dest: "10.0.0.2@tcp".parse().unwrap(),
        local: "*".parse().unwrap(),
        messages: 15,
        portals: 0,
        odds: FaultOdds::OneIn(3.try_into().unwrap()),
        effect,
    };
    Fault { rule, counts: FaultCounts { matched: 9, hit: 3, put: 2, ack: 0, get: 1, reply: 0 } }
}

/// Answers a ping to a host; hosts from 77 on do not answer.
fn ping(nid: Nid) -> Result<Reply, RequestError> {
    match nid.to_string().contains(".77@") {
        true => Err(Errno::HostUnreachable.into()),
        false => {
            Ok(Reply::Ping(PingResponse { primary: nid, pid: 12345, multi_rail: true, nids: vec![nid] }))
        }
    }
}

/// Discovers the hosts that respond to pings, and one on another net whose NIDs differ from its configuration.
fn discover(nid: Nid) -> Discovered {
    match ping(nid) {
        Ok(Reply::Ping(response)) => {
            let missing = Difference::Missing("10.0.1.12@tcp1".parse().unwrap());
            let differences = if nid.net().number() == 1 { vec![missing] } else { Vec::new() };
            Discovered::Found { response, differences }
        }
        _ => {
            let (step, errno) = (DiscoveryStep::Ping, Errno::HostUnreachable);
            Discovered::Failed(DiscoveryFailure { step, nid, errno, limit: None })
        }
    }
}

/// Two programs: one in a container, whose payload is copied, and one that has asked for nothing yet.
fn programs() -> AttachedPrograms {
    let ring = RingFill { in_use: 0, bytes: 262_144 };
    let idle = AttachedProgram {
        name: "m0_ping".to_owned(),
        process: Some(4711),
        user: Some(1000),
        pid: 4711,
        seconds: 2,
        registered_bytes: 0,
        payload: PayloadWays::default(),
        operations_ring: ring,
        reports_ring: ring,
        counts: ProgramCounts::default(),
        mes: 0,
        mds: 0,
        claims: 0,
        waiting_gets: 0,
        waiting_acks: 0,
        waiting_requests: 0,
    };
    let counts = ProgramCounts {
        operations: 5120,
        refused: 2,
        reports: 10_245,
        delayed_reports: 7,
        node_wakeups: 31,
        program_wakeups: 40,
    };
    let busy = AttachedProgram {
        name: "m0d".to_owned(),
        process: None,
        pid: 12345,
        seconds: 86_400,
        registered_bytes: 16_777_216,
        payload: PayloadWays { in_place: 0, copied: 1300 },
        operations_ring: RingFill { in_use: 1664, ..ring },
        counts,
        mes: 3,
        mds: 2,
        claims: 2,
        waiting_gets: 1,
        waiting_acks: 2,
        waiting_requests: 0,
        ..idle.clone()
    };
    AttachedPrograms { programs: vec![busy, idle], refused: 3 }
}

fn nis() -> Vec<LocalNi> {
    let ni = |nid: &str, interface: Option<&str>| LocalNi {
        device_cpt: 0,
        cpts: CptList::new(vec![0, 1]),
        health: LocalHealth::default(),
        latencies: if nid == "0@lo" { Vec::new() } else { latencies() },
        ..LocalNi::unused(nid.parse().unwrap(), interface)
    };
    vec![ni("0@lo", None), ni("10.0.0.1@tcp", Some("eth0"))]
}

/// The selection rules of the node: about a pair, NIDs of this node and of others, and a net.
fn rule(index: u32) -> Option<Udsp> {
    let (src, dst) = match index {
        0 => (Some("10.0.0.1@tcp"), Some("10.0.0.9@tcp")),
        1 => (Some("10.0.0.*@tcp"), None),
        2 => (None, Some("10.0.0.*@tcp")),
        3 => (Some("tcp1"), None),
        _ => return None,
    };
    let selector = |text: Option<&str>| text.map(|text| text.parse().unwrap());
    let action = UdspAction::Priority(2);
    Some(Udsp { index, src: selector(src), dst: selector(dst), rte: None, action, messages: None })
}

/// A setting that a variable has set, and a tunable.
fn settings() -> Vec<SettingState> {
    let state = |module: &str, name: &str, value, default, set_by, can_change| SettingState {
        module: module.to_owned(),
        name: name.to_owned(),
        value: Value::Number(value),
        default: Value::Number(default),
        set_by,
        can_change,
    };
    vec![
        state("lnet", "retry_count", 5, 2, SetBy::Environment("LNET_RETRY_COUNT".to_owned()), true),
        state("lnet", "lnd_timeout", 8, 16, SetBy::Settings, false),
        state("socklnd", "nscheds", 1, 1, SetBy::Default, false),
    ]
}
