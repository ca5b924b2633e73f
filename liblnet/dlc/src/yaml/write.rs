//! Writes the model in the form of `export --backup` of 2.15.

use crate::SeqNo;
use crate::Value;
use crate::model::{
    BUFFER_NAMES, Block, Document, Ip2netsItem, Item, NetItem, NiItem, PeerItem, PingItem, RouteItem,
    UdspItem,
};
use crate::ops::policy::RuleAction;
use crate::request::{LndTunables, NiTunables};
use crate::{CptList, InterfaceSpec};
use lnet_wire::Selector;

/// Writes the whole document.
pub(super) fn document(document: &Document) -> Value {
    let mut whole = Value::map();
    for written in document.blocks.iter().flat_map(block) {
        join(&mut whole, written);
    }
    whole
}

/// Adds a block to the previous ones: sequences grow, mappings take the new value of a key.
fn join(whole: &mut Value, (name, new): (&'static str, Value)) {
    let Value::Map(blocks) = whole else { return };
    match (blocks.iter_mut().find(|(other, _)| other == name).map(|(_, value)| value), new) {
        (Some(Value::Seq(items)), Value::Seq(more)) => items.extend(more),
        (Some(Value::Map(entries)), Value::Map(more)) => {
            for (key, value) in more {
                match entries.iter_mut().find(|(other, _)| *other == key) {
                    Some((_, old)) => *old = value,
                    None => entries.push((key, value)),
                }
            }
        }
        (Some(_), _) => {}
        (None, new) => blocks.push((name.to_owned(), new)),
    }
}

fn block(block: &Block) -> Vec<(&'static str, Value)> {
    let one = |name, value| vec![(name, value)];
    match block {
        Block::Net(all) => one("net", items(all, net)),
        Block::Ip2nets(all) => one("ip2nets", items(all, ip2nets)),
        Block::Route(all) => one("route", items(all, route)),
        Block::Peer(all) => {
            let (complete, others): (Vec<_>, Vec<_>) = all.iter().partition(|item| item.it.replace);
            [("peer", others), ("peers", complete)]
                .into_iter()
                .filter(|(_, all)| !all.is_empty())
                .map(|(name, all)| (name, items(all, peer)))
                .collect()
        }
        Block::Routing(item) => {
            let mut value = Value::map();
            push(&mut value, "enable", item.it.map(u32::from));
            one("routing", numbered(value, item.seq_no))
        }
        Block::Buffers(item) => {
            let mut value = Value::map();
            for (size, count) in BUFFER_NAMES.into_iter().zip(item.it) {
                push(&mut value, size, count);
            }
            one("buffers", numbered(value, item.seq_no))
        }
        Block::Global(item) => {
            let settings =
                item.it.iter().map(|(setting, value)| (setting.name().to_owned(), Value::from(*value)));
            one("global", numbered(Value::Map(settings.collect()), item.seq_no))
        }
        Block::Udsp(all) => one("udsp", items(all, udsp)),
        Block::Statistics(item) => {
            let value = numbered(Value::map(), item.seq_no);
            one("statistics", if value.is_empty() { Value::Null } else { value })
        }
        Block::Ping(all) => one("ping", items(all, ping)),
        Block::Discover(all) => one(
            "discover",
            items(all, |it| {
                let value = Value::map().with("primary nid", it.target.to_string());
                if it.force { value.with("force", 1) } else { value }
            }),
        ),
    }
}

fn items<'a, T: 'a>(all: impl IntoIterator<Item = &'a Item<T>>, write: fn(&T) -> Value) -> Value {
    Value::Seq(all.into_iter().map(|item| numbered(write(&item.it), item.seq_no)).collect())
}

fn numbered(mut value: Value, seq_no: SeqNo) -> Value {
    push(&mut value, "seq_no", seq_no.number());
    value
}

/// Adds a key if it has a value.
fn push<T: Into<Value>>(value: &mut Value, key: &str, said: Option<T>) {
    if let Some(said) = said {
        value.push(key, said);
    }
}

fn net(item: &NetItem) -> Value {
    let mut value = Value::map();
    push(&mut value, "net type", item.net.map(|net| net.to_string()));
    push(&mut value, "ip2net", item.ip2net.as_deref().map(Value::scalar));
    if item.ip2net.is_some() && item.nis.iter().all(|ni| ni.interface.is_none()) {
        // The NIs that the rule adds have these values.
        for NiItem { tunables, lnd, cpts, .. } in &item.nis {
            said(&mut value, *tunables, *lnd, cpts.as_ref());
        }
    } else if !item.nis.is_empty() {
        value.push("local NI(s)", Value::Seq(item.nis.iter().map(ni).collect()));
    }
    push(&mut value, "detail", item.detail);
    value
}

fn ni(ni: &NiItem) -> Value {
    let mut value = Value::map();
    push(
        &mut value,
        "interfaces",
        ni.interface.as_ref().map(|it| labelled([Value::scalar(&it.to_string())])),
    );
    said(&mut value, ni.tunables, ni.lnd, ni.cpts.as_ref());
    value
}

/// Adds labels 0, 1, 2... to values.
fn labelled(values: impl IntoIterator<Item = Value>) -> Value {
    Value::Map(values.into_iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect())
}

fn said(value: &mut Value, tunables: NiTunables, lnd: LndTunables, cpts: Option<&CptList>) {
    let mut common = Value::map();
    push(&mut common, "peer_timeout", tunables.peer_timeout);
    push(&mut common, "peer_credits", tunables.peer_credits);
    push(&mut common, "peer_buffer_credits", tunables.peer_buffer_credits);
    push(&mut common, "credits", tunables.credits);
    push(value, "tunables", Some(common).filter(|common| !common.is_empty()));
    let lnd = crate::ops::net::shown_lnd(&lnd);
    push(value, "lnd tunables", Some(lnd).filter(|lnd| !lnd.is_empty()));
    push(value, "CPT", cpts.map(|cpts| Value::Quoted(cpts.to_string())));
}

fn ip2nets(item: &Ip2netsItem) -> Value {
    let mut value = Value::map().with("net-spec", item.rule.net.to_string());
    let names = item.rule.interfaces.iter().map(|spec: &InterfaceSpec| Value::scalar(&spec.to_string()));
    let names = labelled(names);
    push(&mut value, "interfaces", Some(names).filter(|names| !names.is_empty()));
    let ranges = labelled(item.rule.ranges.iter().map(|range| Value::scalar(&range.to_string())));
    push(&mut value, "ip-range", Some(ranges).filter(|ranges| !ranges.is_empty()));
    said(&mut value, item.tunables, item.lnd, item.cpts.as_ref());
    value
}

fn route(item: &RouteItem) -> Value {
    let mut value = Value::map();
    push(&mut value, "net", item.net.map(|net| net.to_string()));
    push(&mut value, "gateway", item.gateway.as_deref().map(Value::scalar));
    value.push("hop", item.hops.map_or(-1, i64::from));
    push(&mut value, "priority", item.priority);
    push(&mut value, "health_sensitivity", item.sensitivity);
    push(&mut value, "detail", item.detail);
    value
}

fn peer(item: &PeerItem) -> Value {
    let mut value = Value::map();
    if item.replace {
        let nids = item.nids.iter().flatten().map(|nid| Value::scalar(&nid.to_string()));
        value.push("nids", labelled(nids));
    } else {
        push(&mut value, "primary nid", item.primary.map(|nid| nid.to_string()));
    }
    value.push("Multi-Rail", if item.multi_rail { "True" } else { "False" });
    if let (Some(nids), false) = (&item.nids, item.replace) {
        let nids = nids.iter().map(|nid| Value::map().with("nid", nid.to_string()));
        value.push("peer ni", Value::Seq(nids.collect()));
    }
    push(&mut value, "detail", item.detail);
    value
}

fn udsp(item: &UdspItem) -> Value {
    let mut value = Value::map();
    push(&mut value, "idx", item.index);
    for (key, selector) in [("src", &item.src), ("dst", &item.dst), ("rte", &item.rte)] {
        value.push(
            key,
            selector.as_ref().map_or_else(|| "NA".into(), |it: &Selector| Value::scalar(&it.to_string())),
        );
    }
    let mut action = Value::map();
    if let RuleAction::Priority(priority) = item.action {
        action.push("priority", priority);
    }
    push(&mut action, "messages", item.messages);
    match item.action {
        // The form has no place for a word beside the numbers; a rule about two sides without an action is a list.
        RuleAction::PreferredList if action.is_empty() => value.push("action", "preferred_list"),
        _ if action.is_empty() => {}
        _ => value.push("action", action),
    }
    value
}

fn ping(item: &PingItem) -> Value {
    let mut value = Value::map().with("primary nid", item.target.to_string());
    push(&mut value, "timeout", item.timeout_ms);
    push(&mut value, "source_nid", item.source.map(|nid| nid.to_string()));
    value
}
