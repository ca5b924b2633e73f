//! Changes of the configuration of nodes.

use super::NodesOf;
use super::nodes::Movement;
use crate::model::{Class, ClassNi, ClassPeer, ClassRoute, ClassRule};
use lnet_dlc::model::BUFFER_NAMES;
use lnet_dlc::ops::policy::RuleAction;
use lnet_settings::Setting;
use serde::Serialize;

/// The changes of nodes of one class that are of one class afterwards, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClassChanges {
    /// The nodes, with their new class.
    pub nodes: NodesOf,
    /// The changes.
    pub changes: Vec<Change>,
}

/// A change. `old` and `new` are texts; `None`: there was nothing, or there is nothing any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The part of the configuration, such as `interface eth0 (tcp)` or `transaction_timeout`.
    pub what: String,
    /// The text before.
    pub old: Option<String>,
    /// The text after.
    pub new: Option<String>,
}

/// The changes from one class to another.
pub(super) fn of(old: &Class, new: &Class, movement: &Movement) -> Vec<Change> {
    let mut all = Vec::new();
    interfaces(old, new, &mut all);
    if movement.readdressed > 0 {
        let nids =
            |class: &Class, node| class.nids(node).map(|nid| nid.to_string()).collect::<Vec<_>>().join(", ");
        let what = match movement.readdressed {
            1 => "NIDs".to_owned(),
            count => format!("NIDs of {count} nodes, the first"),
        };
        changed(&mut all, what, nids(old, movement.first.0), nids(new, movement.first.1));
    }
    listed(&mut all, "route", &old.routes, &new.routes, route);
    let forwards = |class: &Class| if class.is_router { "on" } else { "off" };
    changed(&mut all, "routing".to_owned(), forwards(old).to_owned(), forwards(new).to_owned());
    for (index, name) in BUFFER_NAMES.iter().enumerate() {
        let number = |class: &Class| match class.buffers.get(index) {
            Some(number) if class.is_router && *number > 0 => number.to_string(),
            _ => String::new(),
        };
        changed(&mut all, format!("{name} router buffers"), number(old), number(new));
    }
    for setting in Setting::all_global() {
        let value = |class: &Class| class.settings.get(setting).to_string();
        changed(&mut all, setting.name().to_owned(), value(old), value(new));
    }
    listed(&mut all, "peer", &old.peers, &new.peers, peer);
    let rules = |class: &Class| class.rules.iter().map(rule).collect::<Vec<_>>().join("; ");
    changed(&mut all, "selection rules".to_owned(), rules(old), rules(new));
    let port = |class: &Class| class.accept_port.map(|port| port.to_string()).unwrap_or_default();
    changed(&mut all, "accept port".to_owned(), port(old), port(new));
    all
}

/// Adds a change if the texts differ. An empty text is nothing.
fn changed(all: &mut Vec<Change>, what: String, old: String, new: String) {
    if old != new {
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        all.push(Change { what, old: some(old), new: some(new) });
    }
}

/// Adds the items that only one of the lists has.
fn listed<T>(all: &mut Vec<Change>, what: &str, old: &[T], new: &[T], text: impl Fn(&T) -> String) {
    let texts = |items: &[T]| items.iter().map(&text).collect::<Vec<_>>();
    let (old, new) = (texts(old), texts(new));
    for item in old.iter().filter(|item| !new.contains(item)) {
        all.push(Change { what: what.to_owned(), old: Some(item.clone()), new: None });
    }
    for item in new.iter().filter(|item| !old.contains(item)) {
        all.push(Change { what: what.to_owned(), old: None, new: Some(item.clone()) });
    }
}

/// Interfaces are the same if they have the same net and name.
fn interfaces(old: &Class, new: &Class, all: &mut Vec<Change>) {
    let key = |ni: &ClassNi| (ni.net, ni.interface.clone());
    let what = |class: &Class, index: usize| format!("interface {}", class.ni_label(index));
    for (index, ni) in old.nis.iter().enumerate() {
        match new.nis.iter().find(|its| key(its) == key(ni)) {
            Some(its) => changed(all, what(old, index), details(ni), details(its)),
            None => all.push(Change { what: what(old, index), old: Some("there".to_owned()), new: None }),
        }
    }
    for (index, ni) in new.nis.iter().enumerate() {
        if !old.nis.iter().any(|its| key(its) == key(ni)) {
            all.push(Change { what: what(new, index), old: None, new: Some("there".to_owned()) });
        }
    }
    let order = |class: &Class, other: &Class| -> Vec<_> {
        class.nis.iter().map(key).filter(|its| other.nis.iter().any(|ni| key(ni) == *its)).collect()
    };
    let text = |keys: &[(lnet_wire::NetId, Option<String>)]| {
        let name = |(net, interface): &(lnet_wire::NetId, Option<String>)| match interface {
            Some(name) => format!("{name} ({net})"),
            None => net.to_string(),
        };
        keys.iter().map(name).collect::<Vec<_>>().join(", ")
    };
    changed(all, "order of interfaces".to_owned(), text(&order(old, new)), text(&order(new, old)));
}

/// The tunables of an interface that are given, and the links.
fn details(ni: &ClassNi) -> String {
    let tunables = &ni.tunables;
    let mut all = Vec::new();
    let mut add = |name: &str, value: Option<u64>| {
        all.extend(value.map(|value| format!("{name} {value}")));
    };
    add("credits", tunables.credits.map(u64::from));
    add("peer_credits", tunables.peer_credits.map(u64::from));
    add("peer_buffer_credits", tunables.peer_buffer_credits.map(u64::from));
    add("peer_timeout", tunables.peer_timeout.map(u64::from));
    add("conns_per_peer", ni.lnd.conns_per_peer.map(u64::from));
    add("mtu", ni.mtu.map(u64::from));
    if !ni.lnd.numbers.is_empty() {
        all.push(format!("{:?}", ni.lnd.numbers));
    }
    if !ni.switches.is_empty() {
        all.push(format!("switches {}", ni.switches.join(" ")));
    }
    if all.is_empty() { "defaults".to_owned() } else { all.join(", ") }
}

fn route(route: &ClassRoute) -> String {
    let mut text = format!("{} by {}", route.net, route.gateway);
    if let Some(hops) = route.hops {
        text += &format!(", hops {hops}");
    }
    if route.priority > 0 {
        text += &format!(", priority {}", route.priority);
    }
    if let Some(sensitivity) = route.sensitivity {
        text += &format!(", health sensitivity {sensitivity}");
    }
    text
}

fn peer(peer: &ClassPeer) -> String {
    let nids: Vec<String> = peer.nids.iter().map(ToString::to_string).collect();
    let rail = if peer.multi_rail { "" } else { ", not Multi-Rail" };
    format!("{}{rail}", nids.join(" "))
}

fn rule(rule: &ClassRule) -> String {
    let side = |name: &str, selector: &Option<lnet_wire::Selector>| {
        selector.as_ref().map(|it| format!("{name} {it}"))
    };
    let mut parts: Vec<String> = [side("src", &rule.src), side("dst", &rule.dst), side("rte", &rule.rte)]
        .into_iter()
        .flatten()
        .collect();
    match rule.action {
        RuleAction::Priority(priority) => parts.push(format!("priority {priority}")),
        RuleAction::PreferredList | RuleAction::Suited => {}
    }
    parts.extend(rule.messages.map(|messages| format!("messages {messages}")));
    parts.join(" ")
}
