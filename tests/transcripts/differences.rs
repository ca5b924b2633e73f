//! Every difference between the kernel's tool and ours, each with its reason.

use super::console::Block;

/// Why ours is different.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// What the kernel or its tool does is wrong, or harms.
    KernelBug,
    /// There is nothing in user space that it could tell of.
    KernelOnly,
    OursSaysMore,
    /// Comes with the issue of this name.
    NotYet(&'static str),
}

/// A row of the table.
#[derive(Debug)]
pub struct Difference {
    /// The commands in which it is: see [`is_at`].
    pub commands: &'static [&'static str],
    /// The lines, as `compare` writes them; `*` at an end stands for any rest.
    pub lines: &'static [&'static str],
    pub reason: Reason,
    pub words: &'static str,
}

use Reason::{KernelBug, KernelOnly, NotYet, OursSaysMore};

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
        OursSaysMore,
        &["lnetctl net", "lnetctl lnet"],
        &["out - net *", "out + net *", "out - lnet *", "out + lnet *"],
        "options of later releases: --nid, --large, --lnd-timeout",
    ),
    row(
        OursSaysMore,
        &["lnetctl set max_recovery_ping_interval 60"],
        &["exit 255 -> 161", "out - *", "err + *"],
        "a setting of a later release: it is known, and refused as not supported",
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
];

/// Whether `place` means this command in this section. `lnetctl net show` is the command wherever it is
/// recorded, `§udsp: lnetctl net show` only in sections that begin so. `*` at the end stands for any rest.
pub fn is_at(place: &str, block: &Block) -> bool {
    match place.strip_prefix('§').and_then(|place| place.split_once(": ")) {
        Some((section, command)) => block.section.starts_with(section) && matches(command, &block.command),
        None => matches(place, &block.command),
    }
}

/// Whether `pattern` means `text`.
pub fn matches(pattern: &str, text: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => text.starts_with(start),
        None => text == pattern,
    }
}
