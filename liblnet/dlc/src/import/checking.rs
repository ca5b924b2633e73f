//! `import --check`: what adding a file would change.

use super::adding::text;
use super::complete_peers::{owner, plan};
use super::gateways::before_routes;
use crate::model::{Block, Document, Ip2netsItem, NetItem, NiItem, PeerItem, RouteItem, UdspItem};
use crate::ops::global::Setting;
use crate::ops::peer::{MAX_NIDS, parse_nids};
use crate::ops::policy::RuleAction;
use crate::report::{Operation, Report, SeqNo};
use crate::request::{Backend, CptBuffers, LocalNi, Peer, Request, Route, Tunables, Udsp, UdspAction};
use crate::{InterfaceSpec, ReturnCode, Value, interfaces, ip2nets, networks};
use lnet_wire::{Errno, NetId, Nid, Selector};
use std::collections::HashSet;
use std::num::NonZeroU32;

pub(super) fn check(
    backend: Option<&dyn Backend>,
    document: Document,
    report: &mut Report,
) -> (ReturnCode, Value) {
    let blocks = before_routes(document.blocks);
    let changes = backend.map_or_else(|| Ok(Present::default()), Present::of).and_then(|present| {
        let nets =
            std::iter::once(NetId::LOOPBACK).chain(present.nis.iter().map(|ni| ni.nid.net())).collect();
        let gateways = present.routes.iter().map(|route| route.gateway).collect();
        let mut changes =
            Changes { present, backend, items: Vec::new(), added: Vec::new(), nets: Some(nets), gateways };
        blocks.iter().try_for_each(|block| changes.block(block))?;
        Ok(changes.items)
    });
    match changes {
        Ok(items) if items.is_empty() => (ReturnCode::OK, Value::map()),
        Ok(items) => (ReturnCode::OK, Value::map().with("check", items)),
        Err(errno) => {
            let text = format!("cannot ask the node for its configuration: {}", errno.text());
            (report.end(Operation::Show, "check", SeqNo::NONE, errno.into(), text), Value::map())
        }
    }
}

/// What the node has now; nothing without a node.
#[derive(Default)]
struct Present {
    nis: Vec<LocalNi>,
    routes: Vec<Route>,
    buffers: Vec<CptBuffers>,
    numa_range: Option<u32>,
    tunables: Option<Tunables>,
    rules: Vec<Udsp>,
}

impl Present {
    fn of(backend: &dyn Backend) -> Result<Self, Errno> {
        Ok(Self {
            nis: unboxed(backend.list(Request::GetLocalNi)?),
            routes: backend.list(Request::GetRoute)?,
            buffers: backend.list(Request::GetBuffers)?,
            numa_range: Some(backend.ask(Request::GetNumaRange)?),
            tunables: Some(backend.ask(Request::GetTunables)?),
            rules: unboxed(backend.list(Request::GetUdsp)?),
        })
    }
}

fn unboxed<T>(all: Vec<Box<T>>) -> Vec<T> {
    all.into_iter().map(|it| *it).collect()
}

struct Changes<'a> {
    present: Present,
    backend: Option<&'a dyn Backend>,
    items: Vec<Value>,
    /// What rules have added so far: two may come to the same interface.
    added: Vec<(NetId, String)>,
    /// The nets that the node is on by now; `None` where a rule decides that.
    nets: Option<HashSet<NetId>>,
    /// By whom routes lead by now.
    gateways: HashSet<Nid>,
}

impl Changes<'_> {
    fn say(&mut self, change: &str, what: impl Into<String>) {
        self.items.push(Value::map().with(change, what.into()));
    }

    fn block(&mut self, block: &Block) -> Result<(), Errno> {
        match block {
            Block::Net(items) => items.iter().for_each(|item| self.net(&item.it)),
            Block::Ip2nets(items) => {
                let host = interfaces::host_interfaces().map_err(|error| Errno::from(&error))?;
                items.iter().for_each(|item| self.ip2nets(&item.it, &host));
            }
            Block::Route(items) => items.iter().for_each(|item| self.route(&item.it)),
            Block::Peer(items) => items.iter().try_for_each(|item| self.peer(&item.it))?,
            Block::Routing(item) => {
                let now = self.present.buffers.first().is_some_and(|cpt| cpt.enabled);
                if let Some(enable) = item.it.filter(|enable| *enable != now) {
                    self.say("set", format!("routing enable {}", u32::from(enable)));
                }
            }
            Block::Buffers(item) => self.buffers(item.it),
            Block::Global(item) => item.it.iter().for_each(|(setting, value)| self.setting(*setting, *value)),
            Block::Udsp(items) => items.iter().for_each(|item| self.rule(&item.it)),
            Block::Statistics(_) => {}
            Block::Ping(items) => {
                items.iter().for_each(|item| self.say("run", format!("ping {}", item.it.target)))
            }
            Block::Discover(items) => {
                items.iter().for_each(|item| self.say("run", format!("discover {}", item.it.target)));
            }
        }
        Ok(())
    }

    fn net(&mut self, item: &NetItem) {
        if let Some(rule) = &item.ip2net {
            self.say("add", format!("net by the rule '{rule}'"));
            self.nets = None;
            return;
        }
        let Some(net) = item.net else { return };
        for ni in &item.nis {
            self.ni(net, ni);
        }
    }

    fn ni(&mut self, net: NetId, ni: &NiItem) {
        let name = ni.interface.as_ref().map_or("", |spec| &spec.name);
        let said = format!("net {net} {name}");
        if !networks::has_driver(net) {
            self.say("conflict", format!("{}, there is no driver for such a net", said.trim_end()));
            return;
        }
        if let Some(nets) = &mut self.nets {
            nets.insert(net);
        }
        // An interface may be named by its address, which is then its NID's.
        let is_it = |now: &&LocalNi| {
            let address = now.nid.to_string();
            let names = [now.interface.as_deref().unwrap_or(""), address.split('@').next().unwrap_or("")];
            now.nid.net() == net && names.contains(&name)
        };
        match self.present.nis.iter().find(is_it).map(|now| differences(ni, now)) {
            None => self.say("add", said.trim_end()),
            Some(different) if different.is_empty() => {}
            Some(different) => {
                let said = format!("{said} is there with another {}; delete it first", different.join(", "));
                self.say("conflict", said);
            }
        }
    }

    fn ip2nets(&mut self, item: &Ip2netsItem, host: &[interfaces::HostInterface]) {
        let matched = ip2nets::matched(&item.rule, host);
        let word = if matched.failure().is_some() { "conflict" } else { "skip" };
        for mismatch in &matched.mismatches {
            self.say(word, format!("ip2nets {}, {mismatch}", item.rule.net));
        }
        for InterfaceSpec { name, cpts } in matched.interfaces {
            let key = (item.rule.net, name.clone());
            if self.added.contains(&key) {
                continue;
            }
            self.added.push(key);
            let ni = NiItem {
                interface: Some(InterfaceSpec::named(name)),
                tunables: item.tunables,
                lnd: item.lnd,
                cpts: cpts.or_else(|| item.cpts.clone()),
            };
            self.ni(item.rule.net, &ni);
        }
    }

    fn route(&mut self, item: &RouteItem) {
        let (Some(net), Some(gateways)) = (item.net, &item.gateway) else { return };
        // The reader has read the list already.
        for gateway in parse_nids(gateways, MAX_NIDS).unwrap_or_default() {
            if self.nets.as_ref().is_some_and(|nets| !nets.contains(&gateway.net())) {
                let said = "the gateway is on none of the node's nets; add its net before";
                self.say("conflict", format!("route {net} by {gateway}, {said}"));
                continue;
            }
            self.gateways.insert(gateway);
            let is_it = |now: &&Route| now.net == net && now.gateway == gateway;
            match self.present.routes.iter().find(is_it).cloned() {
                None => self.say("add", format!("route {net} by {gateway}")),
                Some(now) => {
                    let other = item.hops.is_some_and(|hops| now.hops != Some(hops))
                        || item.priority.is_some_and(|priority| now.priority != priority)
                        || item.sensitivity.is_some_and(|it| now.health_sensitivity != it);
                    if other {
                        let said = "is there with another hop, priority or health_sensitivity and stays so; \
                                    delete it first";
                        self.say("conflict", format!("route {net} by {gateway} {said}"));
                    }
                }
            }
        }
    }

    fn find(&self, nids: &[Nid]) -> Result<Option<Box<Peer>>, Errno> {
        self.backend.map_or(Ok(None), |backend| owner(backend, nids))
    }

    fn peer(&mut self, item: &PeerItem) -> Result<(), Errno> {
        let Some(primary) = item.primary else { return Ok(()) };
        if self.gateways.contains(&primary) {
            if item.multi_rail || item.nids.iter().flatten().any(|nid| *nid != primary) {
                let said = "is a gateway, which its route makes; it stays as it is";
                self.say("skip", format!("peer {primary} {said}"));
            }
            return Ok(());
        }
        let mut listed = item.nids.clone().unwrap_or_default();
        if !listed.contains(&primary) {
            listed.insert(0, primary);
        }
        let now = match item.replace {
            true => self.find(&listed)?,
            false => self.find(&[primary])?,
        };
        let plan = plan(&listed, now.as_deref());
        if let (false, Some(now)) = (item.replace, &now)
            && now.primary != primary
        {
            self.say("conflict", format!("peer {primary} is a NID of peer {}", now.primary));
            return Ok(());
        }
        if let Some(now) = now.as_ref().filter(|now| !item.replace && now.multi_rail != item.multi_rail) {
            let word = if now.multi_rail { "multi-rail" } else { "not multi-rail" };
            self.say("conflict", format!("peer {primary} is there and is {word}; delete it first"));
            return Ok(());
        }
        if let Some(old) = plan.forget {
            self.say("remove", format!("peer {old}"));
        }
        let primary = plan.primary.unwrap_or(primary);
        if now.is_none() || plan.forget.is_some() {
            self.say("add", format!("peer {primary}"));
        }
        for nid in plan.add.into_iter().filter(|nid| *nid != primary) {
            match self
                .find(&[nid])?
                .filter(|other| other.primary != primary && Some(other.primary) != plan.forget)
            {
                Some(other) => {
                    self.say("conflict", format!("peer {primary} nid {nid} is of peer {}", other.primary));
                }
                None => self.say("add", format!("peer {primary} nid {nid}")),
            }
        }
        if item.replace {
            for nid in plan.remove {
                self.say("remove", format!("peer {primary} nid {nid}"));
            }
        }
        Ok(())
    }

    fn buffers(&mut self, counts: [Option<u32>; 3]) {
        let sum = |of: fn(&CptBuffers) -> u32| -> u64 {
            self.present.buffers.iter().map(|cpt| u64::from(of(cpt))).sum()
        };
        let now = [sum(|cpt| cpt.tiny.buffers), sum(|cpt| cpt.small.buffers), sum(|cpt| cpt.large.buffers)];
        for ((size, now), count) in ["tiny", "small", "large"].into_iter().zip(now).zip(counts) {
            if let Some(count) = count.filter(|count| u64::from(*count) != now) {
                self.say("set", format!("buffers {size} {count}"));
            }
        }
    }

    fn setting(&mut self, setting: Setting, value: i64) {
        let now = match setting {
            Setting::LndTimeout => return,
            Setting::NumaRange => self.present.numa_range,
            Setting::Tunable(tunable) => self.present.tunables.as_ref().map(|all| all.get(tunable)),
        };
        match now.map(i64::from) {
            Some(now) if now == value => {}
            Some(now) => self.say("set", format!("global {} {value} (now {now})", setting.name())),
            None => self.say("set", format!("global {} {value}", setting.name())),
        }
    }

    fn rule(&mut self, item: &UdspItem) {
        let mut said = String::from("udsp");
        for (side, selector) in [("src", &item.src), ("dst", &item.dst), ("rte", &item.rte)] {
            if let Some(selector) = text::<Selector>(selector) {
                said.push_str(&format!(" {side} {selector}"));
            }
        }
        let action = match item.action {
            RuleAction::Priority(priority) => UdspAction::Priority(priority),
            RuleAction::Suited if item.messages.is_some() => UdspAction::Priority(0),
            RuleAction::Suited if item.src.is_none() || item.dst.is_none() && item.rte.is_none() => {
                match item.rte {
                    None => UdspAction::Priority(0),
                    Some(_) => UdspAction::PreferredList,
                }
            }
            RuleAction::Suited | RuleAction::PreferredList => UdspAction::PreferredList,
        };
        if let UdspAction::Priority(priority) = action {
            said.push_str(&format!(" priority {priority}"));
        }
        if let Some(messages) = item.messages {
            said.push_str(&format!(" messages {messages}"));
        }
        let same = |rule: &&Udsp| rule.src == item.src && rule.dst == item.dst && rule.rte == item.rte;
        match self
            .present
            .rules
            .iter()
            .find(same)
            .map(|rule| (rule.action, rule.messages.map(NonZeroU32::get)))
        {
            Some(now) if now == (action, item.messages) => {}
            Some((UdspAction::Priority(now), messages)) if matches!(action, UdspAction::Priority(_)) => {
                let messages = messages.map_or_else(String::new, |messages| format!(" messages {messages}"));
                self.say("set", format!("{said} (now {now}{messages})"));
            }
            Some(_) => {
                self.say("conflict", format!("{said}, there is a rule about the same; delete it first"))
            }
            None => self.say("add", said),
        }
    }
}

/// What is said of an NI and is otherwise where it is there.
fn differences(said: &NiItem, now: &LocalNi) -> Vec<&'static str> {
    let (want, have) = (&said.tunables, &now.tunables);
    let differs = |want: Option<u32>, have: Option<u32>| want.is_some() && want != have;
    let table = [
        ("peer_timeout", differs(want.peer_timeout, have.peer_timeout)),
        ("peer_credits", differs(want.peer_credits, have.peer_credits)),
        ("peer_buffer_credits", differs(want.peer_buffer_credits, have.peer_buffer_credits)),
        ("credits", differs(want.credits, have.credits)),
        (
            "conns_per_peer",
            // 0 asks for as many as suit the link: what there is is that.
            said.lnd.conns_per_peer.is_some_and(|want| want != 0) && said.lnd != now.lnd,
        ),
        ("CPT", said.cpts.as_ref().is_some_and(|cpts| !cpts.is_empty() && *cpts != now.cpts)),
    ];
    table.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}
