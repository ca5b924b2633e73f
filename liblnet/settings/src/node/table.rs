//! The rows of the node's settings.

use super::settings::{DEFAULT_MAX_INTERFACES, DiscoveryMode, MAX_HEALTH, Settings};
use crate::access::Access;
use crate::range::{MAX_INT, MAX_WORD};
use crate::row::{CFunction, CFunctions, ChangeTime, GlobalKey, Refusal, Row, Spec, Variable};
use crate::values::{InvalidValue, Unit, Value, Values};
use crate::{choice, field};

macro_rules! settings {
    ($($setting:ident = $row:expr;)*) => {
        /// A setting of the node: a row of [`NODE`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Setting { $(#[doc = concat!("The row `", stringify!($setting), "`.")] $setting,)* }

        impl Setting {
            /// All settings, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$setting),*];
        }

        /// The rows of the settings of the node, in the order in which they are shown (dlc 2.7).
        pub const NODE: &[Row<Settings>] = &[$($row),*];
    };
}

/// A setting of the block `global` that may change at any time.
const GLOBAL: Spec =
    Spec { change: ChangeTime::AnyTime, global: Some(GlobalKey::JUDGED_BY_NODE), ..Spec::LNET };
/// A setting that liblnetconfig checks, or that only this library has.
const LIBRARYS: Spec = Spec { global: Some(GlobalKey::JUDGED_BY_LIBRARY), ..GLOBAL };
/// The numbers of a C `int` from 0 on.
const FROM_0: Values = Values::Numbers(0, MAX_INT);
/// The numbers of a C `int` from 1 on.
const FROM_1: Values = Values::Numbers(1, MAX_INT);

settings! {
    NumaRange = Row {
        spec: Spec {
            name: "numa_range",
            sentence: "How far apart NUMA nodes may be and count as near: 0 to 4294967295",
            values: Values::Numbers(0, MAX_WORD),
            global: Some(GlobalKey { refusal: Refusal::OutOfRange, reset_by_del: true, ..GlobalKey::JUDGED_BY_NODE }),
            c: functions(
                "lustre_lnet_config_numa_range",
                "Sets by how much NUMA distances may differ. LUSTRE_CFG_RC_GENERIC_ERR for a value that the node refuses;\n\
                 so in all these functions.",
                "lustre_lnet_show_numa_range",
                "Shows that under global, as numa_range.",
            ),
            ..GLOBAL
        },
        access: field!(numa_range),
    };
    MaxInterfaces = Row {
        spec: Spec {
            name: "max_interfaces",
            sentence: "The most interfaces that a peer may have: from 16",
            values: Values::Numbers(16, MAX_INT),
            replace: Some(|value| if value < 16 { DEFAULT_MAX_INTERFACES.into() } else { value }),
            global: Some(GlobalKey { reset_by_del: true, old_keys: &["max_intf"], ..GlobalKey::JUDGED_BY_NODE }),
            c: functions(
                "lustre_lnet_config_max_intf",
                "Sets the most interfaces that a peer may have: from 16.",
                "lustre_lnet_show_max_intf",
                "Shows that under global, as max_interfaces.",
            ),
            ..GLOBAL
        },
        access: field!(max_interfaces),
    };
    Discovery = Row {
        spec: Spec {
            name: "discovery",
            sentence: "Discover peers (1, on) or not (0, off), or only compare what they say with what is known of them and \
                       report what differs (2, verify)",
            values: Values::NumberedWords(&["off", "on", "verify"]),
            replace: Some(|_| 1),
            variables: &[
                Variable {
                    name: "LNET_PEER_DISCOVERY_DISABLED",
                    numbers: &[1, 0, 2],
                    sentence: "The same as the kernel has it: 1: off; 0: on; 2: verify; goes before LNET_DISCOVERY",
                },
                Variable::new("LNET_DISCOVERY"),
            ],
            global: Some(GlobalKey { reset_by_del: true, ..GlobalKey::JUDGED_BY_NODE }),
            c: functions(
                "lustre_lnet_config_discovery",
                "Sets whether peers are discovered: 0 not, 1 yes, 2 only to compare what they\nsay with what is known of them.",
                "lustre_lnet_show_discovery",
                "Shows that under global, as discovery.",
            ),
            ..GLOBAL
        },
        access: choice!(discovery, [DiscoveryMode::Off, DiscoveryMode::On, DiscoveryMode::Verify]),
    };
    DropAsymRoute = Row {
        spec: Spec {
            name: "drop_asym_route",
            sentence: "Drop messages that came by another way than the answer would go (1) or not (0)",
            values: Values::Switch,
            replace: Some(|_| 1),
            global: Some(GlobalKey { reset_by_del: true, ..GlobalKey::JUDGED_BY_NODE }),
            c: functions(
                "lustre_lnet_config_drop_asym_route",
                "Sets whether messages are dropped that came by another way than the\nanswer would go: 0 or 1.",
                "lustre_lnet_show_drop_asym_route",
                "Shows that under global, as drop_asym_route.",
            ),
            ..GLOBAL
        },
        access: field!(drop_asym_route),
    };
    RetryCount = Row {
        spec: Spec {
            name: "retry_count",
            sentence: "How often a message is sent again: 0 to transaction_timeout, and only 0 while health_sensitivity is 0",
            values: FROM_0,
            condition: ", at most transaction_timeout, and only 0 while health_sensitivity is 0",
            variables: &[Variable::new("LNET_RETRY_COUNT")],
            c: functions(
                "lustre_lnet_config_retry_count",
                "Sets how often a message is sent again.",
                "lustre_lnet_show_retry_count",
                "Shows that under global, as retry_count.",
            ),
            ..GLOBAL
        },
        access: field!(retry_count),
    };
    TransactionTimeout = Row {
        spec: Spec {
            name: "transaction_timeout",
            sentence: "Seconds that a message and its answer may take: more than retry_count",
            values: FROM_1,
            unit: Unit::Seconds,
            condition: ", more than retry_count",
            variables: &[Variable::new("LNET_TRANSACTION_TIMEOUT")],
            c: functions(
                "lustre_lnet_config_transaction_to",
                "Sets the seconds that a message and its answer may take.",
                "lustre_lnet_show_transaction_to",
                "Shows that under global, as transaction_timeout.",
            ),
            ..GLOBAL
        },
        access: field!(transaction_timeout),
    };
    HealthSensitivity = Row {
        spec: Spec {
            name: "health_sensitivity",
            sentence: "By how much a failure lowers the health of an interface: 0 to 1000; 0 sets retry_count to 0 as well",
            values: Values::Numbers(0, MAX_HEALTH as i64),
            variables: &[Variable::new("LNET_HEALTH_SENSITIVITY")],
            c: functions(
                "lustre_lnet_config_hsensitivity",
                "Sets by how much a failure lowers a health value, 0 to 1000.",
                "lustre_lnet_show_hsensitivity",
                "Shows that under global, as health_sensitivity.",
            ),
            ..GLOBAL
        },
        access: field!(health_sensitivity),
    };
    // The kernel's deprecated tunable.
    RecoveryInterval = Row {
        spec: Spec {
            name: "recovery_interval",
            sentence: "Accepted and without effect",
            values: FROM_0,
            default: Some(""),
            c: functions(
                "lustre_lnet_config_recov_intrv",
                "Sets the recovery interval, which has no effect.",
                "lustre_lnet_show_recov_intrv",
                "Shows that under global, as recovery_interval.",
            ),
            ..GLOBAL
        },
        access: Access { read: |_| Value::Number(1), write: |_, _| Ok(()) },
    };
    RouterSensitivity = Row {
        spec: Spec {
            name: "router_sensitivity",
            sentence: "Percent of its health that a router must have to be used: 0 to 100",
            values: Values::Numbers(0, 100),
            unit: Unit::Percent,
            c: functions(
                "lustre_lnet_config_rtr_sensitivity",
                "Sets the percentage of its health that a router must have.",
                "lustre_lnet_show_rtr_sensitivity",
                "Shows that under global, as router_sensitivity.",
            ),
            ..GLOBAL
        },
        access: field!(router_sensitivity),
    };
    LndTimeout = Row {
        spec: Spec {
            name: "lnd_timeout",
            sentence: "Seconds that a driver has for one message",
            values: FROM_0,
            unit: Unit::Seconds,
            change: ChangeTime::Never("it follows from transaction_timeout and retry_count; set those"),
            c: Some(CFunctions {
                set: None,
                show: CFunction {
                    name: "lustre_lnet_show_lnd_timeout",
                    doc: "Shows under global, as lnd_timeout, the seconds that a driver has for one message. It follows from other\n\
                          settings.",
                },
            }),
            ..LIBRARYS
        },
        access: Access {
            read: |settings| Value::Number(settings.lnd_timeout().into()),
            write: |_, _| Err(InvalidValue::NeverSet),
        },
    };
    ResponseTracking = Row {
        spec: Spec {
            name: "response_tracking",
            sentence: "For which messages answers are awaited: 0 LNet's own, 1 GETs, 2 PUTs, 3 both",
            values: Values::Numbers(0, 3),
            meanings: &["LNet's own", "GETs", "PUTs", "both"],
            variables: &[Variable::new("LNET_RESPONSE_TRACKING")],
            c: functions(
                "lustre_lnet_config_response_tracking",
                "Sets for which messages answers are tracked: 0 LNet's own, 1 GETs,\n2 PUTs, 3 both.",
                "lustre_lnet_show_response_tracking",
                "Shows that under global, as response_tracking.",
            ),
            ..LIBRARYS
        },
        access: field!(response_tracking),
    };
    RecoveryLimit = Row {
        spec: Spec {
            name: "recovery_limit",
            sentence: "Seconds for which recovery pings go to an unhealthy interface, from 0, which is no limit",
            values: FROM_0,
            unit: Unit::Seconds,
            condition: ", where 0 is no limit",
            variables: &[Variable::new("LNET_RECOVERY_LIMIT")],
            c: functions(
                "lustre_lnet_config_recovery_limit",
                "Sets the seconds for which recovery pings go to an unhealthy interface; 0 for ever.",
                "lustre_lnet_show_recovery_limit",
                "Shows that under global, as recovery_limit.",
            ),
            ..LIBRARYS
        },
        access: field!(recovery_limit),
    };
    MaxRecoveryPingInterval = Row {
        spec: Spec {
            name: "max_recovery_ping_interval",
            sentence: "The longest time between two recovery pings to an unhealthy interface, in seconds from 1",
            values: FROM_1,
            unit: Unit::Seconds,
            variables: &[Variable::new("LNET_MAX_RECOVERY_PING_INTERVAL")],
            c: functions(
                "lustre_lnet_config_max_recovery_ping_interval",
                "Sets the most seconds between two recovery pings to an unhealthy interface, from 1 on. Not in other implementations.",
                "lustre_lnet_show_max_recovery_ping_interval",
                "Shows that under global, as max_recovery_ping_interval. Not in other implementations.",
            ),
            ..LIBRARYS
        },
        access: field!(max_recovery_ping_interval),
    };
    CompareQueuedBytes = Row {
        spec: Spec {
            name: "compare_queued_bytes",
            sentence: "Compare a peer's interfaces by their queued bytes before their credits (1) or not (0)",
            values: Values::Switch,
            replace: Some(|_| 1),
            variables: &[Variable::new("LNET_COMPARE_QUEUED_BYTES")],
            c: functions(
                "lustre_lnet_config_compare_queued_bytes",
                "Sets whether a peer's interfaces are compared by their queued bytes before their credits: 0 or 1. Not in other implementations.",
                "lustre_lnet_show_compare_queued_bytes",
                "Shows that under global, as compare_queued_bytes. Not in other implementations.",
            ),
            ..LIBRARYS
        },
        access: field!(compare_queued_bytes),
    };
    DiscoveryTimeout = Row {
        spec: Spec {
            name: "discovery_timeout",
            sentence: "Seconds that a discovery may take, all of its steps together, and that a message waits for one, from 1",
            values: FROM_1,
            unit: Unit::Seconds,
            variables: &[Variable::new("LNET_DISCOVERY_TIMEOUT")],
            c: functions(
                "lustre_lnet_config_discovery_to",
                "Sets the seconds that a discovery may take, all of its steps together, from 1.",
                "lustre_lnet_show_discovery_to",
                "Shows that under global, as discovery_timeout.",
            ),
            ..LIBRARYS
        },
        access: field!(discovery_timeout),
    };
    FirstPing = Row {
        spec: Spec {
            name: "first_ping",
            sentence: "1: without discovery, too, a peer is pinged once before it is used, as in the kernel; 0: it is not",
            values: Values::Switch,
            variables: &[Variable::new("LNET_FIRST_PING")],
            ..Spec::LNET
        },
        access: field!(first_ping),
    };
    LockPrimNid = Row {
        spec: Spec {
            name: "lock_prim_nid",
            sentence: "1: the primary NID by which a program first asks for a peer stays, and LNetPrimaryNID answers at once; \
                       0: it waits until the peer is discovered",
            values: Values::Switch,
            variables: &[Variable::new("LNET_LOCK_PRIM_NID")],
            ..Spec::LNET
        },
        access: field!(lock_primary),
    };
    AvoidAsymRouterFailure = Row {
        spec: Spec {
            name: "avoid_asym_router_failure",
            sentence: "1: a gateway on the net of a route is used only while it has a working interface there; 0: in any case",
            values: Values::Switch,
            variables: &[Variable::new("LNET_AVOID_ASYM_ROUTER_FAILURE")],
            ..Spec::LNET
        },
        access: field!(avoid_asym_router_failure),
    };
    CutThrough = Row {
        spec: Spec {
            name: "cut_through",
            sentence: "1: a router sends large messages on while they arrive, between nodes of this library; 0: when they are complete",
            values: Values::Switch,
            variables: &[Variable::new("LNET_CUT_THROUGH")],
            ..Spec::LNET
        },
        access: field!(cut_through),
    };
    AliveRouterCheckInterval = Row {
        spec: Spec {
            name: "alive_router_check_interval",
            sentence: "Seconds between two questions to a gateway whether it forwards; 0: none",
            values: Values::Numbers(0, MAX_WORD),
            unit: Unit::Seconds,
            variables: &[Variable::new("LNET_ALIVE_ROUTER_CHECK_INTERVAL")],
            ..Spec::LNET
        },
        access: field!(alive_router_check_interval),
    };
    RouterPingTimeout = Row {
        spec: Spec {
            name: "router_ping_timeout",
            sentence: "Seconds, after the check interval, for which a router waits for a message on each of its nets before it \
                       reports its interfaces there as down",
            values: Values::Numbers(0, MAX_WORD),
            unit: Unit::Seconds,
            variables: &[Variable::new("LNET_ROUTER_PING_TIMEOUT")],
            ..Spec::LNET
        },
        access: field!(router_ping_timeout),
    };
    ResendUnconfirmed = Row {
        spec: Spec {
            name: "resend_unconfirmed",
            sentence: "1: what may have arrived at a peer that would not know it again, such as a kernel's, is sent again all \
                       the same; 0: it is not",
            values: Values::Switch,
            variables: &[Variable::new("LNET_RESEND_UNCONFIRMED")],
            ..Spec::LNET
        },
        access: field!(resend_unconfirmed),
    };
}

const fn functions(
    set: &'static str,
    set_doc: &'static str,
    show: &'static str,
    show_doc: &'static str,
) -> Option<CFunctions> {
    let set = CFunction { name: set, doc: set_doc };
    Some(CFunctions { set: Some(set), show: CFunction { name: show, doc: show_doc } })
}
