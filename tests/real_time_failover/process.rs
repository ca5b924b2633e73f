//! A process with a node and its load: the orders that it takes and the reports that it sends, line by line.

use super::load::{Load, Weight};
use super::report::{Incarnation, ProcessEvent, Report};
use lnet_core::Setting;
use lnet_core::stats::MessageOutcome;
use lnet_core::topology::Route;
use lnet_dlc::request::{AddLocalNi, DelLocalNi, DelPeerNi, LndTunables, NiTunables};
use lnet_dlc::{Backend, Request};
use lnet_node::{Node, StartConfig};
use lnet_wire::{NetId, Nid, Pid};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// The variable by which this program learns that it is such a process, and the process's parameters.
pub const PROCESS: &str = "LNET_TEST_UNDER_LOAD";

/// Interval at which the load looks for other work.
const TURN: Duration = Duration::from_millis(5);
/// The time without any work of the load after which it counts as hung.
const LONG_TURN: Duration = Duration::from_secs(1);
/// Interval at which the traffic of each interface is reported.
const COUNTED_EVERY: Duration = Duration::from_millis(50);

/// The role of a process under load.
#[derive(Clone, Debug)]
pub struct Role {
    /// The path of the socket to the test.
    pub socket: String,
    pub incarnation: Incarnation,
    /// The interfaces of the node: the net of each, and the index of its card.
    pub interfaces: Vec<(NetId, usize)>,
    /// The routes of the node: the net, and the NID of the gateway.
    pub routes: Vec<(NetId, Nid)>,
    /// Whether the node is a router.
    pub forwards: bool,
    /// The peer that the node sends to, and the number of its NIDs.
    pub to: Nid,
    pub nids_of_peer: usize,
    pub weight: Weight,
    /// Seconds; the library's default if 0.
    pub transaction_timeout: u32,
}

/// The orders that a process under load takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Discover the peer.
    Discover,
    /// Begin operations.
    Go,
    /// Begin no more.
    Stop,
    /// Remove an interface.
    DelNet(usize),
    /// Add the interface again.
    AddNet(usize),
    /// Forget the peer.
    DelPeer,
    /// Forward messages, or no more.
    Forward(bool),
    /// Shut the node down, and end.
    End,
}

impl Role {
    /// The role as text, for the variable [`PROCESS`].
    pub fn to_text(&self) -> String {
        let Weight { in_flight, pause, long_of_64, timeout, rpcs } = self.weight;
        let interfaces: Vec<String> =
            self.interfaces.iter().map(|(net, card)| format!("{net}/{card}")).collect();
        let routes: Vec<String> =
            self.routes.iter().map(|(net, gateway)| format!("{net}/{gateway}")).collect();
        format!(
            "{} {} {} {} {} {} {in_flight} {} {long_of_64} {} {rpcs} {} {},",
            self.socket,
            self.incarnation,
            interfaces.join(","),
            self.forwards,
            self.to,
            self.nids_of_peer,
            pause.as_micros(),
            timeout.as_millis(),
            self.transaction_timeout,
            routes.join(","),
        )
    }

    fn from_text(text: &str) -> Self {
        let mut words = text.split(' ');
        let mut word = || words.next().unwrap().to_owned();
        let pairs = |text: &str| -> Vec<(NetId, String)> {
            let pair = |text: &str| {
                let (net, other) = text.split_once('/').unwrap();
                (net.parse().unwrap(), other.to_owned())
            };
            text.split(',').filter(|text| !text.is_empty()).map(pair).collect()
        };
        let socket = word();
        let incarnation = word().parse().unwrap();
        let interfaces = pairs(&word()).into_iter().map(|(net, card)| (net, card.parse().unwrap())).collect();
        let forwards = word().parse().unwrap();
        let (to, nids_of_peer) = (word().parse().unwrap(), word().parse().unwrap());
        let in_flight = word().parse().unwrap();
        let pause = Duration::from_micros(word().parse().unwrap());
        let long_of_64 = word().parse().unwrap();
        let timeout = Duration::from_millis(word().parse().unwrap());
        let rpcs = word().parse().unwrap();
        let weight = Weight { in_flight, pause, long_of_64, timeout, rpcs };
        let transaction_timeout = word().parse().unwrap();
        let routes =
            pairs(&word()).into_iter().map(|(net, gateway)| (net, gateway.parse().unwrap())).collect();
        Self {
            socket,
            incarnation,
            interfaces,
            routes,
            forwards,
            to,
            nids_of_peer,
            weight,
            transaction_timeout,
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Discover => write!(f, "discover"),
            Self::Go => write!(f, "go"),
            Self::Stop => write!(f, "stop"),
            Self::DelNet(card) => write!(f, "del-net {card}"),
            Self::AddNet(card) => write!(f, "add-net {card}"),
            Self::DelPeer => write!(f, "del-peer"),
            Self::Forward(on) => write!(f, "forward {on}"),
            Self::End => write!(f, "end"),
        }
    }
}

impl FromStr for Order {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let (word, card) = line.split_once(' ').unwrap_or((line, ""));
        let on = || card.parse().map_err(drop);
        let card = || card.parse().map_err(drop);
        Ok(match word {
            "discover" => Self::Discover,
            "go" => Self::Go,
            "stop" => Self::Stop,
            "del-net" => Self::DelNet(card()?),
            "add-net" => Self::AddNet(card()?),
            "del-peer" => Self::DelPeer,
            "forward" => Self::Forward(on()?),
            "end" => Self::End,
            _ => return Err(()),
        })
    }
}

/// Runs the node and its load, if this process was started for that; returns when they have ended.
pub fn live_if_asked() {
    if let Ok(role) = std::env::var(PROCESS) {
        lnet_log::install("LNet", log::LevelFilter::Info);
        live(&Role::from_text(&role));
    }
}

/// The states of the thread under load, which decide its next action.
const WAIT: u8 = 0;
const GO: u8 = 1;
const END: u8 = 2;

fn live(role: &Role) {
    let stream = UnixStream::connect(&role.socket).unwrap();
    let teller = Teller(Arc::new(Mutex::new(stream.try_clone().unwrap())));
    let node = start(role);
    // Memory first: a peer may send as soon as the node exists.
    let mut load = Load::new(&node, role.incarnation, role.to, role.weight);
    if role.forwards {
        node.core().admin().change_router(|router| router.switched(true)).unwrap();
    }
    for (net, card) in &role.interfaces {
        node.add_ni(*net, Some(&format!("eth{card}"))).unwrap();
    }
    for (net, gateway) in &role.routes {
        let route = Route { net: *net, gateway: *gateway, hops: None, priority: 0, health_sensitivity: 1 };
        node.core().admin().add_route(route).unwrap();
    }
    teller.tell(&[Report::now(ProcessEvent::Ready)]);

    let state = Arc::new(AtomicU8::new(WAIT));
    let orders = {
        let (node, role, teller, state) =
            (Arc::clone(&node), role.clone(), teller.clone(), Arc::clone(&state));
        move || {
            for line in BufReader::new(stream).lines() {
                let Ok(order) = line.map_err(drop).and_then(|line| line.parse()) else { break };
                match order {
                    Order::Go => state.store(GO, Ordering::Relaxed),
                    Order::Stop => state.store(WAIT, Ordering::Relaxed),
                    Order::End => break,
                    order => {
                        let wrong = carry_out(&node, &role, &order).err().unwrap_or_default();
                        teller.tell(&[Report::now(ProcessEvent::Did { wrong })]);
                    }
                }
            }
            // The thread also ends if the test that gives the orders has ended.
            state.store(END, Ordering::Relaxed);
        }
    };
    let orders = thread::spawn(orders);
    let turned = watch(&teller);
    let mut reports = Vec::new();
    let (mut counts, mut counted) = (HashMap::new(), Instant::now());
    let mut before = WAIT;
    loop {
        let now = state.load(Ordering::Relaxed);
        if now == END {
            break;
        }
        turned.store(true, Ordering::Relaxed);
        load.work(now == GO, TURN, &mut reports);
        if (before, now) == (GO, WAIT) {
            reports.push(Report::now(ProcessEvent::Stopped));
        }
        before = now;
        if counted.elapsed() > COUNTED_EVERY {
            counted = Instant::now();
            count(&node, role, &mut counts, &mut reports);
        }
        teller.tell(&reports);
        reports.clear();
    }
    let began = Instant::now();
    node.shutdown();
    load.read_the_rest(&mut reports);
    reports.push(Report::now(ProcessEvent::Note(format!("shut down in {:?}", began.elapsed()))));
    teller.tell(&reports);
    let _ = orders.join();
    teller.0.lock().unwrap().shutdown(Shutdown::Both).ok();
}

/// Starts a watchdog that reports a hang of the load, with the state of all threads. The load has to set the result to true
/// again and again.
fn watch(teller: &Teller) -> Arc<AtomicBool> {
    let (turned, teller) = (Arc::new(AtomicBool::new(true)), teller.clone());
    let turns = Arc::clone(&turned);
    thread::spawn(move || {
        loop {
            thread::sleep(LONG_TURN);
            if !turns.swap(false, Ordering::Relaxed) {
                let note = ProcessEvent::Note(format!(
                    "the load hangs; threads are in {}",
                    whereabouts().join(", ")
                ));
                teller.tell(&[Report::now(note)]);
            }
        }
    });
    turned
}

/// Each thread's name, with the kernel function in which it sleeps.
fn whereabouts() -> Vec<String> {
    let read = |path: std::path::PathBuf| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    tasks
        .map(|task| format!("{}: {}", read(task.path().join("comm")), read(task.path().join("wchan"))))
        .collect()
}

fn start(role: &Role) -> Arc<Node> {
    let config = StartConfig::from_lookup(|variable| match variable {
        "LNET_ACCEPT" => Some("all".to_owned()),
        variable => std::env::var(variable).ok(),
    });
    let node = Node::start(Pid::LUSTRE, config.unwrap()).unwrap();
    if role.transaction_timeout > 0 {
        let seconds = role.transaction_timeout.into();
        node.core()
            .admin()
            .change_settings(|settings| settings.set(Setting::TransactionTimeout, seconds))
            .unwrap();
    }
    node
}

fn carry_out(node: &Node, role: &Role, order: &Order) -> Result<(), String> {
    let core = node.core();
    let tell = |request| (node as &dyn Backend).tell(request).map_err(|errno| errno.to_string());
    let net = "tcp".parse().unwrap();
    match order {
        Order::Discover => {
            core.admin().discover(role.to, true).map_err(|errno| errno.to_string())?;
            let timeout = core.admin().discovery_timeout();
            core.admin().wait_discovered(role.to, timeout).map_err(|failure| format!("{failure:?}"))?;
            match core.admin().peer(role.to) {
                Some((peer, _)) if peer.nids.len() == role.nids_of_peer => Ok(()),
                other => Err(format!("known are {:?}", other.map(|(peer, _)| peer.nids.clone()))),
            }
        }
        Order::DelNet(card) => {
            tell(Request::DelLocalNi(DelLocalNi { net, interface: Some(format!("eth{card}")) }))
        }
        Order::AddNet(card) => {
            let (tunables, lnd) = (NiTunables::default(), LndTunables::default());
            let interface = Some(format!("eth{card}"));
            tell(Request::AddLocalNi(AddLocalNi { net, interface, tunables, lnd, cpts: None }))
        }
        // The peer's primary NID may be another of its NIDs.
        Order::DelPeer => core.admin().peer(role.to).map_or(Ok(()), |(peer, _)| {
            tell(Request::DelPeerNi(DelPeerNi { primary: peer.primary, nid: None, force: true }))
        }),
        Order::Forward(on) => {
            core.admin().change_router(|router| router.switched(*on)).map_err(|errno| errno.to_string())
        }
        Order::Go | Order::Stop | Order::End => Ok(()),
    }
}

/// Reports the PUTs of each card whose counts have changed since the last call.
fn count(node: &Node, role: &Role, counts: &mut HashMap<usize, (u64, u64)>, reports: &mut Vec<Report>) {
    let nets = node.core().nets();
    let cards: BTreeSet<usize> = role.interfaces.iter().map(|(_, card)| *card).collect();
    for card in cards {
        let name = format!("eth{card}");
        let its = nets.nis().filter(|ni| ni.config().interface.as_ref() == Some(&name));
        let now = its.fold((0, 0), |(sent, received), ni| {
            let puts = |outcome| ni.counters().read(outcome).put;
            (sent + puts(MessageOutcome::Sent), received + puts(MessageOutcome::Received))
        });
        if now != (0, 0) && counts.insert(card, now) != Some(now) {
            let (sent, received) = now;
            reports.push(Report::now(ProcessEvent::Counted { card, sent, received }));
        }
    }
}

/// The channel for reports. A closed one is no error: the process ends when its channel of orders is closed.
#[derive(Clone)]
struct Teller(Arc<Mutex<UnixStream>>);

impl Teller {
    fn tell(&self, reports: &[Report]) {
        if !reports.is_empty() {
            let text: String = reports.iter().map(|report| format!("{report}\n")).collect();
            let _ = self.0.lock().unwrap().write_all(text.as_bytes());
        }
    }
}

#[test]
fn orders_and_roles_round_trip() {
    for order in [
        Order::Discover,
        Order::Go,
        Order::Stop,
        Order::DelNet(1),
        Order::AddNet(0),
        Order::DelPeer,
        Order::Forward(true),
        Order::End,
    ] {
        assert_eq!(order.to_string().parse(), Ok(order));
    }
    let timeout = Duration::from_secs(20);
    let weight = Weight { in_flight: 3, pause: Duration::from_millis(4), long_of_64: 5, timeout, rpcs: true };
    let [to, gateway] = ["10.0.0.1@tcp", "10.0.0.2@tcp"].map(|text| text.parse().unwrap());
    let net = |text: &str| text.parse().unwrap();
    let role = Role {
        socket: "/s".into(),
        incarnation: 1,
        interfaces: vec![(net("tcp"), 0), (net("tcp1"), 1)],
        routes: vec![(net("tcp2"), gateway)],
        forwards: true,
        to,
        nids_of_peer: 2,
        weight,
        transaction_timeout: 9,
    };
    assert_eq!(Role::from_text(&role.to_text()).to_text(), role.to_text());
}
