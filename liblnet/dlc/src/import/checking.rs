//! Determines what adding a file would change: `import --check`. Refusals are decided and worded by the operations that the
//! import would call.

use super::adding::{effect, in_order, text};
use super::complete_peers::{owner, plan};
use super::gateways::before_routes;
use crate::model::{
    BUFFER_NAMES, Block, Document, Ip2netsItem, Item, NetItem, NiItem, PeerItem, RouteItem, UdspItem,
};
use crate::ops::error_text::OpError;
use crate::ops::global::Setting;
use crate::ops::net::{Adjustment, NetConfig};
use crate::ops::peer::{MAX_NIDS, Modify, parse_nids};
use crate::ops::policy::{RuleText, described};
use crate::ops::route::{AskedRoute, nids_of};
use crate::present::{Present, has_large_nids};
use crate::report::{Operation, Report, SeqNo};
use crate::request::{Backend, Peer};
use crate::{InterfaceSpec, ReturnCode, Value, ip2nets, ops};
use lnet_wire::{Errno, NetId, Nid, Selector};
use std::collections::HashSet;

pub(super) fn check(
    backend: Option<&dyn Backend>,
    document: Document,
    report: &mut Report,
) -> (ReturnCode, Value) {
    let blocks = before_routes(document.blocks);
    let present = match backend.map_or_else(|| Ok(Present::default()), Present::of) {
        Ok(present) => present,
        Err(errno) => return (cannot_ask(errno, report), Value::map()),
    };
    let waiting = present.waiting.iter().map(|one| one.ni.net);
    let nets = present.nis.iter().map(|ni| ni.nid.net()).chain(waiting);
    let nets = std::iter::once(NetId::LOOPBACK).chain(nets).collect();
    let gateways = present.routes.iter().map(|route| route.gateway).collect();
    let mut changes = Changes {
        present,
        backend,
        large_nids: backend.is_some_and(has_large_nids),
        report,
        rc: ReturnCode::OK,
        seq_no: SeqNo::NONE,
        items: Vec::new(),
        added: Vec::new(),
        nets: Some(nets),
        gateways,
    };
    if let Err(errno) = blocks.iter().try_for_each(|block| changes.block(block)) {
        return (cannot_ask(errno, report), Value::map());
    }
    let Changes { items, rc, .. } = changes;
    match items.is_empty() {
        true => (rc, Value::map()),
        false => (rc, Value::map().with("check", items)),
    }
}

fn cannot_ask(errno: Errno, report: &mut Report) -> ReturnCode {
    let text = format!("cannot ask the node for its configuration: {}", errno.text());
    report.end(Operation::Show, "check", SeqNo::NONE, errno.into(), text)
}

struct Changes<'a> {
    present: Present,
    backend: Option<&'a dyn Backend>,
    /// Whether names of interfaces mean their IPv6 addresses.
    large_nids: bool,
    /// The report, which gets the errors that an import would report.
    report: &'a mut Report,
    /// The last refusal.
    rc: ReturnCode,
    /// The number of the item that is being checked.
    seq_no: SeqNo,
    items: Vec<Value>,
    /// The interfaces that rules have added so far: two rules may select the same interface.
    added: Vec<(NetId, String)>,
    /// The nets that the node would be on at this point; `None` where a rule decides that.
    nets: Option<HashSet<NetId>>,
    /// The gateways that the node would have at this point.
    gateways: HashSet<Nid>,
}

impl Changes<'_> {
    fn say(&mut self, change: &str, what: impl Into<String>) {
        self.items.push(Value::map().with(change, what.into()));
    }

    /// Records a refusal, with the text that the import would report.
    fn refuse(&mut self, operation: Operation, entity: &str, (rc, text): OpError) {
        self.say("conflict", text.as_str());
        self.rc = self.report.end(operation, entity, self.seq_no, rc, text);
    }

    fn block(&mut self, block: &Block) -> Result<(), Errno> {
        match block {
            Block::Net(items) => self.each(items, |changes, item| {
                changes.net(item);
                Ok(())
            })?,
            Block::Ip2nets(items) => {
                let host = lnet_os::interfaces::host_interfaces().map_err(|error| Errno::from(&error))?;
                self.each(items, |changes, item| {
                    changes.ip2nets(item, &host);
                    Ok(())
                })?;
            }
            Block::Route(items) => self.each(items, |changes, item| {
                changes.route(item);
                Ok(())
            })?,
            Block::Peer(items) => self.each(items, Self::peer)?,
            Block::Routing(item) => {
                let now = self.present.forwards();
                if let Some(enable) = item.it.filter(|enable| *enable != now) {
                    self.say("set", format!("routing enable {}", u32::from(enable)));
                }
            }
            Block::Buffers(item) => self.buffers(item.it),
            Block::Global(item) => {
                self.seq_no = item.seq_no;
                for (setting, value) in in_order(self.present.tunables.as_ref(), &item.it) {
                    self.setting(setting, value);
                }
            }
            Block::Udsp(items) => self.each(items, |changes, item| {
                changes.rule(item);
                Ok(())
            })?,
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

    fn each<T>(
        &mut self,
        items: &[Item<T>],
        one: impl Fn(&mut Self, &T) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        items.iter().try_for_each(|item| {
            self.seq_no = item.seq_no;
            one(self, &item.it)
        })
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
        let NiItem { interface, tunables, lnd, cpts, .. } = ni.clone();
        let config = NetConfig { tunables, lnd, cpts, ..NetConfig::default() };
        let request = ops::net::request(net, interface.as_ref(), &config);
        let found = match self.backend {
            _ if self.present.waiting.iter().any(|one| one.ni == request) => Ok(Some(Adjustment::Nothing)),
            Some(backend) => ops::net::rehearse(backend, &request),
            None => Ok(None),
        };
        let name = interface.map_or_else(String::new, |spec| spec.name);
        let said = format!("net {net} {name}");
        match found {
            Ok(None) => self.say("add", said.trim_end()),
            Ok(Some(Adjustment::Nothing)) => {}
            Ok(Some(Adjustment::ConnsPerPeer(set))) => {
                self.say("set", format!("{said} conns_per_peer {}", set.value));
            }
            Err(error) => return self.refuse(Operation::Add, "net", error),
        }
        if let Some(nets) = &mut self.nets {
            nets.insert(net);
        }
    }

    fn ip2nets(&mut self, item: &Ip2netsItem, host: &[lnet_os::interfaces::HostInterface]) {
        let matched = ip2nets::matched(&item.rule, host, self.large_nids);
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
                ..NiItem::default()
            };
            self.ni(item.rule.net, &ni);
        }
    }

    fn route(&mut self, item: &RouteItem) {
        let (Some(net), Some(gateways)) = (item.net, &item.gateway) else { return };
        let RouteItem { hops, priority, sensitivity, .. } = *item;
        // The list has been read before, without errors.
        for gateway in parse_nids(gateways, MAX_NIDS).unwrap_or_default() {
            let asked = AskedRoute { net, gateway, hops, priority, sensitivity };
            let its_nids = self.backend.map_or_else(Vec::new, |backend| nids_of(backend, gateway));
            // The nets that a rule adds are not known.
            let found = match &self.nets {
                Some(nets) => asked.rehearse(|net| nets.contains(&net), &self.present.routes, &its_nids),
                None => asked.rehearse(|net| net == gateway.net(), &self.present.routes, &its_nids),
            };
            match found {
                Ok(true) => self.say("add", format!("route {net} by {gateway}")),
                Ok(false) => {}
                Err(error) => {
                    self.refuse(Operation::Add, "route", error);
                    // A list ends with the first NID that is refused.
                    return;
                }
            }
            self.gateways.insert(gateway);
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
            self.refuse_peer(primary, item, Errno::Exists);
            return Ok(());
        }
        if now.as_ref().is_some_and(|now| !item.replace && now.multi_rail != item.multi_rail) {
            self.refuse_peer(primary, item, Errno::NotPermitted);
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
                Some(_) => {
                    self.refuse_peer(nid, item, Errno::Exists);
                    if !item.replace {
                        return Ok(());
                    }
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

    fn refuse_peer(&mut self, nid: Nid, item: &PeerItem, errno: Errno) {
        let what = Modify::Add { multi_rail: item.multi_rail, lock_primary: false };
        let error = ops::peer::refused(nid, what, errno);
        self.refuse(Operation::Add, "peer_ni", error);
    }

    fn buffers(&mut self, counts: [Option<u32>; 3]) {
        let now = self.present.buffer_counts();
        for ((size, now), count) in BUFFER_NAMES.into_iter().zip(now).zip(counts) {
            if let Some(count) = count.filter(|count| u64::from(*count) != now) {
                self.say("set", format!("buffers {size} {count}"));
            }
        }
    }

    fn setting(&mut self, setting: Setting, value: i64) {
        if setting == Setting::LndTimeout {
            return;
        }
        let now = self.present.setting(setting);
        let agrees = match &mut self.present.tunables {
            Some(all) => ops::global::rehearse(all, setting, value),
            None => Ok(()),
        };
        match (agrees, now.map(i64::from)) {
            (Err(error), _) => self.refuse(Operation::Add, setting.name(), error),
            (Ok(()), Some(now)) if now == value => {}
            (Ok(()), Some(now)) => {
                self.say("set", format!("global {} {value} (now {now})", setting.name()));
            }
            (Ok(()), None) => self.say("set", format!("global {} {value}", setting.name())),
        }
    }

    fn rule(&mut self, item: &UdspItem) {
        let [src, dst, rte] = [&item.src, &item.dst, &item.rte].map(text::<Selector>);
        let criteria = RuleText { src: src.as_deref(), dst: dst.as_deref(), rte: rte.as_deref() };
        let asked = match ops::policy::request(criteria, effect(item)) {
            Ok(asked) => asked,
            Err(error) => return self.refuse(Operation::Add, "udsp", error),
        };
        let found =
            self.present.rules.iter().find_map(|now| Some((ops::policy::rehearse(&asked, now)?, now)));
        let said = described(&asked.action, asked.messages);
        match found {
            None => self.say("add", format!("udsp {criteria}{said}")),
            Some((Ok(false), _)) => {}
            Some((Ok(true), now)) => {
                let now = described(&now.action, now.messages);
                self.say("set", format!("udsp {criteria}{said} (now{now})"));
            }
            Some((Err(error), _)) => self.refuse(Operation::Add, "udsp", error),
        }
    }
}
