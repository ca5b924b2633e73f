//! The state that a file describes.

use crate::import::adding::{effect, text};
use crate::ip2nets::{self, Rule};
use crate::model::{Block, Document, EmptyBlock, Ip2netsItem, Item, NetItem, PeerItem, RouteItem, UdspItem};
use crate::ops;
use crate::ops::error_text::OpError;
use crate::ops::global::Setting;
use crate::ops::net::NetConfig;
use crate::ops::peer::{MAX_NIDS, parse_nids};
use crate::ops::policy::RuleText;
use crate::ops::route::AskedRoute;
use crate::request::{AddLocalNi, AddUdsp};
use crate::yaml::Problem;
use lnet_os::interfaces::HostInterface;
use lnet_wire::{Errno, NetId, Nid};
use std::collections::HashMap;
use std::io;

/// A state: of each kind of object all that there shall be, or `None` if the file does not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Wanted {
    pub(super) nis: Option<Vec<AddLocalNi>>,
    pub(super) routes: Option<Vec<AskedRoute>>,
    pub(super) peers: Option<Vec<WantedPeer>>,
    pub(super) rules: Option<Vec<AddUdsp>>,
    pub(super) forwards: Option<bool>,
    pub(super) buffers: [Option<u32>; 3],
    pub(super) settings: Vec<(Setting, i64)>,
}

/// A peer with all its NIDs, the primary one first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WantedPeer {
    pub(super) nids: Vec<Nid>,
    pub(super) multi_rail: bool,
    /// Whether any NID identifies the peer, which then keeps its primary NID and its kind.
    pub(super) any_nid: bool,
}

impl WantedPeer {
    /// The NIDs any of which identifies the peer.
    pub(super) fn names(&self) -> &[Nid] {
        if self.any_nid { &self.nids } else { self.nids.get(..1).unwrap_or_default() }
    }
}

/// The problem of a key without a value: it may mean that there shall be nothing, or that its items were commented out.
pub(super) fn unclear(block: &EmptyBlock) -> Problem {
    let text = format!(
        "'{}' has no value; write '{}: []' for a node without any, or take the key out",
        block.name, block.name
    );
    Problem::of_file(block.at, text)
}

impl Wanted {
    /// The state that the document describes; its pings and discoveries are no part of it. `host` is asked for the interfaces of
    /// this machine if the document has rules for them, whose names mean IPv6 addresses with `large_nids`; a rule that contradicts the machine is an error.
    pub(super) fn of(
        document: Document,
        host: impl Fn() -> io::Result<Vec<HostInterface>>,
        large_nids: bool,
    ) -> Result<Self, OpError> {
        let mut wanted = Self::default();
        for EmptyBlock { name, .. } in document.empty {
            wanted.note_empty(name);
        }
        for block in document.blocks {
            wanted.take(block, &host, large_nids)?;
        }
        Ok(wanted)
    }

    fn note_empty(&mut self, name: &str) {
        match name {
            "net" | "ip2nets" => drop(self.nis.get_or_insert_default()),
            "route" => drop(self.routes.get_or_insert_default()),
            "peer" => drop(self.peers.get_or_insert_default()),
            "udsp" => drop(self.rules.get_or_insert_default()),
            _ => {}
        }
    }

    fn take(
        &mut self,
        block: Block,
        host: &impl Fn() -> io::Result<Vec<HostInterface>>,
        large_nids: bool,
    ) -> Result<(), OpError> {
        match block {
            Block::Net(items) => {
                let nis = self.nis.get_or_insert_default();
                items.iter().try_for_each(|Item { it, .. }| add_net(nis, it, large_nids))
            }
            Block::Ip2nets(items) => {
                let host = host().map_err(|error| {
                    let text = format!("cannot list this machine's interfaces: {error}");
                    (Errno::from(&error).into(), text)
                })?;
                let nis = self.nis.get_or_insert_default();
                items.iter().try_for_each(|Item { it: Ip2netsItem { rule, tunables, lnd, cpts }, .. }| {
                    let config = NetConfig {
                        tunables: *tunables,
                        lnd: *lnd,
                        cpts: cpts.clone(),
                        ..NetConfig::default()
                    };
                    add_matched(nis, (rule, large_nids), &host, &config)
                })
            }
            Block::Route(items) => {
                let routes = self.routes.get_or_insert_default();
                items.iter().for_each(|item| add_routes(routes, &item.it));
                Ok(())
            }
            Block::Peer(items) => {
                add_peers(self.peers.get_or_insert_default(), items);
                Ok(())
            }
            Block::Udsp(items) => {
                let rules = self.rules.get_or_insert_default();
                items.iter().try_for_each(|item| add_rule(rules, &item.it))
            }
            Block::Routing(item) => {
                self.forwards = item.it.or(self.forwards);
                Ok(())
            }
            Block::Buffers(item) => {
                self.buffers.iter_mut().zip(item.it).for_each(|(count, said)| *count = said.or(*count));
                Ok(())
            }
            Block::Global(item) => {
                self.settings.extend(item.it);
                Ok(())
            }
            Block::Statistics(_) | Block::Ping(_) | Block::Discover(_) => Ok(()),
        }
    }
}

fn add_net(nis: &mut Vec<AddLocalNi>, item: &NetItem, large_nids: bool) -> Result<(), OpError> {
    if let Some(text) = &item.ip2net {
        let (rules, host) = ops::net::rules_of(text)?;
        let first = item.nis.first().cloned().unwrap_or_default();
        let config =
            NetConfig { tunables: first.tunables, lnd: first.lnd, cpts: first.cpts, ..NetConfig::default() };
        return rules.iter().try_for_each(|rule| add_matched(nis, (rule, large_nids), &host, &config));
    }
    let Some(net) = item.net.filter(|net| *net != NetId::LOOPBACK) else { return Ok(()) };
    for ni in &item.nis {
        let config =
            NetConfig { tunables: ni.tunables, lnd: ni.lnd, cpts: ni.cpts.clone(), ..NetConfig::default() };
        add_once(nis, ops::net::request(net, ni.interface.as_ref(), &config));
    }
    Ok(())
}

fn add_matched(
    nis: &mut Vec<AddLocalNi>,
    (rule, large_nids): (&Rule, bool),
    host: &[HostInterface],
    config: &NetConfig<'_>,
) -> Result<(), OpError> {
    let matched = ip2nets::matched(rule, host, large_nids);
    if let Some(mismatch) = matched.failure() {
        return Err((mismatch.errno().into(), format!("ip2nets {}, {mismatch}", rule.net)));
    }
    for spec in &matched.interfaces {
        add_once(nis, ops::net::request(rule.net, Some(spec), config));
    }
    Ok(())
}

/// Adds an interface unless an earlier item has it: the first one counts, as where it is imported.
fn add_once(nis: &mut Vec<AddLocalNi>, asked: AddLocalNi) {
    if !nis.iter().any(|its| (its.net, &its.interface) == (asked.net, &asked.interface)) {
        nis.push(asked);
    }
}

fn add_routes(routes: &mut Vec<AskedRoute>, item: &RouteItem) {
    let (Some(net), Some(gateways)) = (item.net, &item.gateway) else { return };
    let RouteItem { hops, priority, sensitivity, .. } = *item;
    // The list has been read before, without errors.
    for gateway in parse_nids(gateways, MAX_NIDS).unwrap_or_default() {
        if !routes.iter().any(|route| (route.net, route.gateway) == (net, gateway)) {
            routes.push(AskedRoute { net, gateway, hops, priority, sensitivity });
        }
    }
}

/// Adds the peers of a block. Several items may be about one peer, which then has the NIDs of all.
fn add_peers(peers: &mut Vec<WantedPeer>, items: Vec<Item<PeerItem>>) {
    let mut places: HashMap<Nid, usize> =
        peers.iter().enumerate().filter_map(|(at, peer)| Some((*peer.nids.first()?, at))).collect();
    for PeerItem { primary, nids, multi_rail, replace, .. } in items.into_iter().map(|item| item.it) {
        let Some(primary) = primary else { continue };
        let others = nids.into_iter().flatten().filter(|nid| *nid != primary);
        match places.get(&primary).and_then(|at| peers.get_mut(*at)) {
            Some(peer) => {
                let new: Vec<Nid> = others.filter(|nid| !peer.nids.contains(nid)).collect();
                peer.nids.extend(new);
            }
            None => {
                places.insert(primary, peers.len());
                let nids = std::iter::once(primary).chain(others).collect();
                peers.push(WantedPeer { nids, multi_rail, any_nid: replace });
            }
        }
    }
}

/// Adds a rule at the place that it names. Of rules with the same criteria the last one counts, at the place of the first.
fn add_rule(rules: &mut Vec<AddUdsp>, item: &UdspItem) -> Result<(), OpError> {
    let [src, dst, rte] = [&item.src, &item.dst, &item.rte].map(text);
    let criteria = RuleText { src: src.as_deref(), dst: dst.as_deref(), rte: rte.as_deref() };
    let asked = ops::policy::request(criteria, effect(item))?;
    let same =
        |rule: &&mut AddUdsp| (&rule.src, &rule.dst, &rule.rte) == (&asked.src, &asked.dst, &asked.rte);
    if let Some(known) = rules.iter_mut().find(same) {
        (known.action, known.messages) = (asked.action, asked.messages);
        return Ok(());
    }
    let at = asked.index.and_then(|index| usize::try_from(index).ok()).unwrap_or(usize::MAX).min(rules.len());
    rules.insert(at, AddUdsp { index: None, ..asked });
    Ok(())
}
