//! The kinds of mappings of files of configuration, and the values that their keys take.

use crate::ranges::{
    CONNS_PER_PEER, CREDITS, DETAIL, HOPS, PEER_BUFFER_CREDITS, PEER_CREDITS, PEER_TIMEOUT, PING_TIMEOUT_MS,
    ROUTE_PRIORITY, ROUTE_SENSITIVITY, ROUTER_BUFFERS, RULE_INDEX, RULE_MESSAGES, RULE_PRIORITY, Range,
    SEQ_NO,
};
use crate::request::LND_NUMBERS;

/// A kind of mapping.
pub(super) struct Section {
    /// The name of the section in the schema.
    pub(super) name: &'static str,
    /// The top-level key of the block that it is in; empty: any.
    pub(super) block: &'static str,
    /// The name that messages have for it.
    pub(super) section: &'static str,
    /// Whether it is the item of its block.
    pub(super) is_item: bool,
    /// Keys that it must have.
    pub(super) required: &'static [&'static str],
    /// A pattern of further keys, and what they are.
    pub(super) pattern: Option<(&'static str, &'static str)>,
    /// The key without which there are no keys of the pattern.
    pub(super) pattern_needs: Option<&'static str>,
    /// A key, and one that is not read beside it.
    pub(super) excludes: Option<(&'static str, &'static str)>,
    /// Keys of numbers that are listed elsewhere.
    pub(super) numbers: Option<ListNumbers>,
}

/// A function that lists numbers: their ranges, which have their keys, and sentences about them.
pub(super) type ListNumbers = fn() -> Vec<(Range, String)>;

/// A kind of value.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// Any value, also none.
    Any,
    /// Text.
    Text,
    /// A whole number.
    Number(Range),
    /// 0 or 1, true or false.
    Flag,
    /// True or False, in upper or lower case.
    Truth,
    /// CPU partitions.
    Cpts,
    /// A net, a NID with ranges, or nothing.
    Selector,
    /// One of these words.
    Words(&'static [&'static str]),
    /// A mapping.
    Mapping(&'static str),
    /// A mapping, or a sequence of them.
    Items(&'static str),
    /// A mapping or text, or a sequence of these.
    TextsOrItems(&'static str),
    /// Text, a sequence of texts, or texts behind labels.
    Texts,
    /// Names of interfaces, with or without labels, or mappings with `intf`.
    Interfaces,
    /// The action of a selection rule.
    Action,
}

/// The value of a key.
pub(super) struct Row {
    /// The names of the sections that have the key.
    pub(super) sections: &'static [&'static str],
    pub(super) key: &'static str,
    pub(super) kind: Kind,
    /// One sentence without its full stop.
    pub(super) about: &'static str,
}

/// The blocks, with a sentence for each.
pub(super) const BLOCKS: &[(&str, &str)] = &[
    ("net", "Nets, and the interfaces by which the node is on them."),
    ("ip2nets", "Nets of a node by the addresses of its interfaces: one file for many nodes."),
    ("route", "Routes to nets that other nodes are on."),
    ("routing", "Whether the node forwards messages for others."),
    ("buffers", "The buffers for forwarding."),
    ("peer", "Peers with several interfaces, where discovery does not find them."),
    ("global", "Settings of the whole node."),
    ("numa", "The range of NUMA distances, as before 2.11."),
    ("udsp", "Rules of selection: which interfaces, peers and gateways are preferred."),
    ("selection", "Rules of selection, in the form of the design document."),
    ("statistics", "Counters, which can only be shown."),
    ("ping", "Pings, which `lnetctl import --exec` carries out."),
    ("discover", "Discoveries, which `lnetctl import --exec` carries out."),
];

const fn section(name: &'static str, block: &'static str, section: &'static str) -> Section {
    let is_item = !block.is_empty();
    Section {
        name,
        block,
        section,
        is_item,
        required: &[],
        pattern: None,
        pattern_needs: None,
        excludes: None,
        numbers: None,
    }
}

const fn inner(name: &'static str, block: &'static str, called: &'static str) -> Section {
    Section { is_item: false, ..section(name, block, called) }
}

/// The kinds of mappings.
pub(super) const SECTIONS: &[Section] = &[
    section("net", "net", "a net"),
    inner("ni", "net", "an NI"),
    inner("interface", "net", "an interface"),
    Section { numbers: Some(ni_numbers), ..inner("tunables", "", "tunables") },
    Section { numbers: Some(lnd_numbers), ..inner("lnd-tunables", "", "lnd tunables") },
    inner("smp", "", "SMP"),
    Section { excludes: Some(("net-spec", "net")), ..section("ip2nets", "ip2nets", "a rule of ip2nets") },
    Section { required: &["net", "gateway"], ..section("route", "route", "a route") },
    Section { pattern: Some(("^cpt\\[", CPT_OUTPUT)), ..section("routing", "routing", "routing") },
    section("buffers", "buffers", "buffers"),
    Section {
        pattern: Some(("^[0-9]+$", "A NID of the complete list.")),
        pattern_needs: Some("nids"),
        ..section("peer", "peer", "a peer")
    },
    Section { required: &["nid"], ..inner("peer-ni", "peer", "a peer NI") },
    section("global", "global", "global"),
    section("numa", "numa", "global"),
    section("rule", "udsp", "a selection rule"),
    inner("action", "", "action"),
    Section { excludes: Some(("id", "idx")), ..section("drafted-rule", "selection", "a selection rule") },
    Section { required: &["primary nid"], ..section("ping", "ping", "a ping") },
    Section { required: &["primary nid"], ..section("discovery", "discover", "a discovery") },
];

const CPT_OUTPUT: &str = "The buffers of one CPU partition: accepted, without effect.";

fn ni_numbers() -> Vec<(Range, String)> {
    let about = |about: &str| about.to_owned();
    vec![
        (PEER_TIMEOUT, about("Seconds without a message after which a peer counts as down; 0: the default")),
        (PEER_CREDITS, about("Messages in flight to one peer NI; 0: the default")),
        (PEER_BUFFER_CREDITS, about("Router buffers that one peer may occupy; 0: as many as peer_credits")),
        (CREDITS, about("Messages in flight on an interface; 0: the default")),
    ]
}

fn lnd_numbers() -> Vec<(Range, String)> {
    let conns =
        "Bulk connections in each direction to one peer NI; 0: as many as the speed of the link asks for"
            .to_owned();
    let numbers = LND_NUMBERS.iter().map(|row| (row.range, row.about.to_owned()));
    std::iter::once((CONNS_PER_PEER, conns)).chain(numbers).collect()
}

const ALL_ITEMS: &[&str] = &[
    "net",
    "ip2nets",
    "route",
    "routing",
    "buffers",
    "peer",
    "global",
    "numa",
    "rule",
    "drafted-rule",
    "ping",
    "discovery",
];
const TUNED: &[&str] = &["net", "ni", "interface", "ip2nets"];

const fn row(sections: &'static [&'static str], key: &'static str, kind: Kind, about: &'static str) -> Row {
    Row { sections, key, kind, about }
}

/// The keys of all sections.
pub(super) const ROWS: &[Row] = &[
    row(ALL_ITEMS, "seq_no", Kind::Number(SEQ_NO), "A number that errors of the item carry"),
    row(&["net"], "net type", Kind::Text, "The net, such as tcp or o2ib1"),
    row(&["net"], "net", Kind::Text, "The net, as before 2.10: `net type` is the key of today"),
    row(&["net"], "local NI(s)", Kind::Items("ni"), "The interfaces of the node on the net"),
    row(&["net"], "interfaces", Kind::Interfaces, "Interfaces, as before 2.10: below `local NI(s)` today"),
    row(
        &["ni"],
        "interfaces",
        Kind::Interfaces,
        "The name of the interface behind a label, such as `0: eth0`",
    ),
    row(
        &["ni"],
        "nid",
        Kind::Text,
        "The NID: if it has an IPv6 address, the address that the NI has; else output",
    ),
    row(&["net"], "intf", Kind::Interfaces, "Interfaces, in the form of the design document"),
    row(&["interface"], "intf", Kind::Interfaces, "The name of the interface"),
    row(&["net"], "pattern", Kind::Text, "Addresses of the nodes that have the net: a rule of `ip2nets`"),
    row(
        &["net"],
        "ip2net",
        Kind::Text,
        "A rule in the form of the module parameter ip2nets, such as tcp(eth0) 192.0.2.*",
    ),
    row(TUNED, "tunables", Kind::Mapping("tunables"), "Credits and time-outs"),
    row(
        &["net", "ni", "interface", "ip2nets", "tunables"],
        "lnd tunables",
        Kind::Mapping("lnd-tunables"),
        "Tunables of the driver",
    ),
    row(
        &["net", "ni", "interface", "ip2nets", "tunables", "smp"],
        "CPT",
        Kind::Cpts,
        "CPU partitions, such as \"[0,1]\" in quotes",
    ),
    row(
        &["net", "ni", "interface", "ip2nets", "tunables"],
        "SMP",
        Kind::Mapping("smp"),
        "CPU partitions, as in the Lustre manual",
    ),
    row(
        &["net", "ni", "interface", "route", "peer"],
        "detail",
        Kind::Number(DETAIL),
        "The level of detail of what `import --show` shows",
    ),
    row(&["ip2nets"], "net-spec", Kind::Text, "The net, such as tcp or o2ib1"),
    row(&["ip2nets"], "net", Kind::Text, "Another name of `net-spec`"),
    row(&["ip2nets"], "interfaces", Kind::Texts, "Interfaces behind labels, such as `0: eth0`"),
    row(
        &["ip2nets"],
        "ip-range",
        Kind::Texts,
        "Ranges of addresses behind labels, such as `0: 192.0.2.[1-99]`",
    ),
    row(&["route"], "net", Kind::Text, "The remote net, such as tcp7"),
    row(&["route"], "gateway", Kind::Text, "The NID of the router"),
    row(
        &["route"],
        "hop",
        Kind::Number(Range { least: -1, ..HOPS }),
        "The number of routers on the way; -1: not said",
    ),
    row(&["route"], "priority", Kind::Number(ROUTE_PRIORITY), "0 is the best"),
    row(
        &["route"],
        "health_sensitivity",
        Kind::Number(ROUTE_SENSITIVITY),
        "What a failure takes from the health of the gateway",
    ),
    row(&["routing"], "enable", Kind::Flag, "Whether the node forwards messages for others"),
    row(
        &["routing", "buffers"],
        "tiny",
        Kind::Number(ROUTER_BUFFERS),
        "Buffers for messages without data; 0: the default",
    ),
    row(
        &["routing", "buffers"],
        "small",
        Kind::Number(ROUTER_BUFFERS),
        "Buffers of one page; 0: the default",
    ),
    row(&["routing", "buffers"], "large", Kind::Number(ROUTER_BUFFERS), "Buffers of 1 MiB; 0: the default"),
    row(&["peer"], "primary nid", Kind::Text, "The NID by which the peer is known"),
    row(&["peer"], "Multi-Rail", Kind::Truth, "Whether the peer uses several NIDs at once"),
    row(&["peer"], "non_mr", Kind::Any, "The peer uses one NID, as in 2.10: `Multi-Rail: False` today"),
    row(&["peer"], "peer ni", Kind::TextsOrItems("peer-ni"), "The NIDs of the peer"),
    row(&["peer"], "ip2nets", Kind::TextsOrItems("peer-ni"), "The NIDs of the peer, the primary one first"),
    row(&["peer"], "nids", Kind::Any, "The complete list of NIDs, the primary one first"),
    row(&["peer", "peer-ni"], "nid", Kind::Text, "A NID, or several such as 192.0.2.[1-4]@tcp"),
    row(&["rule"], "idx", Kind::Number(RULE_INDEX), "The place among the rules, from 0 on"),
    row(&["rule"], "src", Kind::Selector, "Interfaces of this node: a net or NIDs"),
    row(&["rule"], "dst", Kind::Selector, "Interfaces of peers: a net or NIDs"),
    row(&["rule"], "rte", Kind::Selector, "Gateways: NIDs"),
    row(
        &["rule", "drafted-rule", "action"],
        "priority",
        Kind::Number(RULE_PRIORITY),
        "The priority of what the rule names; 0 is the best",
    ),
    row(&["rule", "drafted-rule", "action"], "messages", Kind::Number(RULE_MESSAGES), "Messages of one turn"),
    row(&["rule", "drafted-rule"], "action", Kind::Action, "A priority, or a preferred list"),
    row(&["drafted-rule"], "type", Kind::Words(&["net", "nid", "peer"]), "The kind of rule"),
    row(&["drafted-rule"], "id", Kind::Number(RULE_INDEX), "The place among the rules"),
    row(&["drafted-rule"], "idx", Kind::Number(RULE_INDEX), "The place among the rules"),
    row(&["drafted-rule"], "net", Kind::Selector, "Nets"),
    row(&["drafted-rule"], "nid", Kind::Selector, "NIDs of this node or of peers"),
    row(&["drafted-rule"], "local", Kind::Selector, "NIDs of this node"),
    row(&["drafted-rule"], "remote", Kind::Selector, "NIDs of peers"),
    row(&["ping", "discovery"], "primary nid", Kind::Text, "NIDs with commas between"),
    row(&["ping"], "timeout", Kind::Number(PING_TIMEOUT_MS), "Milliseconds"),
    row(&["ping"], "source_nid", Kind::Text, "The NID of this node from which the ping goes"),
    row(&["discovery"], "force", Kind::Flag, "Whether known peers are discovered again"),
];
