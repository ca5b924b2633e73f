//! The environment variables that tune a node: one table.
//!
//! To add one, add a row. The name is that of the kernel's module parameter, in capitals, behind the
//! module's: `LNET_` or `SOCKLND_`.

use crate::start_config::StartConfig;
use lnet_core::cpt::{Layout, Pattern};
use lnet_core::{DiscoveryMode, Errno, Settings};
use lnet_log::{LogClass, write_line};
use socklnd::proto::Version;
use socklnd::{AcceptFrom, DeliveryAcks};
use std::num::NonZeroUsize;
use std::time::Duration;

/// One environment variable.
#[derive(Clone, Copy, Debug)]
pub struct Tunable {
    /// Its name.
    pub variable: &'static str,
    /// What it does, and its default, in a few words.
    pub help: &'static str,
    /// Puts its value into the configuration; the error says what was wanted instead.
    pub set: fn(&mut StartConfig, &str) -> Result<(), &'static str>,
}

/// All of them.
pub const TUNABLES: &[Tunable] = &[
    Tunable {
        variable: "LNET_ACCEPT",
        help: "who may connect: secure (source ports below 1024 only; default), all, none",
        set: |config, text| {
            config.socklnd.accept = match text {
                "secure" => AcceptFrom::Secure,
                "all" => AcceptFrom::All,
                "none" => AcceptFrom::None,
                _ => return Err("secure, all or none"),
            };
            Ok(())
        },
    },
    Tunable {
        variable: "LNET_ACCEPT_PORT",
        help: "the TCP port to listen on and to connect to (988)",
        set: |config, text| {
            put(&mut config.socklnd.accept_port, text, |port: u16| (port > 0).then_some(port))
        },
    },
    Tunable {
        variable: "LNET_ACCEPT_BACKLOG",
        help: "inbound connections that the system keeps waiting (127)",
        set: |config, text| put(&mut config.socklnd.accept_backlog, text, |n: i32| (n > 0).then_some(n)),
    },
    Tunable {
        variable: "LNET_ACCEPT_TIMEOUT",
        help: "seconds that an inbound connection may take for each piece of its handshake (5)",
        set: |config, text| put(&mut config.socklnd.accept_timeout, text, seconds),
    },
    Tunable {
        variable: "LNET_COMPARE_QUEUED_BYTES",
        help: "1: of a peer's interfaces the one with the fewest queued bytes goes before the one with the most \
               credits; 0: credits only, as in the kernel (0)",
        set: |config, text| put(&mut config.compare_queued_bytes, text, switch),
    },
    Tunable {
        variable: "LNET_CPU_NPARTITIONS",
        help: "into how many partitions the CPUs are divided, at most 256; 0: one for up to four CPUs, otherwise one for \
               about every two cores (0)",
        set: |config, text| {
            put(&mut config.cpts, text, |n: usize| {
                (n <= 256).then(|| NonZeroUsize::new(n).map_or(Layout::Default, Layout::Count))
            })
        },
    },
    Tunable {
        variable: "LNET_CPU_PATTERN",
        help: "which CPUs are in which partition: `0[0-3] 1[4-7]`; which NUMA nodes: `N 0[0] 1[1]`; `N`: one partition \
               for each node; goes before LNET_CPU_NPARTITIONS",
        set: |config, text| {
            let pattern = text.parse::<Pattern>().map_err(|error| {
                write_line!(LogClass::ConfigInvalid, "LNET_CPU_PATTERN=\"{text}\": {error}");
                "partitions numbered from 0, such as 0[0-3] 1[4-7]"
            })?;
            config.cpts = Layout::Pattern(pattern);
            Ok(())
        },
    },
    Tunable {
        variable: "LNET_DISCOVERY",
        help: "1 or on: peers are asked for their NIDs before they are used, and told this node's (default); 0 or off: \
               they are not; 2 or verify: what they say is only compared with what is known of them",
        set: |config, text| {
            config.settings.discovery = match text {
                "0" | "off" => DiscoveryMode::Off,
                "1" | "on" => DiscoveryMode::On,
                "2" | "verify" => DiscoveryMode::Verify,
                _ => return Err("0 (off), 1 (on) or 2 (verify)"),
            };
            Ok(())
        },
    },
    Tunable {
        variable: "LNET_PEER_DISCOVERY_DISABLED",
        help: "the same as the kernel has it: 1: off; 0: on; 2: verify; goes before LNET_DISCOVERY",
        set: |config, text| {
            put(&mut config.settings.discovery, text, |n: u8| match n {
                0 => Some(DiscoveryMode::On),
                1 => Some(DiscoveryMode::Off),
                2 => Some(DiscoveryMode::Verify),
                _ => None,
            })
        },
    },
    Tunable {
        variable: "LNET_FIRST_PING",
        help: "1: without discovery, too, a peer is pinged once before it is used, as in the kernel (default); 0: it \
               is not",
        set: |config, text| put(&mut config.settings.first_ping, text, switch),
    },
    Tunable {
        variable: "LNET_LOCK_PRIM_NID",
        help: "1: the primary NID by which a program first asks for a peer stays, and LNetPrimaryNID answers at once \
               (default); 0: it waits until the peer is discovered",
        set: |config, text| put(&mut config.settings.lock_primary, text, switch),
    },
    Tunable {
        variable: "LNET_TRANSACTION_TIMEOUT",
        help: "seconds that a message and its answer may take, with all attempts; more than LNET_RETRY_COUNT (50)",
        set: |config, text| put(&mut config.settings.transaction_timeout, text, positive),
    },
    Tunable {
        variable: "LNET_RETRY_COUNT",
        help: "how often a message that failed is sent again; 0 while LNET_HEALTH_SENSITIVITY is 0 (2)",
        set: |config, text| put(&mut config.settings.retry_count, text, Some),
    },
    Tunable {
        variable: "LNET_HEALTH_SENSITIVITY",
        help: "by how much a failure lowers the health of an interface, 0 to 1000; 0: health is not heeded, and nothing \
               is sent again (100)",
        set: |config, text| settings(config, text, Settings::set_health_sensitivity),
    },
    Tunable {
        variable: "LNET_RESPONSE_TRACKING",
        help: "for which messages answers are awaited: 0: LNet's own, 1: GETs, 2: PUTs, 3: both (3)",
        set: |config, text| settings(config, text, Settings::set_response_tracking),
    },
    Tunable {
        variable: "LNET_RECOVERY_LIMIT",
        help: "seconds for which recovery pings go to an unhealthy peer NI after it was last heard; 0: for ever (0)",
        set: |config, text| settings(config, text, Settings::set_recovery_limit),
    },
    Tunable {
        variable: "LNET_MAX_RECOVERY_PING_INTERVAL",
        help: "the most seconds between two recovery pings to an unhealthy interface (900)",
        set: |config, text| settings(config, text, Settings::set_max_recovery_ping_interval),
    },
    Tunable {
        variable: "LNET_RESEND_UNCONFIRMED",
        help: "1: what may have arrived at a peer that would not know it again, such as a kernel's, is sent again all \
               the same; 0: it is not (0)",
        set: |config, text| put(&mut config.settings.resend_unconfirmed, text, switch),
    },
    Tunable {
        variable: "LNET_MAX_PEERS",
        help: "interfaces of other nodes that may be known before messages from new ones are dropped; those that nobody \
               uses are forgotten first (65536)",
        set: |config, text| put(&mut config.max_peers, text, |n: usize| (n > 0).then_some(n)),
    },
    Tunable {
        variable: "LNET_MAX_PENDING_RESPONSES",
        help: "ACKs and REPLYs that may wait in the node until their peers take them, about 520 bytes each, before \
               messages that ask for more are dropped; any one peer always gets 16 (65536)",
        set: |config, text| put(&mut config.max_pending_responses, text, |n: u32| (n > 0).then_some(n)),
    },
    Tunable {
        variable: "LNET_IP2NETS_STRICT",
        help: "1: an interface that LNET_IP2NETS names, and that is missing or has another address, ends the start \
               (default); 0: it is passed over",
        set: |config, text| put(&mut config.ip2nets_strict, text, switch),
    },
    Tunable {
        variable: "LNET_WAIT_SPIN",
        help: "microseconds that a thread waiting for an event asks again and again before it sleeps, where that \
               pays; 0: never (50, or 0 on one CPU)",
        set: |config, text| {
            put(&mut config.wait_spin, text, |n: u32| {
                (n <= 1_000_000).then(|| Duration::from_micros(n.into()))
            })
        },
    },
    Tunable {
        variable: "SOCKLND_CREDITS",
        help: "messages under way at once on one interface (256)",
        set: |config, text| put(&mut config.ni.credits, text, positive),
    },
    Tunable {
        variable: "SOCKLND_PEER_CREDITS",
        help: "messages under way at once to one peer's interface (8)",
        set: |config, text| put(&mut config.ni.peer_credits, text, positive),
    },
    Tunable {
        variable: "SOCKLND_SOCK_TIMEOUT",
        help: "seconds that anything on the network may take; 0: as lnetctl's transaction_timeout and retry_count make it (0)",
        set: |config, text| put(&mut config.socklnd.sock_timeout, text, seconds_or_default),
    },
    Tunable {
        variable: "SOCKLND_SILENCE",
        help: "the old name of SOCKLND_UNRESPONSIVE_MS, which goes before it",
        set: set_unresponsive_timeout,
    },
    Tunable {
        variable: "SOCKLND_UNRESPONSIVE_MS",
        help: "milliseconds that a peer may leave unanswered what is under way to it before the path counts as unresponsive \
               and another one is used, if there is one; 0: only SOCKLND_SOCK_TIMEOUT counts (600)",
        set: set_unresponsive_timeout,
    },
    Tunable {
        variable: "SOCKLND_MIN_RECONNECTMS",
        help: "milliseconds from a failed connection attempt to a peer to the next, at most, as long as something is to be sent to it and \
               it has no connection; for further connections they double each time (500; in the kernel 1000)",
        set: |config, text| {
            put(&mut config.socklnd.min_reconnect, text, |n: u32| {
                milliseconds(n).filter(|wait| !wait.is_zero())
            })
        },
    },
    Tunable {
        variable: "SOCKLND_MAX_RECONNECTMS",
        help: "milliseconds from a failed attempt for a further connection to the next, at most (60000)",
        set: |config, text| {
            put(&mut config.socklnd.max_reconnect, text, |n: u32| {
                milliseconds(n).filter(|wait| !wait.is_zero())
            })
        },
    },
    Tunable {
        variable: "SOCKLND_CONNS_PER_PEER",
        help: "connections for bulk in each direction to one peer's interface, 1 to 127 (1)",
        set: |config, text| put(&mut config.socklnd.conns_per_peer, text, |n: u32| (n <= 127).then_some(n)),
    },
    Tunable {
        variable: "SOCKLND_CONNS_PER_ADDRESS",
        help: "inbound connections that one address may have, but never more than half of those that there may be in \
               all, which is three in four of the process's descriptors; 0: as many as there may be in all (1024)",
        set: |config, text| put(&mut config.socklnd.conns_per_address, text, Some),
    },
    Tunable {
        variable: "SOCKLND_TYPED_CONNS",
        help: "1: small messages and bulk have connections of their own (default); 0: they do not",
        set: |config, text| put(&mut config.socklnd.typed_conns, text, switch),
    },
    Tunable {
        variable: "SOCKLND_IMPLEMENTATION_ID",
        help: "1: nodes of this implementation recognise each other, and messages that are resent (default); 0: this node \
               hides that: it and its peers take each other for kernel nodes, for tests",
        set: |config, text| put(&mut config.says_implementation, text, switch),
    },
    Tunable {
        variable: "SOCKLND_MIN_BULK",
        help: "bytes from which on a message goes by a bulk connection (1024)",
        set: |config, text| put(&mut config.socklnd.min_bulk, text, Some),
    },
    Tunable {
        variable: "SOCKLND_KEEPALIVE",
        help: "seconds without anything from a peer after which it is sent a keep-alive; 0: never (30)",
        set: |config, text| {
            put(&mut config.socklnd.keepalive, text, |n: u32| Some(Duration::from_secs(n.into())))
        },
    },
    Tunable {
        variable: "SOCKLND_ENABLE_CSUM",
        help: "1: messages on version 2 connections carry a checksum (0)",
        set: |config, text| put(&mut config.socklnd.enable_csum, text, switch),
    },
    Tunable {
        variable: "SOCKLND_ZC_MIN_PAYLOAD",
        help: "bytes of payload from which on a delivery ACK is asked for, at least 2048; 0: never (0)",
        set: |config, text| {
            put(&mut config.socklnd.zc_min_payload, text, |n: u32| match n {
                0 => Some(None),
                n => Some(Some(n.max(2048))),
            })
        },
    },
    Tunable {
        variable: "LNET_RECEIPTS",
        help: "the old name of SOCKLND_DELIVERY_ACK, which goes before it",
        set: set_delivery_acks,
    },
    Tunable {
        variable: "SOCKLND_DELIVERY_ACK",
        help: "which messages ask for a delivery ACK, and are complete only when it has come: all, where the peer can send \
               one (default); ours: those to nodes of this implementation; large: those of SOCKLND_ZC_MIN_PAYLOAD, as in \
               the kernel",
        set: set_delivery_acks,
    },
    Tunable {
        variable: "SOCKLND_NAGLE",
        help: "1: TCP may hold small segments back (0)",
        set: |config, text| put(&mut config.socklnd.nagle, text, switch),
    },
    Tunable {
        variable: "SOCKLND_PROTOCOL",
        help: "the version proposed to peers, 2 or 3 (3)",
        set: |config, text| {
            put(&mut config.socklnd.use_protocol, text, |n: u32| match n {
                2 => Some(Version::V2),
                3 => Some(Version::V3),
                _ => None,
            })
        },
    },
    Tunable {
        variable: "SOCKLND_NSCHEDS",
        help: "threads that read and write connections (1)",
        set: |config, text| {
            put(&mut config.socklnd.schedulers, text, |n: usize| (1..=64).contains(&n).then_some(n))
        },
    },
];

fn set_unresponsive_timeout(config: &mut StartConfig, text: &str) -> Result<(), &'static str> {
    put(&mut config.socklnd.unresponsive_timeout, text, milliseconds)
}

fn set_delivery_acks(config: &mut StartConfig, text: &str) -> Result<(), &'static str> {
    config.socklnd.delivery_acks = match text {
        "all" => DeliveryAcks::All,
        "ours" => DeliveryAcks::SameImplementation,
        "large" => DeliveryAcks::Large,
        _ => return Err("all, ours or large"),
    };
    Ok(())
}

/// Reads a number, checks it with `accept` and puts it in its place.
fn put<N: std::str::FromStr, V>(
    place: &mut V,
    text: &str,
    accept: impl FnOnce(N) -> Option<V>,
) -> Result<(), &'static str> {
    *place = text.parse().ok().and_then(accept).ok_or(WANTED)?;
    Ok(())
}

/// Reads a number and sets a setting of the whole node to it.
fn settings(
    config: &mut StartConfig,
    text: &str,
    set: impl FnOnce(&mut Settings, i64) -> Result<(), Errno>,
) -> Result<(), &'static str> {
    let number = text.parse().map_err(|_| WANTED)?;
    set(&mut config.settings, number).map_err(|_| WANTED)
}

/// Of a number that is none, or out of range.
const WANTED: &str = "a number in the range that the variable has";

fn positive(number: u32) -> Option<u32> {
    (number > 0).then_some(number)
}

fn seconds(number: u32) -> Option<Duration> {
    (number > 0).then(|| Duration::from_secs(number.into()))
}

fn seconds_or_default(number: u32) -> Option<Duration> {
    Some(Duration::from_secs(number.into()))
}

fn milliseconds(number: u32) -> Option<Duration> {
    Some(Duration::from_millis(number.into()))
}

fn switch(number: u8) -> Option<bool> {
    (number <= 1).then_some(number == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(variables: &[(&str, &str)]) -> Result<StartConfig, Errno> {
        StartConfig::from_lookup(|name| {
            variables.iter().find(|(its, _)| *its == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn variables_set_what_they_say() {
        let config = start(&[
            ("LNET_NETWORKS", "tcp(127.0.1.1)"),
            ("LNET_ACCEPT", "all"),
            ("LNET_ACCEPT_PORT", " 9988 "),
            ("SOCKLND_PEER_CREDITS", "16"),
            ("SOCKLND_CONNS_PER_PEER", ""),
            ("SOCKLND_ZC_MIN_PAYLOAD", "1"),
            ("SOCKLND_DELIVERY_ACK", "ours"),
            ("LNET_CPU_NPARTITIONS", "4"),
            ("LNET_COMPARE_QUEUED_BYTES", "1"),
            ("LNET_MAX_PEERS", "99"),
            ("LNET_MAX_PENDING_RESPONSES", "1000"),
            ("SOCKLND_CONNS_PER_ADDRESS", "0"),
        ])
        .unwrap();
        assert_eq!((config.max_peers, config.socklnd.conns_per_address), (99, 0));
        assert_eq!(config.max_pending_responses, 1000);
        assert!(config.compare_queued_bytes && !start(&[]).unwrap().compare_queued_bytes);
        assert_eq!(config.networks.len(), 1);
        assert_eq!(config.socklnd.accept, AcceptFrom::All);
        assert_eq!(config.socklnd.accept_port, 9988);
        assert_eq!(config.ni.peer_credits, 16);
        assert_eq!(config.socklnd.conns_per_peer, 1);
        assert_eq!(config.socklnd.zc_min_payload, Some(2048));
        let delivery_acks = config.socklnd.delivery_acks;
        assert_eq!(
            (delivery_acks, start(&[]).unwrap().socklnd.delivery_acks),
            (DeliveryAcks::SameImplementation, DeliveryAcks::All)
        );
        assert_eq!(start(&[("LNET_RECEIPTS", "large")]).unwrap().socklnd.delivery_acks, DeliveryAcks::Large);
        assert_eq!(config.cpts, Layout::Count(NonZeroUsize::new(4).unwrap()));
        let config = start(&[("LNET_CPU_NPARTITIONS", "4"), ("LNET_CPU_PATTERN", " N 0[1] 1[0] ")]).unwrap();
        assert_eq!(config.cpts, Layout::Pattern(Pattern::Nodes(vec![vec![1], vec![0]])));
        assert_eq!(start(&[("LNET_CPU_NPARTITIONS", "0")]).unwrap().cpts, Layout::Default);
    }

    #[test]
    fn old_names_are_read_and_new_ones_go_before_them() {
        let acks = |variables: &[(&str, &str)]| start(variables).unwrap().socklnd.delivery_acks;
        let (old, new) = (("LNET_RECEIPTS", "large"), ("SOCKLND_DELIVERY_ACK", "ours"));
        assert_eq!(
            [acks(&[old]), acks(&[new, old])],
            [DeliveryAcks::Large, DeliveryAcks::SameImplementation]
        );
        let limit = |variables: &[(&str, &str)]| start(variables).unwrap().socklnd.unresponsive_timeout;
        let (old, new) = (("SOCKLND_SILENCE", "70"), ("SOCKLND_UNRESPONSIVE_MS", "80"));
        assert_eq!([limit(&[old]), limit(&[new, old])], [70, 80].map(Duration::from_millis));
    }

    #[test]
    fn modes_of_discovery_are_numbers_or_words_and_the_kernels_parameter_says_the_contrary() {
        use DiscoveryMode::{Off, On, Verify};
        const DISABLED: &str = "LNET_PEER_DISCOVERY_DISABLED";
        let table: [(&[(&str, &str)], DiscoveryMode); 10] = [
            (&[], On),
            (&[("LNET_DISCOVERY", "0")], Off),
            (&[("LNET_DISCOVERY", "off")], Off),
            (&[("LNET_DISCOVERY", "1")], On),
            (&[("LNET_DISCOVERY", "2")], Verify),
            (&[("LNET_DISCOVERY", "verify")], Verify),
            (&[(DISABLED, "0")], On),
            (&[(DISABLED, "1")], Off),
            (&[(DISABLED, "2")], Verify),
            (&[(DISABLED, "1"), ("LNET_DISCOVERY", "2")], Off),
        ];
        for (variables, mode) in table {
            assert_eq!(start(variables).unwrap().settings.discovery, mode, "{variables:?}");
        }
        let config = start(&[("LNET_FIRST_PING", "0"), ("LNET_LOCK_PRIM_NID", "0")]).unwrap();
        assert!(!config.settings.first_ping && !config.settings.lock_primary);
    }

    #[test]
    fn settings_of_health_are_taken_together() {
        let read = |variables: &[(&str, &str)]| {
            start(variables).map(|config| {
                let Settings { transaction_timeout, retry_count, health_sensitivity, .. } = config.settings;
                (transaction_timeout, retry_count, health_sensitivity)
            })
        };
        let (timeout, retries, sensitivity) =
            ("LNET_TRANSACTION_TIMEOUT", "LNET_RETRY_COUNT", "LNET_HEALTH_SENSITIVITY");
        type Case<'a> = (&'a [(&'a str, &'a str)], Result<(u32, u32, u32), Errno>);
        let table: [Case<'_>; 7] = [
            (&[], Ok((50, 2, 100))),
            (&[(timeout, "2"), (retries, "1")], Ok((2, 1, 100))),
            (&[(timeout, "2")], Err(Errno::Invalid)),
            (&[(timeout, "100"), (retries, "99")], Ok((100, 99, 100))),
            (&[(retries, "50")], Err(Errno::Invalid)),
            (&[(sensitivity, "0")], Ok((50, 0, 0))),
            (&[(sensitivity, "1000"), (retries, "0")], Ok((50, 0, 1000))),
        ];
        for (variables, expected) in table {
            assert_eq!(read(variables), expected, "{variables:?}");
        }
        let config = start(&[
            ("LNET_RESPONSE_TRACKING", "1"),
            ("LNET_RECOVERY_LIMIT", "60"),
            ("LNET_MAX_RECOVERY_PING_INTERVAL", "30"),
            ("LNET_RESEND_UNCONFIRMED", "1"),
        ]);
        let settings = config.unwrap().settings;
        let Settings { response_tracking, recovery_limit, max_recovery_ping_interval, .. } = settings;
        assert_eq!((response_tracking, recovery_limit, max_recovery_ping_interval), (1, 60, 30));
        assert!(settings.resend_unconfirmed);
    }

    #[test]
    fn wrong_values_are_refused() {
        let table = [
            ("LNET_NETWORKS", "tcp(", Errno::Invalid),
            ("LNET_ROUTES", "tcp1", Errno::Invalid),
            ("LNET_ACCEPT", "some", Errno::Invalid),
            ("LNET_ACCEPT_PORT", "0", Errno::Invalid),
            ("LNET_ACCEPT_PORT", "65536", Errno::Invalid),
            ("SOCKLND_CREDITS", "-1", Errno::Invalid),
            ("SOCKLND_TYPED_CONNS", "2", Errno::Invalid),
            ("SOCKLND_IMPLEMENTATION_ID", "2", Errno::Invalid),
            ("SOCKLND_MIN_RECONNECTMS", "0", Errno::Invalid),
            ("SOCKLND_UNRESPONSIVE_MS", "-1", Errno::Invalid),
            ("SOCKLND_SILENCE", "-1", Errno::Invalid),
            ("LNET_IP2NETS_STRICT", "2", Errno::Invalid),
            ("LNET_MAX_PEERS", "0", Errno::Invalid),
            ("LNET_MAX_PENDING_RESPONSES", "0", Errno::Invalid),
            ("SOCKLND_CONNS_PER_ADDRESS", "-1", Errno::Invalid),
            ("LNET_CPU_NPARTITIONS", "257", Errno::Invalid),
            ("LNET_COMPARE_QUEUED_BYTES", "2", Errno::Invalid),
            ("LNET_CPU_PATTERN", "0[0", Errno::Invalid),
            ("LNET_DISCOVERY", "3", Errno::Invalid),
            ("LNET_PEER_DISCOVERY_DISABLED", "3", Errno::Invalid),
            ("LNET_PEER_DISCOVERY_DISABLED", "off", Errno::Invalid),
            ("LNET_FIRST_PING", "2", Errno::Invalid),
            ("LNET_LOCK_PRIM_NID", "-1", Errno::Invalid),
            ("LNET_TRANSACTION_TIMEOUT", "0", Errno::Invalid),
            ("LNET_HEALTH_SENSITIVITY", "1001", Errno::Invalid),
            ("LNET_RESPONSE_TRACKING", "4", Errno::Invalid),
            ("LNET_RECOVERY_LIMIT", "-1", Errno::Invalid),
            ("LNET_MAX_RECOVERY_PING_INTERVAL", "0", Errno::Invalid),
            ("LNET_RESEND_UNCONFIRMED", "2", Errno::Invalid),
        ];
        for (name, value, errno) in table {
            assert_eq!(start(&[(name, value)]).err(), Some(errno), "{name}={value}");
        }
    }

    #[test]
    fn every_variable_is_named_once() {
        let mut names: Vec<_> = TUNABLES.iter().map(|tunable| tunable.variable).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TUNABLES.len());
    }

    #[test]
    fn the_documents_tables_are_those_of_the_code() {
        let document = include_str!("../../../docs/environment.md");
        let table = |rows: Vec<(&str, &str)>| {
            let rows = rows.iter().map(|(name, help)| format!("| `{name}` | {help} |\n")).collect::<String>();
            format!("\n| variable | what it says |\n|---|---|\n{rows}\n")
        };
        let tunables = TUNABLES.iter().map(|tunable| (tunable.variable, tunable.help)).collect();
        for want in [table(crate::CONFIGURATION.to_vec()), table(tunables)] {
            assert!(document.contains(&want), "docs/environment.md wants this table:\n{want}");
        }
    }
}
