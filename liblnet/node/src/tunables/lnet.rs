//! The tunables of LNet itself: `LNET_*`.

use super::Tunable;
use super::values::{MAX_INT, MAX_WORD, number, ranged, read, seconds, setting, switch};
use crate::start_config::Forwarding;
use lnet_core::cpt::{Layout, Pattern};
use lnet_core::{DiscoveryMode, Settings};
use lnet_dlc::ops::global::Setting;
use lnet_dlc::ranges::ROUTER_BUFFERS;
use lnet_dlc::request::Tunable as Id;
use lnet_log::{LogClass, write_line};
use socklnd::AcceptFrom;
use std::num::NonZeroUsize;
use std::time::Duration;

pub(super) const LNET: &[Tunable] = &[
    Tunable {
        variable: "LNET_ACCEPT",
        help: "who may connect: secure (source ports below 1024 only; default), all, none",
        set: |config, text| {
            config.socklnd.accept = match text {
                "secure" => AcceptFrom::Secure,
                "all" => AcceptFrom::All,
                "none" => AcceptFrom::None,
                _ => return Err("secure, all or none".to_owned()),
            };
            Ok(())
        },
    },
    Tunable {
        variable: "LNET_ACCEPT_PORT",
        help: "the TCP port to listen on and to connect to (988)",
        set: |config, text| number(&mut config.socklnd.accept_port, text, 1..=65_535),
    },
    Tunable {
        variable: "LNET_ACCEPT_BACKLOG",
        help: "inbound connections that the system keeps waiting (127)",
        set: |config, text| number(&mut config.socklnd.accept_backlog, text, 1..=MAX_INT),
    },
    Tunable {
        variable: "LNET_ACCEPT_TIMEOUT",
        help: "seconds that an inbound connection may take for each piece of its handshake (5)",
        set: |config, text| seconds(&mut config.socklnd.accept_timeout, text, 1),
    },
    Tunable {
        variable: "LNET_COMPARE_QUEUED_BYTES",
        help: "1: of a peer's interfaces the one with the fewest queued bytes goes before the one with the most \
               credits; 0: credits only, as in the kernel (0)",
        set: |config, text| switch(&mut config.settings.compare_queued_bytes, text),
    },
    Tunable {
        variable: "LNET_CPU_NPARTITIONS",
        help: "into how many partitions the CPUs are divided, at most 256; 0: one for up to four CPUs, otherwise one for \
               about every two cores (0)",
        set: |config, text| {
            let mut count = 0;
            number(&mut count, text, 0..=256)?;
            config.cpts = NonZeroUsize::new(count).map_or(Layout::Default, Layout::Count);
            Ok(())
        },
    },
    Tunable {
        variable: "LNET_CPU_PATTERN",
        help: "which CPUs are in which partition: `0[0-3] 1[4-7]`; which NUMA nodes: `N 0[0] 1[1]`; `N`: one partition \
               for each node; goes before LNET_CPU_NPARTITIONS",
        set: |config, text| {
            let pattern = text.parse::<Pattern>().map_err(|error| {
                write_line!(LogClass::ConfigInvalid, "LNET_CPU_PATTERN=\"{text}\": {error}");
                "partitions numbered from 0, such as 0[0-3] 1[4-7]".to_owned()
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
                _ => return Err("0 (off), 1 (on) or 2 (verify)".to_owned()),
            };
            Ok(())
        },
    },
    Tunable {
        variable: "LNET_PEER_DISCOVERY_DISABLED",
        help: "the same as the kernel has it: 1: off; 0: on; 2: verify; goes before LNET_DISCOVERY",
        set: |config, text| {
            config.settings.discovery = match read(text, 0..=2)? {
                0 => DiscoveryMode::On,
                1 => DiscoveryMode::Off,
                _ => DiscoveryMode::Verify,
            };
            Ok(())
        },
    },
    Tunable {
        variable: "LNET_MULTI_RAIL",
        help: "1: the node has Multi-Rail (default); 0: to its peers it is a node of a version before Multi-Rail: it does \
               not discover, drops what they push, and takes each NID for a peer of its own",
        set: |config, text| switch(&mut config.multi_rail, text),
    },
    Tunable {
        variable: "LNET_FIRST_PING",
        help: "1: without discovery, too, a peer is pinged once before it is used, as in the kernel (default); 0: it \
               is not",
        set: |config, text| switch(&mut config.settings.first_ping, text),
    },
    Tunable {
        variable: "LNET_LOCK_PRIM_NID",
        help: "1: the primary NID by which a program first asks for a peer stays, and LNetPrimaryNID answers at once \
               (default); 0: it waits until the peer is discovered",
        set: |config, text| switch(&mut config.settings.lock_primary, text),
    },
    Tunable {
        variable: "LNET_TRANSACTION_TIMEOUT",
        help: "seconds that a message and its answer may take, with all attempts; more than LNET_RETRY_COUNT (50)",
        set: |config, text| {
            ranged(
                &mut config.settings.transaction_timeout,
                text,
                Setting::Tunable(Id::TransactionTimeout).range(),
                1,
            )
        },
    },
    Tunable {
        variable: "LNET_DISCOVERY_TIMEOUT",
        help: "seconds that a discovery may take, all of its steps together, and that a message waits for one (10)",
        set: |config, text| setting(config, text, Id::DiscoveryTimeout, Settings::set_discovery_timeout),
    },
    Tunable {
        variable: "LNET_RETRY_COUNT",
        help: "how often a message that failed is sent again; 0 while LNET_HEALTH_SENSITIVITY is 0 (2)",
        set: |config, text| {
            ranged(&mut config.settings.retry_count, text, Setting::Tunable(Id::RetryCount).range(), 0)
        },
    },
    Tunable {
        variable: "LNET_HEALTH_SENSITIVITY",
        help: "by how much a failure lowers the health of an interface, 0 to 1000; 0: health is not heeded, and nothing \
               is sent again (100)",
        set: |config, text| setting(config, text, Id::HealthSensitivity, Settings::set_health_sensitivity),
    },
    Tunable {
        variable: "LNET_FORWARDING",
        help: "enabled: the node forwards messages between its nets; disabled: it does not, until `lnetctl set routing 1`; \
               nothing: it does if LNET_ROUTES names one of its own NIDs as a gateway (nothing)",
        set: |config, text| {
            config.forwarding = match text {
                "" => Forwarding::ByRoutes,
                "enabled" => Forwarding::Enabled,
                "disabled" => Forwarding::Disabled,
                _ => return Err("enabled, disabled or nothing".to_owned()),
            };
            Ok(())
        },
    },
    Tunable {
        variable: "LNET_TINY_ROUTER_BUFFERS",
        help: "buffers for messages without payload on a node that forwards from its start; 0: 2048 (0)",
        set: |config, text| ranged(&mut config.router_buffers[0], text, ROUTER_BUFFERS, 0),
    },
    Tunable {
        variable: "LNET_SMALL_ROUTER_BUFFERS",
        help: "buffers of one page on a node that forwards from its start; 0: 16384 (0)",
        set: |config, text| ranged(&mut config.router_buffers[1], text, ROUTER_BUFFERS, 0),
    },
    Tunable {
        variable: "LNET_LARGE_ROUTER_BUFFERS",
        help: "buffers of 1 MiB on a node that forwards from its start; 0: 1024 (0)",
        set: |config, text| ranged(&mut config.router_buffers[2], text, ROUTER_BUFFERS, 0),
    },
    Tunable {
        variable: "LNET_CHECK_ROUTERS_BEFORE_USE",
        help: "1: the start waits until each gateway of LNET_ROUTES has answered or failed to; 0: it does not (0)",
        set: |config, text| switch(&mut config.check_routers_before_use, text),
    },
    Tunable {
        variable: "LNET_ALIVE_ROUTER_CHECK_INTERVAL",
        help: "seconds between two questions to a gateway whether it forwards; 0: none (60)",
        set: |config, text| number(&mut config.settings.alive_router_check_interval, text, 0..=MAX_WORD),
    },
    Tunable {
        variable: "LNET_ROUTER_PING_TIMEOUT",
        help: "seconds, after the check interval, for which a router waits for a message on each of its nets before it \
               reports its interfaces there as down (50)",
        set: |config, text| number(&mut config.settings.router_ping_timeout, text, 0..=MAX_WORD),
    },
    Tunable {
        variable: "LNET_AVOID_ASYM_ROUTER_FAILURE",
        help: "1: a gateway on the net of a route is used only while it has a working interface there (default); 0: in \
               any case",
        set: |config, text| switch(&mut config.settings.avoid_asym_router_failure, text),
    },
    Tunable {
        variable: "LNET_RESPONSE_TRACKING",
        help: "for which messages answers are awaited: 0: LNet's own, 1: GETs, 2: PUTs, 3: both (3)",
        set: |config, text| setting(config, text, Id::ResponseTracking, Settings::set_response_tracking),
    },
    Tunable {
        variable: "LNET_RECOVERY_LIMIT",
        help: "seconds for which recovery pings go to an unhealthy peer NI after it was last heard; 0: for ever (0)",
        set: |config, text| setting(config, text, Id::RecoveryLimit, Settings::set_recovery_limit),
    },
    Tunable {
        variable: "LNET_MAX_RECOVERY_PING_INTERVAL",
        help: "the most seconds between two recovery pings to an unhealthy interface (900)",
        set: |config, text| {
            setting(config, text, Id::MaxRecoveryPingInterval, Settings::set_max_recovery_ping_interval)
        },
    },
    Tunable {
        variable: "LNET_RESEND_UNCONFIRMED",
        help: "1: what may have arrived at a peer that would not know it again, such as a kernel's, is sent again all \
               the same; 0: it is not (0)",
        set: |config, text| switch(&mut config.settings.resend_unconfirmed, text),
    },
    Tunable {
        variable: "LNET_MAX_PEERS",
        help: "interfaces of other nodes that may be known before messages from new ones are dropped; those that nobody \
               uses are forgotten first (65536)",
        set: |config, text| number(&mut config.max_peers, text, 1..=MAX_WORD),
    },
    Tunable {
        variable: "LNET_MAX_PENDING_RESPONSES",
        help: "ACKs and REPLYs that may wait in the node until their peers take them, about 520 bytes each, before \
               messages that ask for more are dropped; any one peer always gets 16 (65536)",
        set: |config, text| number(&mut config.max_pending_responses, text, 1..=MAX_WORD),
    },
    Tunable {
        variable: "LNET_IP2NETS_STRICT",
        help: "1: an interface that LNET_IP2NETS names, and that is missing or has another address, ends the start \
               (default); 0: it is passed over",
        set: |config, text| switch(&mut config.ip2nets_strict, text),
    },
    Tunable {
        variable: "LNET_WAIT_SPIN",
        help: "microseconds that a thread waiting for an event asks again and again before it sleeps, where that \
               pays; 0: never (200, or 0 on one CPU)",
        set: |config, text| {
            config.wait_spin = Duration::from_micros(read(text, 0..=1_000_000)?.unsigned_abs());
            Ok(())
        },
    },
];
