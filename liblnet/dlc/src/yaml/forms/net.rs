//! The blocks `net` and `ip2nets`: canonical, FORM-1 (before multi-rail), FORM-4 and FORM-5 (the design document).

use super::super::Purpose;
use super::super::fields::{Fields, Reader};
use super::super::scalars::{count, interface, net as net_of, seq_no, text};
use super::super::tree::{MapEntry, Node, NodeKind};
use super::tunables::{GivenTunables, lnd};
use super::{items, some, values};
use crate::interface_spec::split_outside_brackets;
use crate::ip2nets::{Rule, parse_string};
use crate::model::{Block, Ip2netsItem, Item, NetItem, NiItem};
use crate::ranges::DETAIL;
use crate::{InterfaceSpec, SeqNo};
use lnet_wire::nid::Address;
use lnet_wire::{IpRange, NetId, NetType, Nid};

/// Keys of an NI that are exported but ignored on import.
const NI_OUTPUT: &[&str] = &[
    "nid",
    "status",
    "statistics",
    "sent_stats",
    "received_stats",
    "dropped_stats",
    "udsp info",
    "health stats",
    "dev cpt",
    "tcp bonding",
    "use_tcp_bonding",
    "tx_credits",
    "min_tx_credits",
    "available_tx_credits",
    "hwaddr",
    "lengths",
    "heat",
    "net statistics",
    "ni state",
    "net state",
    "next ping in",
    "reason",
];

enum NetOrRule {
    Net(NetItem),
    Rule(Ip2netsItem),
}

/// The block `net`. Items with a `pattern` are rules for `ip2nets` and become a block of their own.
pub(super) fn net(entry: &MapEntry, reader: &mut Reader) -> Vec<Block> {
    let mut blocks = Vec::new();
    for Item { it, at, seq_no } in items(entry, reader, net_item) {
        match (it, blocks.last_mut()) {
            (NetOrRule::Net(it), Some(Block::Net(items))) => items.push(Item { it, at, seq_no }),
            (NetOrRule::Net(it), _) => blocks.push(Block::Net(vec![Item { it, at, seq_no }])),
            (NetOrRule::Rule(it), Some(Block::Ip2nets(items))) => items.push(Item { it, at, seq_no }),
            (NetOrRule::Rule(it), _) => blocks.push(Block::Ip2nets(vec![Item { it, at, seq_no }])),
        }
    }
    blocks
}

/// The block `waiting interfaces` of an export, of the form of `net`. Interfaces without a name are passed over: no file has them.
pub(super) fn waiting(entry: &MapEntry, reader: &mut Reader) -> Vec<Block> {
    let mut entry = entry.clone();
    if let NodeKind::Seq(nets) = &mut entry.value.kind {
        nets.retain_mut(has_named_interfaces);
    }
    net(&entry, reader)
}

/// Removes the NIs without a name from a net. Returns whether it still says something.
fn has_named_interfaces(net: &mut Node) -> bool {
    let NodeKind::Map(entries) = &mut net.kind else { return true };
    let Some(nis) = entries.iter_mut().find(|entry| entry.key == "local NI(s)") else { return true };
    let NodeKind::Seq(nis) = &mut nis.value.kind else { return true };
    let has_name = |ni: &Node| match &ni.kind {
        NodeKind::Map(entries) => entries.iter().any(|entry| entry.key == "interfaces"),
        _ => true,
    };
    nis.retain(has_name);
    !nis.is_empty()
}

/// The block `ip2nets`.
pub(super) fn ip2nets(entry: &MapEntry, reader: &mut Reader) -> Vec<Block> {
    some(items(entry, reader, ip2nets_item), Block::Ip2nets)
}

fn net_item(node: &Node, reader: &mut Reader) -> Vec<(NetOrRule, SeqNo)> {
    let Some(mut fields) = Fields::of(node, "a net", reader) else { return Vec::new() };
    let number = item_number(&mut fields, reader);
    let problems = reader.problems.len();
    let (name, is_canonical) = net_name(&mut fields, reader);
    let defaults = GivenTunables::read(&mut fields, reader);
    let mut detail = count(&mut fields, DETAIL, reader);
    let pattern = fields.get("pattern", reader);
    let ip2net = fields
        .get("ip2net", reader)
        .and_then(|node| text(node, "ip2net", reader).map(|text| (node.at, text)));
    match ip2net.map(|(at, text)| (at, parse_string(text))) {
        Some((at, Err(error))) => reader.wrong(at, format!("ip2net: {error}")),
        Some((at, Ok(rules))) if rules.is_empty() => {
            reader.wrong(
                at,
                "ip2net: there is no rule in it; one is a net and addresses, such as tcp 10.0.0.*",
            );
        }
        _ => {}
    }
    let ip2net = ip2net.map(|(_, text)| text);
    let mut nis = Vec::new();
    let local = fields.entry("local NI(s)");
    let is_loopback = name == Some(NetId::LOOPBACK) && reader.purpose != Purpose::Show;
    for ni in local.map_or(&[][..], |entry| entry.value.items()) {
        nis.extend(local_ni(ni, &defaults, name.filter(|_| !is_loopback), &mut detail, reader));
    }
    for key in ["interfaces", "intf"] {
        if let Some(node) = fields.get(key, reader) {
            nis.extend(interfaces(node, &defaults, &mut detail, reader));
        }
    }
    // Files from before multi-rail have the NID beside the interfaces.
    if let ([ni], NodeKind::Map(entries)) = (&mut nis[..], &node.kind) {
        let own = entries.iter().find(|entry| entry.key == "nid");
        ni.nid = own.and_then(|entry| exported_nid(&entry.value)).or(ni.nid);
    }
    fields.ignore(NI_OUTPUT);
    let at = fields.at;
    fields.finish(reader);
    if is_loopback {
        return Vec::new();
    }

    if let Some(pattern) = pattern {
        let ranges = ip_ranges(vec![pattern], reader);
        if name.is_none() && reader.problems.len() == problems {
            reader.missing(at, "a pattern without its net; add 'net: NAME'");
        }
        let interfaces = nis.into_iter().filter_map(with_its_cpts).collect();
        let GivenTunables { tunables, lnd, cpts } = defaults;
        return name.map_or_else(Vec::new, |net| {
            let rule = Rule { net, interfaces, ranges };
            vec![(NetOrRule::Rule(Ip2netsItem { rule, tunables, lnd, cpts }), number)]
        });
    }
    if reader.problems.len() == problems && ip2net.is_none() {
        complete(reader, at, name, &nis, is_canonical && local.is_none());
    }
    if nis.is_empty() && needs_none(name) && reader.purpose == Purpose::Add {
        nis.push(ni_item(None, defaults.clone()));
    }
    if ip2net.is_some() && nis.is_empty() {
        // The interfaces come from the rule; the tunables are kept here, as there is no other place for them.
        nis.push(ni_item(None, defaults));
    }
    // With `show`, 2.15 reads `net` alone: a file of nets shows everything.
    let net = name.filter(|_| reader.purpose != Purpose::Show || !is_canonical);
    vec![(NetOrRule::Net(NetItem { net, nis, ip2net: ip2net.map(str::to_owned), detail }), number)]
}

/// Records the keys that an item lacks for its purpose.
fn complete(
    reader: &mut Reader,
    at: crate::model::Place,
    name: Option<NetId>,
    nis: &[NiItem],
    lacks_nis: bool,
) {
    match (reader.purpose, name) {
        (Purpose::Add | Purpose::Del, None) => {
            reader.missing(at, "a net without its name; add 'net type: NAME', such as tcp or o2ib1");
        }
        (Purpose::Add, name) if nis.is_empty() && !needs_none(name) => {
            reader.missing(at, "a net without interfaces; add 'local NI(s)' with 'interfaces' in each item");
        }
        (Purpose::Del, _) if lacks_nis => {
            let said =
                "which interfaces? add 'local NI(s)'; to delete the whole net, say 'net:' for 'net type:'";
            reader.missing(at, said);
        }
        _ => {}
    }
}

/// Whether the net needs no interface: Gemini has one, which has no name.
fn needs_none(net: Option<NetId>) -> bool {
    net.is_some_and(|net| net.kind() == NetType::GNI)
}

/// Reads `net type`, or `net` as before 2.10; and returns whether the former was found.
fn net_name(fields: &mut Fields<'_>, reader: &mut Reader) -> (Option<NetId>, bool) {
    let canonical = fields.get("net type", reader).map(|node| (node.at, net_of(node, "net type", reader)));
    let older = fields.get("net", reader).map(|node| net_of(node, "net", reader));
    if let (Some((at, Some(one))), Some(Some(other))) = (canonical, older)
        && one != other
    {
        reader.wrong(at, format!("'net type' says {one} and 'net' says {other}; keep one"));
    }
    match (canonical, older) {
        (_, Some(name)) => (name, false),
        (Some((_, name)), None) => (name, true),
        (None, None) => (None, false),
    }
}

/// The item's `seq_no`, which is among the tunables in the first design document.
fn item_number(fields: &mut Fields<'_>, reader: &mut Reader) -> SeqNo {
    let direct = seq_no(fields, reader);
    let tunables = fields.section("tunables").filter(|node| matches!(node.kind, NodeKind::Map(_)));
    match tunables.filter(|_| direct == SeqNo::NONE) {
        // Duplicates are noted when the tunables themselves are read.
        Some(Node { kind: NodeKind::Map(entries), at }) => {
            let only = entries.iter().find(|entry| entry.key == "seq_no").cloned();
            let node = Node { at: *at, kind: NodeKind::Map(only.into_iter().collect()) };
            Fields::of(&node, "tunables", reader).map_or(direct, |mut fields| seq_no(&mut fields, reader))
        }
        _ => direct,
    }
}

/// Reads one item of `local NI(s)` of the net, `None` for the loopback and for a net without a name; the result has several NIs if the item
/// names several interfaces. A NID with an IPv6 address says which address the NI has: the NI then has the address in place of the name of an
/// interface, which may be missing. NIDs with IPv4 addresses are output (dlc 2.3).
fn local_ni(
    node: &Node,
    defaults: &GivenTunables,
    net: Option<NetId>,
    detail: &mut Option<u32>,
    reader: &mut Reader,
) -> Vec<NiItem> {
    let Some(mut fields) = Fields::of(node, "an NI", reader) else { return Vec::new() };
    let said = GivenTunables::read(&mut fields, reader).or(defaults);
    let fields_say_interfaces = fields.has("interfaces");
    let nid_node = fields.get("nid", reader);
    let exported = nid_node.and_then(exported_nid);
    let nid = nid_node.and_then(|node| long_nid(node, net, reader));
    let found = fields.get("interfaces", reader).map(|node| interfaces(node, &said, detail, reader));
    *detail = (*detail).max(count(&mut fields, DETAIL, reader));
    fields.ignore(NI_OUTPUT);
    fields.ignore(&["seq_no"]);
    let at = fields.at;
    fields.finish(reader);
    let mut nis = found.unwrap_or_default();
    match (nid, &mut nis[..]) {
        (Some(nid), []) if !fields_say_interfaces => nis.push(ni_item(Some(address_of(nid)), said)),
        (Some(nid), [ni]) => {
            ni.link = ni.interface.take().map(|spec| spec.name);
            ni.interface = Some(address_of(nid));
        }
        (Some(nid), [_, ..]) => {
            reader.wrong(at, format!("nid {nid} with several interfaces; write one item for each"));
        }
        (None, _) if !fields_say_interfaces && net.is_some() && reader.purpose == Purpose::Add => {
            reader.missing(at, "an NI without its interface; add 'interfaces' with '0: NAME' below it");
        }
        _ => {}
    }
    nis.iter_mut().for_each(|ni| ni.at = at);
    if let [ni] = &mut nis[..] {
        ni.nid = exported;
    }
    nis
}

/// The NID that an export has for an interface; `None` for what is no NID.
fn exported_nid(node: &Node) -> Option<Nid> {
    let NodeKind::Scalar(text) = &node.kind else { return None };
    text.trim().parse().ok()
}

/// The NID of an NI on this net, if it has an IPv6 address; `None` for what is no NID: files have much in this place, which 2.15 does not read.
fn long_nid(node: &Node, net: Option<NetId>, reader: &mut Reader) -> Option<Nid> {
    let NodeKind::Scalar(text) = &node.kind else { return None };
    let nid: Nid = text.trim().parse().ok()?;
    let net = net.filter(|_| matches!(nid.address(), Address::Long(_)))?;
    if nid.net() == net {
        return Some(nid);
    }
    let wrong = format!("nid {nid} is not on {net}, the net of this item; write its address with @{net}");
    reader.wrong(node.at, wrong);
    None
}

/// The interface with the address of a NID.
fn address_of(nid: Nid) -> InterfaceSpec {
    InterfaceSpec::named(nid.address().ip().to_string())
}

/// Reads the value of `interfaces`: labels with names, items with `intf`, or names.
fn interfaces(
    node: &Node,
    defaults: &GivenTunables,
    detail: &mut Option<u32>,
    reader: &mut Reader,
) -> Vec<NiItem> {
    match &node.kind {
        NodeKind::Empty | NodeKind::Null(_) => Vec::new(),
        NodeKind::Scalar(_) => named(node, defaults, reader),
        NodeKind::Seq(items) => {
            items.iter().flat_map(|item| interfaces(item, defaults, detail, reader)).collect()
        }
        NodeKind::Map(entries) if entries.iter().any(|entry| entry.key == "intf") => {
            let Some(mut fields) = Fields::of(node, "an interface", reader) else { return Vec::new() };
            let said = GivenTunables::read(&mut fields, reader).or(defaults);
            *detail = (*detail).max(count(&mut fields, DETAIL, reader));
            let name = fields.get("intf", reader);
            fields.ignore(&["seq_no"]);
            fields.finish(reader);
            name.map_or_else(Vec::new, |name| named(name, &said, reader))
        }
        NodeKind::Map(entries) => {
            let mut said = defaults.clone();
            // 2.9 has the driver's tunables among the interfaces.
            for entry in entries.iter().filter(|entry| entry.key == "lnd tunables") {
                said.lnd = lnd(&entry.value, reader);
            }
            let names = entries.iter().filter(|entry| entry.key != "lnd tunables");
            names.flat_map(|entry| named(&entry.value, &said, reader)).collect()
        }
    }
}

/// One NI for each name in a value, which usually has one.
fn named(node: &Node, said: &GivenTunables, reader: &mut Reader) -> Vec<NiItem> {
    let ni = |spec| NiItem { at: node.at, ..ni_item(Some(spec), said.clone()) };
    specs(node, reader).into_iter().map(ni).collect()
}

fn specs(node: &Node, reader: &mut Reader) -> Vec<InterfaceSpec> {
    match &node.kind {
        NodeKind::Scalar(text) if text.contains(',') => {
            let part = |part: &str| Node { at: node.at, kind: NodeKind::Scalar(part.trim().to_owned()) };
            split_outside_brackets(text).filter_map(|name| interface(&part(name), reader)).collect()
        }
        _ => interface(node, reader).into_iter().collect(),
    }
}

/// The NI. CPTs given with the interface's name take precedence over those of the item.
fn ni_item(interface: Option<InterfaceSpec>, said: GivenTunables) -> NiItem {
    let GivenTunables { tunables, lnd, cpts } = said;
    match interface {
        Some(InterfaceSpec { name, cpts: own }) => {
            let (interface, cpts) = (Some(InterfaceSpec::named(name)), own.or(cpts));
            NiItem { interface, tunables, lnd, cpts, ..NiItem::default() }
        }
        None => NiItem { interface, tunables, lnd, cpts, ..NiItem::default() },
    }
}

fn with_its_cpts(ni: NiItem) -> Option<InterfaceSpec> {
    ni.interface.map(|spec| InterfaceSpec { name: spec.name, cpts: ni.cpts })
}

fn ip2nets_item(node: &Node, reader: &mut Reader) -> Vec<(Ip2netsItem, SeqNo)> {
    let Some(mut fields) = Fields::of(node, "a rule of ip2nets", reader) else { return Vec::new() };
    let problems = reader.problems.len();
    let number = item_number(&mut fields, reader);
    let name = fields.get("net-spec", reader).or_else(|| fields.get("net", reader));
    if name.is_none() && reader.problems.len() == problems {
        reader.missing(fields.at, "a rule without its net; add 'net-spec: NAME'");
    }
    let net = name.and_then(|node| net_of(node, "net-spec", reader));
    let GivenTunables { tunables, lnd, cpts } = GivenTunables::read(&mut fields, reader);
    let interfaces = fields.get("interfaces", reader).map_or_else(Vec::new, values);
    let interfaces = interfaces.into_iter().flat_map(|node| specs(node, reader)).collect();
    let ranges = fields.get("ip-range", reader).map_or_else(Vec::new, values);
    let ranges = ip_ranges(ranges, reader);
    fields.finish(reader);
    let Some(net) = net else { return Vec::new() };
    vec![(Ip2netsItem { rule: Rule { net, interfaces, ranges }, tunables, lnd, cpts }, number)]
}

/// Reads IP ranges; several in one value have blanks between them.
fn ip_ranges(nodes: Vec<&Node>, reader: &mut Reader) -> Vec<IpRange> {
    let mut ranges = Vec::new();
    for node in nodes {
        let Some(text) = text(node, "an IP range", reader) else { continue };
        for word in text.split_whitespace() {
            match word.parse() {
                Ok(range) => ranges.push(range),
                Err(error) => reader.wrong(node.at, format!("IP range '{word}': {error}")),
            }
        }
    }
    ranges
}
