//! A client, a server, and the routers between them: rules are added on the client, and PUTs are counted.

use crate::support::machines::{Machines, Wiring};
use crate::support::rails::{Discovery, Rails, Transfer, nids, node_with, wait_until};
use lnet_core::stats::{MessageOutcome, NodeCounters};
use lnet_dlc::ops::policy::{self, RuleAction, RuleEffect, RuleText};
use lnet_dlc::{Report, ReturnCode, SeqNo, ops};
use lnet_node::{Node, PingRequest};
use lnet_wire::{Nid, Pid, ProcessId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// PUTs in one measurement.
pub(crate) const PUTS: u64 = 120;
/// The number of messages that may have been in flight when a rule was changed.
const UNDER_WAY: u64 = 16;
/// The number of messages after which those that were in flight do not count.
const MANY: u64 = 20 * UNDER_WAY;

/// A client, a server, and the routers between them.
pub(crate) struct Site {
    pub(crate) machines: Machines,
    pub(crate) rails: Rails,
    pub(crate) routers: Vec<Arc<Node>>,
}

/// PUTs by the last number of an address and its net, such as `3@tcp1`.
pub(crate) type Counts = BTreeMap<String, u64>;

#[derive(Debug, Default)]
pub(crate) struct Traffic {
    /// Messages by the client's interface that they left by.
    pub(crate) left_by: Counts,
    /// Messages by the server's interface that they arrived at.
    pub(crate) came_to: Counts,
    /// Messages by the router that the client sent them to, by its index.
    pub(crate) routed_by: Vec<u64>,
}

impl Site {
    /// Starts two nodes that each have `1@tcp`, `2@tcp`, `3@tcp1` and `4@tcp1`.
    pub(crate) fn direct_or_skip() -> Option<Self> {
        let machines = Machines::or_skip(2, 4, Wiring::SwitchPerCard, |_| None)?;
        let networks = "tcp(eth0,eth1),tcp1(eth2,eth3)";
        let [near, far] = [0, 1].map(|machine| machines.on(machine, || start(networks, "", false)));
        Some(Self::new(machines, near, far, Vec::new()))
    }

    /// The client has `1@tcp`, the server `2@tcp1` and `3@tcp2`; two routers are on all three nets.
    pub(crate) fn routed_or_skip() -> Option<Self> {
        let machines = Machines::or_skip(4, 3, Wiring::SwitchPerCard, |_| None)?;
        let all = "tcp(eth0),tcp1(eth1),tcp2(eth2)";
        let routers = [1, 2].map(|machine| machines.on(machine, || start(all, "", true)));
        let by_both = "10.78.0.[12-13]@tcp";
        let there = format!("tcp1 {by_both}; tcp2 {by_both}");
        let back = "tcp 10.78.1.[12-13]@tcp1";
        let near = machines.on(0, || start("tcp(eth0)", &there, false));
        let far = machines.on(3, || start("tcp1(eth1),tcp2(eth2)", back, false));
        let site = Self::new(machines, near, far, routers.into());
        wait_until("all routes are up", || {
            let nodes = [&site.rails.near, &site.rails.far];
            nodes.iter().all(|node| {
                let routes = node.core().admin().routes();
                routes.active().iter().all(|route| node.core().admin().route_is_up(route))
            })
        });
        Some(site)
    }

    fn new(machines: Machines, near: Arc<Node>, far: Arc<Node>, routers: Vec<Arc<Node>>) -> Self {
        wait_until("all cards work", || {
            [&near, &far]
                .into_iter()
                .chain(&routers)
                .all(|node| node.core().nets().nis().all(|ni| !ni.is_fatal()))
        });
        for (node, other) in [(&near, &far), (&far, &near)] {
            let its = nids(other);
            node.core().admin().make_peer(its[0], true, false).unwrap();
            its[1..].iter().for_each(|nid| node.core().admin().add_peer_nid(its[0], *nid, true).unwrap());
        }
        let between = || routers.iter().map(|router| (router, [&near, &far]));
        let hops: Vec<(&Node, &Node)> = match routers.is_empty() {
            true => vec![(&near, &far)],
            false => between().flat_map(|(router, ends)| ends.map(|end| (&**end, &**router))).collect(),
        };
        for (node, other) in hops {
            connect(node, other);
            connect(other, node);
        }
        Self { machines, rails: Rails::between(near, far), routers }
    }

    pub(crate) fn client(&self) -> &Arc<Node> {
        &self.rails.near
    }

    /// Runs `lnetctl udsp add` on the client with `src`, `dst`, `rte`; an empty text means none.
    pub(crate) fn add(&self, [src, dst, rte]: [&str; 3], priority: Option<u32>) {
        let effect = RuleEffect::of(priority.map_or(RuleAction::Suited, RuleAction::Priority));
        self.add_with([src, dst, rte], effect);
    }

    pub(crate) fn add_with(&self, [src, dst, rte]: [&str; 3], effect: RuleEffect) {
        let text = |text| Some(text).filter(|text: &&str| !text.is_empty());
        let rule = RuleText { src: text(src), dst: text(dst), rte: text(rte) };
        let mut report = Report::new();
        let rc = policy::add(&**self.client(), rule, effect, SeqNo::NONE, &mut report);
        assert_eq!(rc, ReturnCode::OK, "{}", report.errors_to_yaml());
    }

    /// `lnetctl udsp del` on the client.
    pub(crate) fn delete(&self, index: u32) {
        let rc = policy::del(&**self.client(), Some(index), SeqNo::NONE, &mut Report::new());
        assert_eq!(rc, ReturnCode::OK);
    }

    pub(crate) fn rules(&self) -> usize {
        self.client().core().admin().rules().iter().count()
    }

    /// `lnetctl net show -v 4` and `lnetctl peer show -v 4` on the client.
    pub(crate) fn shown(&self) -> String {
        let mut report = Report::new();
        let rc = ops::net::show(&**self.client(), None, 4, SeqNo::NONE, &mut report, false);
        let also = ops::peer::show(&**self.client(), None, 4, SeqNo::NONE, &mut report, false);
        assert_eq!((rc, also), (ReturnCode::OK, ReturnCode::OK));
        report.shown.to_yaml()
    }

    /// The NID of an interface of the client or the server, such as `1@tcp`.
    pub(crate) fn nid(&self, node: &Node, name: &str) -> Nid {
        *nids(node).iter().find(|nid| self.name(**nid) == name).unwrap_or_else(|| panic!("no {name}"))
    }

    pub(crate) fn own(&self, name: &str) -> String {
        self.nid(&self.rails.near, name).to_string()
    }

    pub(crate) fn its(&self, name: &str) -> String {
        self.nid(&self.rails.far, name).to_string()
    }

    /// The number of the card and the net.
    fn name(&self, nid: Nid) -> String {
        let text = nid.to_string();
        let card: u32 = text.split('.').nth(2).unwrap().parse().unwrap();
        format!("{}@{}", card + 1, nid.net())
    }

    pub(crate) fn set_health(&self, nid: &str, health: u32) {
        let (core, nid) = (self.client().core(), Some(nid.parse::<Nid>().unwrap()));
        match core.nets().ni(nid.unwrap()) {
            Some(_) => core.admin().set_ni_health(nid, health),
            None => core.admin().set_peer_ni_health(nid, health),
        }
    }

    /// Sends PUTs one after the other, and returns the counts of their paths. Equal paths take turns exactly then: with more in
    /// flight a path has fewer credits, and so fewer messages, while a busy machine delays its other end.
    pub(crate) fn traffic(&self) -> Traffic {
        let before = self.counted();
        self.send(PUTS, 1);
        self.counted().since(&before)
    }

    pub(crate) fn send(&self, puts: u64, in_flight: usize) {
        self.rails.transfer(Transfer::Put, puts as usize, 4096, in_flight);
    }

    fn counted(&self) -> Traffic {
        let puts = |node: &Node, of: fn(&NodeCounters) -> u64| {
            let nets = node.core().nets();
            let named = nets.nis().filter(|ni| !ni.nid().is_loopback());
            named.map(|ni| (self.name(ni.nid()), of(&ni.counters().read_all()))).collect()
        };
        Traffic {
            left_by: puts(&self.rails.near, |counters| counters.sent.put),
            came_to: puts(&self.rails.far, |counters| counters.received.put),
            routed_by: self.routers.iter().map(|router| puts_to(self.client(), router)).collect(),
        }
    }

    /// Fails unless all PUTs leave by these interfaces, and each of them carries its share.
    #[track_caller]
    pub(crate) fn assert_leaves_by(&self, names: &[&str]) {
        assert_all(&self.traffic().left_by, names);
    }

    #[track_caller]
    pub(crate) fn assert_comes_to(&self, names: &[&str]) {
        assert_all(&self.traffic().came_to, names);
    }

    /// Fails unless all PUTs take this router, or each carries its share.
    #[track_caller]
    pub(crate) fn assert_routed_by(&self, router: Option<usize>) {
        let counts = self.traffic().routed_by;
        match router {
            Some(router) => {
                assert_eq!((counts[router], counts[1 - router]), (PUTS, 0), "router {router}");
            }
            None => {
                assert!(
                    counts.iter().all(|count| *count >= PUTS / 3) && counts.iter().sum::<u64>() == PUTS,
                    "{counts:?}"
                );
            }
        }
    }

    /// Does `work` while PUTs are sent all the time.
    pub(crate) fn under_load(&self, work: impl FnOnce()) {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let load = scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    self.send(64, 8);
                }
            });
            work();
            stop.store(true, Ordering::Relaxed);
            load.join().unwrap();
        });
    }

    /// Fails if, under load, PUTs from now on do not use this router, except those in flight; `None`: if a router carries none.
    #[track_caller]
    pub(crate) fn assert_flows_by(&self, router: Option<usize>) {
        let before = self.counted();
        let sent = || self.counted().since(&before).routed_by;
        match router {
            Some(router) => {
                wait_until("PUTs are sent", || sent().iter().sum::<u64>() > MANY);
                let counts = sent();
                assert!(counts[1 - router] <= UNDER_WAY, "{counts:?} instead of router {router}");
            }
            None => wait_until("both routers carry PUTs", || sent().iter().all(|count| *count > UNDER_WAY)),
        }
    }

    /// Fails if, under load, PUTs from now on leave by other interfaces than these, or arrive at others than those, or if one of
    /// these carries none; PUTs in flight are excepted.
    #[track_caller]
    pub(crate) fn assert_flows(&self, left_by: &[&str], came_to: &[&str]) {
        let before = self.counted();
        wait_until("PUTs are sent by all interfaces", || {
            let traffic = self.counted().since(&before);
            let enough = |counts: &Counts, names: &[&str]| {
                counts.values().sum::<u64>() > MANY
                    && names.iter().all(|name| count_of(counts, name) > UNDER_WAY)
            };
            enough(&traffic.left_by, left_by) && enough(&traffic.came_to, came_to)
        });
        let traffic = self.counted().since(&before);
        assert_only(&traffic.left_by, left_by, UNDER_WAY);
        assert_only(&traffic.came_to, came_to, UNDER_WAY);
    }

    pub(crate) fn shutdown(self) {
        self.rails.shutdown();
        self.routers.iter().for_each(|router| router.shutdown());
    }
}

impl Traffic {
    fn since(self, before: &Self) -> Self {
        let less = |now: Counts, before: &Counts| {
            now.into_iter()
                .map(|(name, count)| (name.clone(), count - before.get(&name).unwrap_or(&0)))
                .collect()
        };
        Self {
            left_by: less(self.left_by, &before.left_by),
            came_to: less(self.came_to, &before.came_to),
            routed_by: self
                .routed_by
                .iter()
                .zip(&before.routed_by)
                .map(|(now, before)| now - before)
                .collect(),
        }
    }
}

/// Fails unless all messages went by these names, and each of them carried at least a third of its share.
#[track_caller]
pub(crate) fn assert_all(counts: &Counts, names: &[&str]) {
    assert_only(counts, names, 0);
    let share = counts.values().sum::<u64>() / names.len() as u64 / 3;
    assert!(
        names.iter().all(|name| count_of(counts, name) >= share),
        "{counts:?}: one of {names:?} has less than its share"
    );
}

/// Fails if more than `others` messages went by other names than these.
#[track_caller]
fn assert_only(counts: &Counts, names: &[&str], others: u64) {
    let all: u64 = counts.values().sum();
    let by_names: u64 = names.iter().map(|name| count_of(counts, name)).sum();
    assert!(all > 0 && all - by_names <= others, "{counts:?} instead of {names:?}");
}

fn count_of(counts: &Counts, name: &str) -> u64 {
    counts.get(name).copied().unwrap_or_default()
}

/// Starts a node whose health values, once a test has lowered them, stay so low that no recovery ping makes a difference while
/// the test runs, and that leaves no path because a busy machine delays its other end.
pub(crate) fn start(networks: &str, routes: &str, forwards: bool) -> Arc<Node> {
    let forwarding = if forwards { "enabled" } else { "disabled" };
    let others =
        [("LNET_HEALTH_SENSITIVITY", "1"), ("SOCKLND_UNRESPONSIVE_MS", "0"), ("LNET_FORWARDING", forwarding)];
    node_with(networks, routes, "988", Discovery::Off, &others)
}

/// Makes the connections between all pairs of NIDs, so that no message waits for one.
fn connect(node: &Node, other: &Node) {
    for source in nids(node) {
        for target in nids(other).into_iter().filter(|target| target.net() == source.net()) {
            let target = ProcessId { nid: target, pid: Pid::LUSTRE };
            let request = PingRequest { target, source: Some(source), timeout: None, max_entries: 16 };
            node.ping(request).unwrap();
        }
    }
}

/// The number of PUTs that a node has sent to a router.
pub(crate) fn puts_to(node: &Node, router: &Node) -> u64 {
    let its = nids(router);
    let of_router = node.core().peer_nis().into_iter().filter(|peer_ni| its.contains(&peer_ni.nid()));
    of_router.map(|peer_ni| peer_ni.counters().read(MessageOutcome::Sent).put).sum()
}
