//! The requirements, row by row. The numbers are those of the Multi-Rail requirements of LNet.

/// The priority of a requirement.
#[derive(Clone, Copy, Debug)]
pub(super) enum Class {
    Required,
    Desired,
    Nice,
}

/// The degree to which a requirement is met.
#[derive(Clone, Copy, Debug)]
pub(super) enum RequirementState {
    /// The tests that name the requirement show it.
    Shown,
    /// The tests that name the requirement show a part of it; this is the rest.
    Partly(&'static str),
    /// The requirement is not met, for this reason.
    Missing(&'static str),
    /// The requirement concerns something that does not exist here.
    NotApplicable(&'static str),
}

use Class::{Desired, Nice, Required};
use RequirementState::{Missing, NotApplicable, Partly, Shown};

/// The kinds of requirement and the last number of each. They are numbered from 005 in steps of five.
pub(super) const KINDS: [(&str, u32); 8] = [
    ("cfg", 170),
    ("snd", 85),
    ("dyn", 65),
    ("dbg", 120),
    ("hlt", 25),
    ("bck", 30),
    ("tst", 10),
    ("doc", 15),
];

pub(super) const ROWS: &[(&str, Class, &str, RequirementState)] = &[
    (
        "cfg-005",
        Required,
        "Multi-Rail is configured by the DLC interface, and by nothing else",
        Partly(
            "the environment of a process configures its node's start, as module parameters do the kernel's",
        ),
    ),
    ("cfg-010", Required, "What is asked for by DLC comes as YAML", Shown),
    ("cfg-015", Required, "Nets, interfaces and selection rules can be configured and asked for", Shown),
    ("cfg-020", Required, "A net has several interfaces, which come and go at run time", Shown),
    ("cfg-025", Required, "An interface can be bound to CPU partitions", Shown),
    (
        "cfg-030",
        Nice,
        "The binding can be changed at run time",
        Missing("the design waives it: the interface is deleted and added again"),
    ),
    ("cfg-035", Required, "Without partitions given, an interface is bound to all", Shown),
    ("cfg-040", Required, "One interface is one device, once on each net", Shown),
    ("cfg-045", Required, "This node's configuration can be asked for as YAML", Shown),
    ("cfg-050", Nice, "Selection rules can be asked for as YAML", Shown),
    ("cfg-055", Required, "Interfaces are shown under their net", Shown),
    ("cfg-060", Required, "lnetctl configures this node's interfaces on its command line", Shown),
    ("cfg-065", Required, "lnetctl configures this node's interfaces from YAML", Shown),
    ("cfg-070", Required, "NIDs of peers are added and removed, on the command line and from YAML", Shown),
    ("cfg-075", Required, "A peer has NIDs on different nets", Shown),
    ("cfg-080", Required, "A NID that another peer has is refused with an error code", Shown),
    ("cfg-085", Desired, "A peer that was not configured is discovered at first contact", Shown),
    ("cfg-090", Required, "The NUMA range can be set", Shown),
    ("cfg-095", Desired, "Selection rules have an interface for programs", Shown),
    ("cfg-100", Desired, "Selection rules are a set of rules", Shown),
    ("cfg-105", Desired, "There is one set of selection rules in a node", Shown),
    ("cfg-110", Desired, "A rule gives a net a priority", Shown),
    ("cfg-115", Desired, "A rule gives an interface a priority", Shown),
    ("cfg-120", Desired, "A rule maps an interface of this node to a NID of a peer", Shown),
    ("cfg-125", Desired, "Mappings have priorities", Shown),
    ("cfg-130", Nice, "Several interfaces are mapped to several NIDs", Shown),
    ("cfg-135", Nice, "Several interfaces are mapped to one NID", Shown),
    ("cfg-140", Nice, "One interface is mapped to several NIDs", Shown),
    ("cfg-145", Nice, "A rule has a number of messages", Shown),
    ("cfg-150", Nice, "Rules have priorities among each other, by their order", Shown),
    ("cfg-155", Nice, "A rule without priority has the highest", Shown),
    ("cfg-160", Nice, "lnetctl configures rules on its command line", Shown),
    ("cfg-165", Nice, "lnetctl configures rules from YAML", Shown),
    ("cfg-170", Required, "What was written out makes the same configuration again", Shown),
    ("snd-005", Required, "The interface is chosen by NUMA distance, then by weighted round robin", Shown),
    ("snd-010", Required, "NUMA distances are those that Linux reports", Shown),
    ("snd-015", Required, "It runs with every Linux that reports NUMA distances", Shown),
    ("snd-020", Required, "The interface nearest to the memory of the message is preferred", Shown),
    ("snd-025", Required, "All interfaces within the NUMA range count as equally near", Shown),
    ("snd-030", Required, "The interface with the most credits is preferred", Shown),
    (
        "snd-035",
        Required,
        "A peer's NID is chosen by fewest queued bytes, then by most credits",
        Partly("as in the kernel, queued bytes are compared only after `lnetctl set compare_queued_bytes 1`"),
    ),
    ("snd-040", Required, "NUMA distance has no bearing on the choice of a peer's NID", Shown),
    ("snd-045", Required, "An answer goes from the NID that was asked to the NID that asked", Shown),
    ("snd-050", Required, "A message that failed goes to another NID of the peer", Shown),
    ("snd-055", Required, "A message that failed by all paths that were tried is given up", Shown),
    ("snd-060", Required, "The interface is chosen first, then a NID of the peer on the same net", Shown),
    ("snd-065", Required, "One NID in two peers is an error", Shown),
    (
        "snd-070",
        Desired,
        "An answer names its source, and leaves by another interface if that one fails",
        Shown,
    ),
    ("snd-075", Desired, "A request may leave by any interface", Shown),
    ("snd-080", Desired, "A failure that the driver detects changes the interface's status", Shown),
    ("snd-085", Desired, "What is queued for an interface that fails is queued for another", Shown),
    ("dyn-005", Desired, "A node sends others its NIDs by a PUT, the push", Shown),
    (
        "dyn-010",
        Desired,
        "A push to a node that is not multi-rail is dropped without an answer",
        NotApplicable(
            "what a node from before Multi-Rail does; this node pushes to none of them, and answers none itself",
        ),
    ),
    ("dyn-015", Desired, "A push has the node's interfaces", Shown),
    ("dyn-020", Desired, "A peer is pinged for its interfaces at first contact", Shown),
    ("dyn-025", Desired, "A ping is answered with the interfaces that are configured", Shown),
    ("dyn-030", Desired, "Answers to pings, and pushes, say that the node is multi-rail", Shown),
    ("dyn-035", Desired, "A peer that is found to be multi-rail is pushed to", Shown),
    ("dyn-040", Desired, "The NIDs of an answer or a push become those of one peer", Shown),
    ("dyn-045", Desired, "Multi-rail peers are told of interfaces that come or go", Shown),
    ("dyn-050", Nice, "Multi-rail peers are told of interfaces that fail or work again", Shown),
    ("dyn-055", Desired, "Who contacts another discovers it; who is contacted does not", Shown),
    ("dyn-060", Desired, "What differs from what is known of a peer is reported", Shown),
    ("dyn-065", Nice, "A peer that answers with another's NIDs is noticed", Shown),
    ("dbg-005", Required, "Statistics are shown by DLC as YAML", Shown),
    ("dbg-010", Required, "Messages sent are counted for each interface", Shown),
    ("dbg-015", Required, "Messages received are counted for each interface", Shown),
    ("dbg-020", Required, "Timeouts are counted for each interface, and logged", Shown),
    ("dbg-025", Required, "Dropped messages are counted, and logged", Shown),
    ("dbg-030", Desired, "Interfaces are active, degraded or failed", Shown),
    (
        "dbg-035",
        Required,
        "Credits, counters, time-outs, state and partitions of an interface can be asked for",
        Shown,
    ),
    ("dbg-040", Required, "Interfaces can be asked for one after the other", Shown),
    ("dbg-045", Required, "The node as a whole has statistics", Shown),
    ("dbg-050", Required, "Messages sent are counted for each NID of a peer", Shown),
    ("dbg-055", Required, "Messages received are counted for each NID of a peer", Shown),
    ("dbg-060", Required, "Credits, queue and counters of a peer's NID can be asked for", Shown),
    ("dbg-065", Required, "Peers can be asked for one after the other, each by any of its NIDs", Shown),
    ("dbg-070", Nice, "How busy a peer's NID is can be asked for", Shown),
    ("dbg-075", Nice, "How busy an interface is can be asked for", Shown),
    ("dbg-080", Required, "DLC has a call for everything that a node reports", Shown),
    ("dbg-085", Desired, "Counters are summed over the interfaces of a net", Shown),
    ("dbg-090", Desired, "Counters are summed over the NIDs of a peer", Shown),
    ("dbg-095", Required, "All interfaces can be asked for at once, with their statistics", Shown),
    (
        "dbg-100",
        Required,
        "All peers can be asked for with their statistics, at most so many at once",
        Partly(
            "in Rust (`lnet_dlc::ops::peer::page`) and in `lnetctl top`; the C call `lustre_lnet_show_peer` has no such argument in any release, and shows all",
        ),
    ),
    (
        "dbg-105",
        Nice,
        "The rate of an interface can be asked for",
        Partly(
            "in Rust (`lnet_dlc::ops::sample`), `lnetctl top` and `lnetctl stats rate`; no release of liblnetconfig has such a C call",
        ),
    ),
    ("dbg-110", Required, "A change of an interface's state is logged as an error", Shown),
    ("dbg-115", Required, "A send that failed is logged with the path taken instead", Shown),
    ("dbg-120", Required, "Statistics can be set to zero", Shown),
    ("hlt-005", Desired, "The failure of a device is detected", Shown),
    ("hlt-010", Desired, "It is reported to the core", Shown),
    (
        "hlt-015",
        Nice,
        "The degradation of a device is detected",
        Missing(
            "Linux reports no degraded Ethernet device, and the design expects no such notice; what is slow shows in credits and health",
        ),
    ),
    ("hlt-020", Nice, "It is reported to the core", Missing("there is nothing to report, see hlt-015")),
    ("hlt-025", Nice, "What the driver reports becomes the status of the interface", Shown),
    (
        "bck-005",
        Required,
        "lnetctl with a Multi-Rail configuration works with a Multi-Rail LNet only",
        Partly("shown with a model of such a node; lnetctl reaches no kernel's LNet"),
    ),
    (
        "bck-010",
        Nice,
        "A Multi-Rail configuration fails gracefully before an LNet that is not multi-rail",
        Partly("shown with a model of such a node; lnetctl reaches no kernel's LNet"),
    ),
    (
        "bck-015",
        Nice,
        "A configuration without Multi-Rail takes effect in an LNet that is not multi-rail",
        Partly("with nodes of this library that have LNET_MULTI_RAIL=0; lnetctl reaches no kernel's LNet"),
    ),
    (
        "bck-020",
        Nice,
        "Configurations, and tools, from before Multi-Rail work with this LNet",
        Partly(
            "files from before Multi-Rail; a tool from before it asks a kernel by IOCTLs, which no library in user space hears",
        ),
    ),
    ("bck-025", Required, "Nodes that are multi-rail and nodes that are not talk to each other", Shown),
    ("bck-030", Desired, "A node that is, or becomes, multi-rail is discovered as such", Shown),
    (
        "tst-005",
        Required,
        "The acceptance tests of Lustre show no regression",
        NotApplicable(
            "they test a file system and kernel modules, which this library is no part of; its own tests are `make test`",
        ),
    ),
    (
        "tst-010",
        Desired,
        "The acceptance tests of Lustre test Multi-Rail",
        NotApplicable("a change of Lustre's tests, not of this library; here every row of this table is one"),
    ),
    (
        "doc-005",
        Required,
        "Configuration and behaviour are documented in the manual",
        Partly("in the guides in docs/ and the manual pages; the Lustre Manual is another project's"),
    ),
    ("doc-010", Required, "There are manual pages for the commands", Shown),
    ("doc-015", Required, "The DLC calls are documented", Shown),
];
