//! The commands that are run between recorded ones and are not on the record.

/// The place among the recorded commands.
#[derive(Clone, Copy, Debug)]
pub enum When {
    /// The commands are run before the first command of this section.
    Section(&'static str),
    /// The commands are run before this command, as in the table of differences.
    Before(&'static str),
    /// The commands are run after this command.
    After(&'static str),
    /// The commands, but for the last, are run before this command, which only shows something. The last is a condition that has to hold
    /// afterwards; else all are run again.
    Around(&'static str),
}

use When::{After, Around, Before, Section};

/// The health that a command has just set rises with time.
const HALF_HEALTH: &[&str] = &[
    "lnetctl net set --nid 10.99.0.11@tcp --health 500",
    "lnetctl net show --net tcp -v 3 | grep -q 'health value: 500'",
];

/// An interface whose health is low, as it was on the kernel's node. It rises with time.
const LOW_HEALTH: &[&str] = &[
    "lnetctl net set --nid 10.99.1.11@tcp --health 600",
    "lnetctl net show --net tcp -v 3 | grep -q 'health value: 600'",
];

/// The staging: the place, the commands, and the reason.
pub const STAGING: &[(When, &[&str], &str)] = &[
    (
        After("lnetctl net add --net tcp5 --if lo"),
        &["lnetctl net del --net tcp5"],
        "the kernel refuses it, and this node shall have the same nets",
    ),
    (
        After("lnetctl net add --net tcp7 --if eth1 --cpt bogus"),
        &["lnetctl net add --net tcp7 --if eth1"],
        "the kernel adds it, and this node shall have the same nets",
    ),
    (
        After("lnetctl net add --net tcp2 --if eth0 --peer-credits -5"),
        &["lnetctl net add --net tcp2 --if eth0"],
        "the kernel's tool takes it for that, and this node shall have the same nets",
    ),
    (
        After("lnetctl ping 10.99.0.[11-12]@tcp"),
        &["lnetctl peer del --prim_nid 10.99.0.11@tcp"],
        "the kernel refuses it, and this node shall have the same peers",
    ),
    (
        After("lnetctl net set --nid 10.99.0.11@tcp --health 5000"),
        &["lnetctl net set --nid 10.99.0.11@tcp --health 1000"],
        "the kernel takes it for that",
    ),
    (
        After("lnetctl peer set --nid 10.99.0.50@tcp --health 2000"),
        &["lnetctl peer set --nid 10.99.0.50@tcp --health 1000"],
        "the kernel takes it for that",
    ),
    (
        After("lnetctl route add --net tcp3 --gateway 10.99.0.12@tcp --priority -1"),
        &["lnetctl route add --net tcp3 --gateway 10.99.0.12@tcp"],
        "the kernel's tool takes it for that, and this node shall have the same routes",
    ),
    (
        After("lnetctl set numa_range -1"),
        &["lnetctl set numa_range 4294967295"],
        "the kernel's tool takes it for that, and this node shall have the same settings",
    ),
    (
        After("lnetctl set max_interfaces 2"),
        &["lnetctl set max_interfaces 200"],
        "the kernel takes it for that",
    ),
    (After("lnetctl set discovery -1"), &["lnetctl set discovery 1"], "the kernel takes it for that"),
    (
        After("lnetctl set drop_asym_route 3"),
        &["lnetctl set drop_asym_route 1"],
        "the kernel takes it for that",
    ),
    (
        After("lnetctl udsp add --src tcp --priority -1"),
        &["lnetctl udsp add --src tcp --priority 4294967295"],
        "the kernel's tool takes it for that, and this node shall have the same rules",
    ),
    (
        Before("lnetctl peer add --prim_nid 10.99.0.11@tcp"),
        &["lnetctl peer del --prim_nid 10.99.0.11@tcp"],
        "a discovered peer would be replaced",
    ),
    (
        Section("routes / routing"),
        &[
            "lnetctl peer del --prim_nid 10.99.0.60@tcp",
            "lnetctl peer del --prim_nid 10.99.0.61@tcp",
            "lnetctl peer del --prim_nid 10.99.0.70@tcp",
            "lnetctl peer del --prim_nid 10.99.0.71@tcp",
            "lnetctl peer del --prim_nid 10.88.0.80@tcp7",
            "lnetctl peer del --prim_nid 10.99.0.11@tcp",
            "lnetctl peer add --prim_nid 10.99.0.11@tcp",
            "lnetctl peer add --prim_nid 10.99.1.11@tcp",
        ],
        "was done on the kernel's node, or found out by it, as what follows shows",
    ),
    (
        Section("udsp"),
        &[
            "lnetctl route del --net tcp3 --gateway 10.99.0.12@tcp",
            "lnetctl route del --net tcp5 --gateway 10.99.0.[40-41]@tcp",
            "lnetctl set numa_range 0",
            "lnetctl set health_sensitivity 100",
            "lnetctl set retry_count 2",
            "lnetctl set recovery_limit 0",
            "lnetctl peer set --nid 10.99.0.40@tcp --health 999",
            "lnetctl peer set --nid 10.99.0.41@tcp --health 999",
        ],
        "was done on the kernel's node, or happened to it, as what follows shows",
    ),
    (Around("§net set: lnetctl net show --net tcp -v 4"), HALF_HEALTH, "it gets well by and by"),
    (Around("§udsp: lnetctl net show -v 4"), LOW_HEALTH, "it gets well by and by"),
    (Around("§udsp: lnetctl export"), LOW_HEALTH, "it gets well by and by"),
    (
        After("lnetctl udsp del --idx abc"),
        &["lnetctl udsp del --idx 0"],
        "the kernel's tool takes it for that, and this node shall have the same rules",
    ),
    (
        After("lnetctl udsp del"),
        &["lnetctl udsp del --idx 0"],
        "the kernel's tool takes it for that, and this node shall have the same rules",
    ),
    (
        After("lnetctl udsp del --all"),
        &[
            "lnetctl udsp add --dst 10.99.0.12@tcp --priority 1",
            "lnetctl udsp add --src 10.99.0.11@tcp --dst 10.99.0.12@tcp",
            "lnetctl udsp add --dst tcp1 --rte 10.99.0.12@tcp",
            "lnetctl udsp add --dst 10.99.0.[1-20/2]@tcp --priority 2",
            "lnetctl udsp add --src 10.99.*.*@tcp --dst 10.99.*.*@tcp",
            "lnetctl udsp add --src tcp --dst tcp1 --priority 1",
        ],
        "the kernel's tool does not know --all, and this node shall have the same rules",
    ),
    (
        Before("§stats: lnetctl debug recovery"),
        &[
            "until [ -z \"$(lnetctl debug recovery --local; lnetctl debug recovery --peer)\" ]; do sleep 0.1; done",
        ],
        "an interface that was blamed for nodes that are not there gets well",
    ),
    (
        Section("lctl fault injection"),
        &["lnetctl peer del --prim_nid 10.99.0.90@tcp"],
        "no interface is blamed any more for an imported peer that does not exist",
    ),
    (
        Before("lnetctl ping --timeout 3 10.99.0.12@tcp"),
        &["until lnetctl ping 10.99.0.12@tcp | grep -q 'Multi-Rail: True'; do sleep 0.1; done"],
        "guest2 tells its interfaces when it has heard of a node that was started again",
    ),
    (
        Before("§lctl fault: lnetctl debug recovery --local"),
        &["until [ -z \"$(lnetctl debug recovery --local)\" ]; do sleep 0.1; done"],
        "an interface that was blamed before for the imported peer gets well",
    ),
];
