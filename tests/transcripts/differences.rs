//! Every difference between the kernel's tool and lnetctl of this project, each with its reason.

use super::compare::matches;
use super::console::Block;

/// The reason why our output differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The kernel or its tool has a bug, or does harm.
    KernelBug,
    /// The kernel shows something that does not exist in user space.
    KernelOnly,
    OursSaysMore,
    OursTakesMore,
    /// The command could not be carried out on the recorded machine.
    OtherMachine,
    /// The difference follows from those of other rows.
    Follows,
    /// Comes with the issue of this name.
    NotYet(&'static str),
}

/// A row of the table.
#[derive(Debug)]
pub struct Difference {
    /// The commands that have the difference: see [`is_at`].
    pub commands: &'static [&'static str],
    /// The lines that differ, in the form of `compare::is_meant`.
    pub lines: &'static [&'static str],
    pub reason: Reason,
    pub words: &'static str,
}

use Reason::{Follows, KernelBug, KernelOnly, NotYet, OtherMachine, OursSaysMore, OursTakesMore};

const fn row(
    reason: Reason,
    commands: &'static [&'static str],
    lines: &'static [&'static str],
    words: &'static str,
) -> Difference {
    Difference { commands, lines, reason, words }
}

pub const DIFFERENCES: &[Difference] = &[
    row(KernelOnly, &["lctl *"], &["not run"], "lctl is the kernel's; nothing in user space is told by it"),
    // Options and words.
    row(
        OursSaysMore,
        &["lnetctl --version"],
        &["exit 255 -> 0", "out *"],
        "the kernel's tool does not tell its version",
    ),
    row(
        OursTakesMore,
        &["lnetctl bogus", "lnetctl stats bogus"],
        &[
            "out + apply",
            "out + convert",
            "out + doctor",
            "out + cluster",
            "out + events",
            "out + exporter",
            "out + fault",
            "out + program",
            "out + report",
            "out + top",
            "out + tunables",
            "out + rate",
        ],
        "most are ours, and 'fault' is of a later release",
    ),
    row(
        OursTakesMore,
        &["lnetctl ping --help"],
        &["out - ping *", "out + ping *"],
        "--networks: without a daemon the command has a node of its own on these nets",
    ),
    row(
        OursTakesMore,
        &["lnetctl ping 10.99.0.[11-12]@tcp"],
        &["exit 255 -> 0", "out + ping:...", "err - manage:..."],
        "ranges of NIDs, as in a later release",
    ),
    row(
        OursTakesMore,
        &["lnetctl debug peer --nid 10.99.0.12@tcp"],
        &["exit 255 -> 0", "out - (words)", "out - recovery", "out + peer:..."],
        "a command of a later release, which writes to the kernel's log",
    ),
    row(
        OursTakesMore,
        &["lnetctl debug nidlist", "lnetctl debug bogus"],
        &["out + peer"],
        "a command of a later release",
    ),
    row(
        OursTakesMore,
        &["lnetctl --list-commands"],
        &["out - *", "out + *"],
        "the columns hold more commands; `lnetctl bogus` lists the same, one a line",
    ),
    row(
        OursSaysMore,
        &["lnetctl net", "lnetctl lnet"],
        &["out - net *", "out + net *", "out - lnet *", "out + lnet *"],
        "options of later releases: --nid, --tos, --large, --lnd-timeout",
    ),
    row(
        OursTakesMore,
        &["lnetctl set max_recovery_ping_interval 60"],
        &["exit 255 -> 0", "out - *"],
        "a setting of a later release",
    ),
    row(
        OursTakesMore,
        &[
            "lnetctl set",
            "lnetctl set bogus 1",
            "lnetctl set max_intf 100",
            "lnetctl set lnd_timeout 10",
            "lnetctl global show",
            "lnetctl export",
            "lnetctl export --backup",
        ],
        &["out + set LATER_SETTING", "out + LATER_SETTING", "out + LATER_SETTING: *"],
        "settings of a later release and of this library",
    ),
    row(
        KernelBug,
        &[
            "lnetctl net add --net tcp --if",
            "lnetctl net add --bogus 1",
            "lnetctl net show --net",
            "lnetctl ping --bogus",
            "lnetctl import --bogus",
        ],
        &[
            "exit 0 -> 255",
            "out - (help)",
            "out - net add *",
            "out - net show *",
            "err - (message)",
            "err + parser:",
            "err + - *",
            "err + errno: -1",
        ],
        "an option that cannot be read is passed over, and success is reported",
    ),
    row(
        KernelBug,
        &[
            "lnetctl net add --net tcp7 --if eth1 --cpt bogus",
            "lnetctl net show -v abc",
            "lnetctl route add --net tcp3 --gateway 10.99.0.12@tcp --hop abc",
            "lnetctl udsp del --idx abc",
        ],
        &["exit 0 -> 255", "out - *", "err + parser:", "err + - *", "err + errno: -1"],
        "a value that cannot be read counts as not given",
    ),
    row(
        KernelBug,
        &["lnetctl net add --net tcp2 --if eth0 --peer-credits abc"],
        &["exit 239 -> 255", "err - *", "err + *"],
        "a value that cannot be read counts as not given",
    ),
    row(
        KernelBug,
        &[
            "lnetctl net add --net tcp2 --if eth0 --peer-credits -5",
            "lnetctl net set --nid 10.99.0.11@tcp --health 5000",
            "lnetctl net set --nid 10.99.0.11@tcp --health -1",
            "lnetctl peer set --nid 10.99.0.50@tcp --health 2000",
            "lnetctl route add --net tcp3 --gateway 10.99.0.12@tcp --priority -1",
            "lnetctl udsp add --src tcp --priority -1",
        ],
        &["exit 0 -> 255", "err + parser:", "err + - *", "err + errno: -1"],
        "a number out of its range counts as not given, or as another one",
    ),
    row(
        KernelBug,
        &[
            "lnetctl set max_interfaces 2",
            "lnetctl set discovery -1",
            "lnetctl set drop_asym_route 3",
            "lnetctl set numa_range -1",
        ],
        &["exit 0 -> 251", "exit 0 -> 253", "err + add:..."],
        "a number out of its range becomes another one",
    ),
    row(
        KernelBug,
        &[
            "lnetctl net set --nid 10.99.0.77@tcp --health 500",
            "lnetctl net set --nid bogus --health 500",
            "lnetctl peer set --nid 10.99.0.250@tcp --health 900",
        ],
        &["exit 0 -> 254", "exit 0 -> 255", "err + add:..."],
        "a NID that is not there, or is none, is passed over, and success is reported",
    ),
    row(
        KernelBug,
        &["lnetctl peer del"],
        &["out - peer add *", "out + peer del *"],
        "the help of another command is shown",
    ),
    row(
        KernelBug,
        &["lnetctl ping", "lnetctl discover"],
        &["exit 0 -> 255", "out + *"],
        "without a NID nothing is done, and success is reported",
    ),
    // No node.
    row(
        OursSaysMore,
        &[
            "lnetctl net show",
            "lnetctl peer show",
            "lnetctl peer list",
            "lnetctl route show",
            "lnetctl routing show",
            "lnetctl global show",
            "lnetctl stats show",
            "lnetctl export",
            "lnetctl ping 10.99.0.12@tcp",
            "lnetctl discover 10.99.0.12@tcp",
            "lnetctl net add --net tcp --if eth0",
            "lnetctl udsp show",
        ],
        &["err + (message)"],
        "without a node it says how to start one",
    ),
    row(
        KernelOnly,
        &["lnetctl set discovery 1"],
        &["exit 0 -> 156", "err + (message)", "err + add:", "err + - discovery:", "err + errno: -100"],
        "settings belong to the modules, which are loaded before LNet is up; here they belong to the node",
    ),
    row(
        KernelOnly,
        &["§Before: lnetctl export"],
        &["exit 0 -> 156", "out - global:...", "err - show:...", "err - - global:..."],
        "settings belong to the modules, which are loaded before LNet is up; here they belong to the node",
    ),
    row(
        OursSaysMore,
        &["lnetctl stats show"],
        &[
            "out + partial_count: #",
            "out + partial_dropped_count: #",
            "out + origin_refused_count: #",
            "out + cut_through_count: #",
            "out + cut_through_length: #",
            "out + cut_through_abandoned_count: #",
            "out + resend_succeeded_count: #",
            "out + resend_failed_count: #",
        ],
        "messages that have arrived in part, origins that were refused, messages that are sent on while they arrive, and how resent messages \
         ended: what the recorded kernel does not have",
    ),
    row(
        OursTakesMore,
        &["lnetctl export", "lnetctl export --backup", "lnetctl global show"],
        &["out - max_interfaces: 200", "out + max_interfaces: 4096"],
        "a peer may have as many interfaces as after 2.17.0",
    ),
    // Nets.
    row(
        OtherMachine,
        &["lnetctl net add --net o2ib --if eth1"],
        &["exit 234 -> 255", "err - errno: -22", "err + errno: -1"],
        "the recorded machine has no driver for the net; where there is one it finds no RDMA device",
    ),
    row(
        OursTakesMore,
        &["lnetctl net add --net tcp5 --if lo"],
        &["exit 156 -> 0", "err - add:..."],
        "a net on the loopback device, for nodes on one machine",
    ),
    row(
        OursSaysMore,
        &["lnetctl net add --ip2net \"tcp10(eth0) 192.168.*.*\""],
        &["err + - ip2nets:..."],
        "which rule it was",
    ),
    row(
        OursSaysMore,
        &["lnetctl net show -v 9"],
        &[
            "out + available_tx_credits: *",
            "out + min_tx_credits: #",
            "out + lengths:",
            "out + send_length: #",
            "out + recv_length: #",
            "out + drop_length: #",
            "out + heat:",
            "out + messages: *",
            "out + bytes: *",
            "out + ni state: *",
            "out + net state: *",
            "out + net statistics:...",
        ],
        "credits in use, bytes, heat, states and sums over the interfaces of a net, above the kernel's highest level",
    ),
    row(
        KernelOnly,
        &["§udsp: lnetctl net show -v 4", "§udsp: lnetctl export"],
        &["out - health value: 1000", "out + health value: 0"],
        "`net set --all` gives the loopback a health; it has none here, as it had none there before",
    ),
    // Peers.
    row(
        KernelOnly,
        &["§ping: lnetctl peer show"],
        &["out - - primary nid: 0@lo..."],
        "there the loopback is a peer as soon as it is used",
    ),
    row(
        KernelOnly,
        &[
            "§peer show: lnetctl peer show",
            "§peer show: lnetctl peer show -v",
            "§peer show: lnetctl peer show -v 2",
            "§peer show: lnetctl peer show -v 4",
        ],
        &["out - - nid: 0@lo..."],
        "there the loopback is a NID of this node as a peer",
    ),
    row(
        OtherMachine,
        &["§import: lnetctl peer show"],
        &["out - Multi-Rail: True", "out + Multi-Rail: False", "out - - nid: 10.99.1.12@tcp..."],
        "gateways are checked there, and not here, where most of them do not exist: see `scene`",
    ),
    row(
        NotYet("Multi-Rail"),
        &["§peer show: lnetctl peer show -v 4"],
        &["out - Preferred source NIDs:..."],
        "a peer that is not multi-rail keeps to the source NID that was used first",
    ),
    row(
        NotYet("Multi-Rail"),
        &["§udsp: lnetctl peer show -v 4"],
        &["out - Preferred source NIDs:...", "out + NID-1: 10.99.1.11@tcp"],
        "a peer that is not multi-rail keeps to the source NID that was used first",
    ),
    row(
        KernelBug,
        &["§udsp: lnetctl peer show -v 4"],
        &["out - NID-0: 8088ffff@*", "out + NID-0: 10.99.0.11@tcp"],
        "memory is shown that is no NID",
    ),
    row(
        KernelBug,
        &[
            "lnetctl peer add --prim_nid 10.99.0.70@tcp --nid bogus",
            "lnetctl route add --net tcp4 --gateway bogus",
            "lnetctl route del --net tcp1 --gateway bogus",
        ],
        &["err - (message)"],
        "a line outside of the error block, which is no YAML",
    ),
    // Routes and routing.
    row(
        KernelOnly,
        &[
            "§routes: lnetctl route show",
            "§routes: lnetctl route show -v",
            "§routes: lnetctl route show -v 2",
            "§routes: lnetctl export --backup",
        ],
        &[
            "out - gateway: 10.99.0.40@tcp",
            "out + gateway: 10.99.0.40@tcp",
            "out - gateway: 10.99.0.41@tcp",
            "out + gateway: 10.99.0.41@tcp",
            "out - - net: tcp5",
            "out + - net: tcp5",
        ],
        "the kernel puts the gateways of a net in an order by chance",
    ),
    row(
        OursSaysMore,
        &["§udsp: lnetctl export"],
        &["out - state: up", "out + state: down"],
        "the gateway has said before its route was added that it does not forward",
    ),
    row(
        OtherMachine,
        &["lnetctl set routing 1"],
        &["exit 244 -> 0", "err - add:..."],
        "it had too little memory for a router's buffers",
    ),
    row(
        OtherMachine,
        &["§routes: lnetctl routing show"],
        &["out + routing:...", "out + buffers:..."],
        "it had too little memory for a router's buffers",
    ),
    row(
        KernelBug,
        &["§routes: lnetctl export --backup", "§udsp: lnetctl export --backup"],
        &["out - - primary nid: *..."],
        "peers that a ping made up, which an import would make configured ones",
    ),
    // Recovery, rules.
    row(
        OtherMachine,
        &["§stats: lnetctl debug recovery --local"],
        &["out - local NI recovery:..."],
        "there an interface had just been blamed for pings to a host that is not there",
    ),
    row(
        KernelBug,
        &["lnetctl udsp show --idx 1"],
        &["exit 134 -> 0", "out + udsp:...", "err - (message)"],
        "the tool frees memory twice",
    ),
    row(
        OursSaysMore,
        &["§udsp: lnetctl net show -v 4", "§udsp: lnetctl peer show -v 4"],
        &["out + net rule: *", "out + nid rule: *", "out + Preferred source rules: *"],
        "the rule behind each value",
    ),
    row(
        KernelBug,
        &["§udsp: lnetctl peer show -v 4"],
        &["out + Preferred source NIDs:..."],
        "the priority of a rule about a pair has no effect there",
    ),
    row(
        KernelBug,
        &["lnetctl udsp del --idx 77"],
        &["exit 0 -> 254", "err + del:..."],
        "a rule that is not there is deleted without an error",
    ),
    row(
        KernelBug,
        &["lnetctl udsp del"],
        &["exit 0 -> 255", "out + (help)", "out + udsp del *"],
        "without an index the first rule is deleted",
    ),
    row(
        OursTakesMore,
        &["lnetctl udsp del --all"],
        &["out - (help)", "out - udsp add *", "err - (message)"],
        "an option of a later release",
    ),
    // Files.
    row(
        Follows,
        &["cat /tmp/exp.yaml | wc -l", "lnetctl export > /tmp/exp2.yaml*"],
        &["out *"],
        "how long the files are",
    ),
    row(
        OursSaysMore,
        &["lnetctl export /nosuchdir/x.yaml"],
        &["err + yaml:..."],
        "why the file is not written",
    ),
    row(
        KernelBug,
        &["lnetctl import /nosuch.yaml"],
        &["err - - builder:..."],
        "the same error is told twice, once for each pass",
    ),
    row(
        KernelBug,
        &["printf 'net:\\n\\t- net type: tcp\\n' | lnetctl import"],
        &["exit 143 -> 255", "err - (message)", "err + yaml:..."],
        "the tool does not end",
    ),
    row(
        KernelBug,
        &["printf 'bogus:\\n    - x: 1\\n' | lnetctl import"],
        &["exit 0 -> 255", "err + yaml:..."],
        "a block that is not known is passed over, and success is reported",
    ),
    row(
        KernelBug,
        &["printf 'udsp:\\n    - idx: 0\\n*"],
        &["exit 255 -> 0", "err - add:..."],
        "NA, which it exports, is taken for a value",
    ),
    row(
        KernelBug,
        &["lnetctl import --add < /tmp/exp3.yaml"],
        &["exit 239 -> 0", "err - add:..."],
        "what is there already as in the file is an error, and what went well stands among the errors",
    ),
    // Faults.
    row(
        KernelOnly,
        &["time -p lnetctl ping 10.99.0.12@tcp"],
        &["exit 255 -> 0", "out + ping:...", "err - manage:..."],
        "lctl has delayed the message",
    ),
];

/// Whether `place` means this command in this section. `lnetctl net show` means the command wherever it is
/// recorded, `§udsp: lnetctl net show` only in sections that begin with that. `*` at the end stands for any rest.
pub fn is_at(place: &str, block: &Block) -> bool {
    match place.strip_prefix('§').and_then(|place| place.split_once(": ")) {
        Some((section, command)) => block.section.starts_with(section) && matches(command, &block.command),
        None => matches(place, &block.command),
    }
}
