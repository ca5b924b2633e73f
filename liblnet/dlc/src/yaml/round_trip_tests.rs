//! Tests that a file reads as the model that was written, with this reader and with others.

use super::{Purpose, read, to_value};
use crate::ip2nets::Rule;
use crate::model::{
    Block, DiscoverItem, Document, Ip2netsItem, Item, NetItem, NiItem, PeerItem, PingItem, Place, RouteItem,
    UdspItem,
};
use crate::ops::global::Setting;
use crate::ops::policy::{self, RuleAction};
use crate::request::{LND_NUMBERS, LndNumbers, LndTunables, NiTunables, Udsp, UdspAction};
use crate::{CptList, InterfaceSpec, SeqNo, Value};
use lnet_wire::{IpRange, NetId, NetType, Nid, Pid, ProcessId, Selector};
use proptest::collection::{btree_set, vec};
use proptest::option::of;
use proptest::prelude::*;

/// Fails if an exported rule is no YAML, or another rule.
#[test]
fn a_shown_rule_is_read_as_the_same_rule() {
    for text in [
        "tcp",
        "10.0.0.[1-9]@tcp",
        "[1-3].0.0.1@tcp",
        "*.*.*.1@tcp",
        "::/0@tcp",
        "*:*:*:*:*:*:*:1@tcp",
        "[1-3]::1@tcp",
        "::[1-2]@tcp",
        "fd99::@tcp",
        "fd99::*@tcp[1-3]",
        "1@gni",
    ] {
        let dst: Selector = text.parse().unwrap();
        let rule = Udsp {
            index: 0,
            src: None,
            dst: Some(dst.clone()),
            rte: None,
            action: UdspAction::Priority(1),
            messages: None,
        };
        let shown = Value::map().with("udsp", vec![policy::to_value(&rule)]).to_yaml();
        let read = read(&shown, Purpose::Add).unwrap();
        let [Block::Udsp(rules)] = &read.blocks[..] else { panic!("{shown}: {read:?}") };
        assert_eq!(rules[0].it.dst, Some(dst), "{shown}");
    }
}

fn net_id() -> impl Strategy<Value = NetId> {
    let kind = prop_oneof![Just(NetType::TCP), Just(NetType::O2IB)];
    (kind, 0..4_u16).prop_map(|(kind, number)| NetId::new(kind, number))
}

fn nid() -> impl Strategy<Value = Nid> {
    (net_id(), any::<u32>()).prop_map(|(net, address)| Nid::new(net, address))
}

fn interface_name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z][a-z0-9.:_-]{0,12}",
        1 => "[!-~]{1,12}".prop_filter("no list and no CPTs", |name| !name.contains([',', '[', ']'])),
        1 => Just("null".to_owned()),
    ]
}

fn cpts() -> impl Strategy<Value = Option<CptList>> {
    of(btree_set(0..16_u32, 1..4).prop_map(|cpts| CptList::new(cpts.into_iter().collect())))
}

fn tunables() -> impl Strategy<Value = (NiTunables, LndTunables)> {
    // 0 is the default: nothing is said.
    let number = || of(1..=i32::MAX as u32);
    let common = (number(), number(), of(0..=i32::MAX as u32), number());
    let numbers = vec(of(-1..=i64::from(i32::MAX)), LND_NUMBERS.len());
    (common, of(0..=127_u16), numbers).prop_map(
        |((peer_timeout, peer_credits, peer_buffer_credits, credits), conns_per_peer, numbers)| {
            let common = NiTunables { peer_timeout, peer_credits, peer_buffer_credits, credits };
            let mut all = LndNumbers::default();
            for (row, number) in LND_NUMBERS.iter().zip(numbers) {
                number.into_iter().for_each(|it| all.give(row, it.clamp(row.range.least, row.range.most)));
            }
            (common, LndTunables { conns_per_peer, numbers: all })
        },
    )
}

fn item<T: std::fmt::Debug>(it: impl Strategy<Value = T>) -> impl Strategy<Value = Item<T>> {
    (it, -1..3_i32).prop_map(|(it, number)| Item { it, at: Place::default(), seq_no: SeqNo::from_c(number) })
}

/// Nets with different numbers, so that no interface is twice on one.
fn nets() -> impl Strategy<Value = Block> {
    let ni = (tunables(), cpts());
    let nis = vec((interface_name(), ni), 1..4).prop_map(|nis| {
        let mut nis: Vec<_> = nis
            .into_iter()
            .map(|(name, ((tunables, lnd), cpts))| NiItem {
                interface: Some(InterfaceSpec::named(name)),
                tunables,
                lnd,
                cpts,
                ..NiItem::default()
            })
            .collect();
        nis.sort_by(|a, b| {
            a.interface.as_ref().map(|it| &it.name).cmp(&b.interface.as_ref().map(|it| &it.name))
        });
        nis.dedup_by(|a, b| a.interface == b.interface);
        nis
    });
    vec(item(nis.prop_map(|nis| NetItem { net: None, nis, ip2net: None, detail: None })), 1..4).prop_map(
        |mut items| {
            for (number, item) in (0..).zip(&mut items) {
                item.it.net = Some(NetId::new(NetType::TCP, number));
            }
            Block::Net(items)
        },
    )
}

fn ip_range() -> impl Strategy<Value = IpRange> {
    let texts = [
        "*.*.*.*",
        "10.0.*.[1-9]",
        "192.0.2.[2-8/2]",
        "[1,3].2.3.4",
        "10.1.2.3",
        "10.0.0.0/8",
        "2001:db8::/64",
        "fd99::[90-9f]",
        "::1",
        "*:*:*:*:*:*:*:*",
    ];
    proptest::sample::select(texts.to_vec()).prop_map(|text| text.parse().unwrap())
}

fn ip2nets() -> impl Strategy<Value = Block> {
    let interface = (interface_name(), cpts()).prop_map(|(name, cpts)| InterfaceSpec { name, cpts });
    let rule = (net_id(), vec(interface, 0..3), vec(ip_range(), 0..3), tunables(), cpts()).prop_map(
        |(net, interfaces, ranges, (tunables, lnd), cpts)| Ip2netsItem {
            rule: Rule { net, interfaces, ranges },
            tunables,
            lnd,
            cpts,
        },
    );
    vec(item(rule), 1..4).prop_map(Block::Ip2nets)
}

fn routes() -> impl Strategy<Value = Block> {
    let number = || of(1..=i32::MAX as u32);
    let route = (net_id(), nid(), of(1..=255_u32), number(), number()).prop_map(
        |(net, gateway, hops, priority, sensitivity)| RouteItem {
            net: Some(net),
            gateway: Some(gateway.to_string()),
            hops,
            priority,
            sensitivity,
            detail: None,
        },
    );
    vec(item(route), 1..4).prop_map(Block::Route)
}

/// Peers with different NIDs; all of them complete lists, or none.
fn peers() -> impl Strategy<Value = Block> {
    (btree_set(nid(), 1..12), any::<bool>(), vec((1..4_usize, any::<bool>(), -1..3_i32), 12)).prop_map(
        |(nids, replace, shapes)| {
            let mut nids: Vec<_> = nids.into_iter().collect();
            let mut items = Vec::new();
            for (length, multi_rail, number) in shapes {
                let its: Vec<Nid> = nids.drain(..length.min(nids.len())).collect();
                let Some(primary) = its.first().copied() else { break };
                let it =
                    PeerItem { primary: Some(primary), nids: Some(its), multi_rail, replace, detail: None };
                items.push(Item { it, at: Place::default(), seq_no: SeqNo::from_c(number) });
            }
            Block::Peer(items)
        },
    )
}

fn settings() -> impl Strategy<Value = Block> {
    item(proptest::sample::subsequence(
        Setting::all_global().collect::<Vec<_>>(),
        1..Setting::all_global().count(),
    ))
    .prop_map(|Item { it, at, seq_no }| Item {
        it: it.into_iter().map(|setting| (setting, setting.spec().range().least.max(1))).collect(),
        at,
        seq_no,
    })
    .prop_map(Block::Global)
}

fn rules() -> impl Strategy<Value = Block> {
    let texts =
        ["tcp", "tcp1", "o2ib[1-3]", "tcp*", "10.0.0.[1-9/2]@tcp", "*.*.*.*@tcp", "[1,2].0.0.1@o2ib2"];
    let selector =
        move || proptest::sample::select(texts.to_vec()).prop_map(|text| text.parse::<Selector>().unwrap());
    let action = || {
        prop_oneof![
            Just(RuleAction::Suited),
            (0..256_u32).prop_map(RuleAction::Priority),
            Just(RuleAction::Priority(u32::MAX))
        ]
    };
    let shapes = (selector(), selector(), 0..4_u8, action(), of(1..9_u32), of(0..9_u32));
    let rule = shapes.prop_map(|(one, other, shape, action, messages, index)| {
        let (src, dst, rte) = match shape {
            0 => (Some(one), None, None),
            1 => (None, Some(one), None),
            2 => (Some(one), Some(other), None),
            _ => (None, Some(one), Some(other)),
        };
        UdspItem { index, src, dst, rte, action, messages }
    });
    vec(item(rule), 1..4).prop_map(Block::Udsp)
}

fn actions() -> impl Strategy<Value = [Block; 2]> {
    let target = || {
        let pid = prop_oneof![Just(Pid::LUSTRE), (0..u32::MAX).prop_map(Pid)];
        (nid(), pid).prop_map(|(nid, pid)| ProcessId { nid, pid })
    };
    let ping = (target(), of(1..=180_000_u32), of(nid())).prop_map(|(target, timeout_ms, source)| PingItem {
        target,
        timeout_ms,
        source,
    });
    let discover = (target(), any::<bool>()).prop_map(|(target, force)| DiscoverItem { target, force });
    (vec(item(ping), 1..3), vec(item(discover), 1..3))
        .prop_map(|(pings, discoveries)| [Block::Ping(pings), Block::Discover(discoveries)])
}

fn document() -> impl Strategy<Value = Document> {
    let switches = (of(any::<bool>()), proptest::array::uniform3(of(0..=i32::MAX as u32)));
    let blocks = (nets(), ip2nets(), routes(), peers(), settings(), rules(), actions(), switches);
    (blocks, any::<u16>()).prop_map(
        |((net, ip2nets, route, peer, global, udsp, [ping, discover], switches), which)| {
            let (enable, counts) = switches;
            let at = Place::default();
            let seq_no = SeqNo::NONE;
            let all = [
                Block::Statistics(Item { it: (), at, seq_no }),
                net,
                ip2nets,
                route,
                Block::Routing(Item { it: enable, at, seq_no }),
                Block::Buffers(Item { it: counts, at, seq_no }),
                peer,
                global,
                udsp,
                ping,
                discover,
            ];
            let chosen = all.into_iter().enumerate().filter(|(index, _)| which & (1 << index) != 0);
            Document { blocks: chosen.map(|(_, block)| block).collect(), ..Document::default() }
        },
    )
}

/// The document without places, which the writer chooses.
fn anywhere(mut document: Document) -> Document {
    fn forget<T>(items: &mut [Item<T>]) {
        for item in items {
            item.at = Place::default();
        }
    }
    for block in &mut document.blocks {
        match block {
            Block::Net(items) => {
                forget(items);
                for ni in items.iter_mut().flat_map(|item| &mut item.it.nis) {
                    (ni.nid, ni.at) = (None, Place::default());
                }
            }
            Block::Ip2nets(items) => forget(items),
            Block::Route(items) => forget(items),
            Block::Peer(items) => forget(items),
            Block::Routing(item) => item.at = Place::default(),
            Block::Buffers(item) => item.at = Place::default(),
            Block::Global(item) => item.at = Place::default(),
            Block::Udsp(items) => forget(items),
            Block::Statistics(item) => item.at = Place::default(),
            Block::Ping(items) => forget(items),
            Block::Discover(items) => forget(items),
        }
    }
    document
}

/// Whether another parser reads the same value. It takes digits for numbers and does not keep the order of keys.
fn same(ours: &Value, theirs: &serde_yaml::Value) -> bool {
    use serde_yaml::Value as Yaml;
    match (ours, theirs) {
        (Value::Null, Yaml::Null) => true,
        (Value::Map(entries), Yaml::Null) => entries.is_empty(),
        (Value::Int(number), Yaml::Number(other)) => other.as_i64() == Some(*number),
        (Value::Text(text), Yaml::String(other)) => text == other,
        // A name that looks like a number, `0.` or `.nan`, is one to the other parser.
        (Value::Text(text), Yaml::Number(_)) => {
            serde_yaml::from_str(text).is_ok_and(|alone: Yaml| format!("{alone:?}") == format!("{theirs:?}"))
        }
        // lnetctl writes the word in this way.
        (Value::Text(text), Yaml::Bool(other)) => text.eq_ignore_ascii_case(&other.to_string()),
        (Value::Quoted(text), Yaml::String(other)) => {
            *text == other.replace('\\', "\\\\").replace('"', "\\\"")
        }
        (Value::Seq(items), Yaml::Sequence(others)) => {
            items.len() == others.len() && items.iter().zip(others).all(|(one, other)| same(one, other))
        }
        (Value::Map(entries), Yaml::Mapping(others)) => {
            let key = |key: &Yaml| match key {
                Yaml::String(text) => text.clone(),
                Yaml::Number(number) => number.to_string(),
                _ => String::new(),
            };
            entries.len() == others.len()
                && entries
                    .iter()
                    .zip(others)
                    .all(|((name, one), (other_name, other))| *name == key(other_name) && same(one, other))
        }
        _ => false,
    }
}

#[test]
fn exports_of_lnetctl_2_15_are_read_and_written_alike() {
    let backup = include_str!("../../testdata/export-backup-2.15.8.yaml");
    let document = read(backup, Purpose::Add).unwrap();
    assert_eq!(to_value(&document).to_yaml(), backup);
    let whole = include_str!("../../testdata/export-2.15.8.yaml");
    let document = read(whole, Purpose::Add).unwrap();
    let written = to_value(&document).to_yaml();
    assert!(!written.contains("net type: lo"), "{written}");
    assert_eq!(read(&written, Purpose::Add).map(|again| to_value(&again).to_yaml()), Ok(written));
    for purpose in [Purpose::Del, Purpose::Show, Purpose::Exec] {
        assert!(read(whole, purpose).is_ok(), "{purpose:?}");
    }
}

proptest! {
    #[test]
    fn written_documents_round_trip(document in document()) {
        let text = to_value(&document).to_yaml();
        let again = read(&text, Purpose::Add);
        prop_assert!(again.is_ok(), "{:?}\n{text}", again);
        prop_assert_eq!(anywhere(again.unwrap()), document, "{}", text);
    }

    /// cfg-010: fails if what is written, whatever it holds, is not YAML to another parser.
    #[test]
    fn an_independent_parser_reads_the_same(document in document()) {
        let value = to_value(&document);
        let theirs: serde_yaml::Value = serde_yaml::from_str(&value.to_yaml()).unwrap();
        prop_assert!(same(&value, &theirs), "{}\n{:?}", value.to_yaml(), theirs);
    }

    #[test]
    fn any_text_round_trips(text in "[a-z:\\-\\[\\]{}&*!|>'\"%@`#?, \n\t0-9.~]{0,60}") {
        for purpose in [Purpose::Add, Purpose::Del, Purpose::Show, Purpose::Exec] {
            let _ = read(&text, purpose);
        }
    }
}
