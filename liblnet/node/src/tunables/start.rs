//! The rows of the start configuration: settings that belong neither to the node's settings nor to the configuration of a driver.

use crate::start_config::{Forwarding, InterfaceWait, StartConfig};
use lnet_core::cpt::{Layout, Pattern};
use lnet_core::lnd::NidSize;
use lnet_dlc::request::LARGE_NIDS;
use lnet_log::{LogClass, write_line};
use lnet_settings::{Access, InvalidValue, MAX_INT, MAX_WORD, Row, Spec, Unit, Value, Values, Variable};
use lnet_settings::{choice, duration, field};
use std::num::NonZeroUsize;

pub(super) const START: &[Row<StartConfig>] = &[
    Row {
        spec: Spec {
            name: "cpu_npartitions",
            sentence: "Into how many partitions the CPUs are divided, at most 256; 0: one for up to four CPUs, otherwise one for \
                       about every two cores",
            values: Values::Numbers(0, 256),
            variables: &[Variable::new("LNET_CPU_NPARTITIONS")],
            ..Spec::LNET
        },
        access: Access {
            read: |config| match &config.cpts {
                Layout::Count(count) => Value::Number(i64::try_from(count.get()).unwrap_or(i64::MAX)),
                Layout::Default | Layout::Pattern(_) => Value::Number(0),
            },
            write: |config, value| {
                let count = match value {
                    Value::Number(number) => usize::try_from(*number).ok().and_then(NonZeroUsize::new),
                    Value::Text(_) => None,
                };
                config.cpts = count.map_or(Layout::Default, Layout::Count);
                Ok(())
            },
        },
    },
    Row {
        spec: Spec {
            name: "cpu_pattern",
            sentence: "Which CPUs are in which partition: `0[0-3] 1[4-7]`; which NUMA nodes: `N 0[0] 1[1]`; `N`: one partition \
                       for each node; goes before LNET_CPU_NPARTITIONS",
            variables: &[Variable::new("LNET_CPU_PATTERN")],
            ..Spec::LNET
        },
        access: Access {
            read: |config| match &config.cpts {
                Layout::Pattern(pattern) => Value::Text(pattern.to_string()),
                Layout::Default | Layout::Count(_) => Value::Text(String::new()),
            },
            write: |config, value| {
                let text = value.to_string();
                let pattern = text.parse::<Pattern>().map_err(|error| {
                    write_line!(LogClass::ConfigInvalid, "LNET_CPU_PATTERN=\"{text}\": {error}");
                    InvalidValue::NotOfForm("partitions numbered from 0, such as 0[0-3] 1[4-7]")
                })?;
                config.cpts = Layout::Pattern(pattern);
                Ok(())
            },
        },
    },
    Row {
        spec: Spec {
            name: "multi_rail",
            sentence: "1: the node has Multi-Rail; 0: to its peers it is a node of a version before Multi-Rail: it does not discover, \
                       drops what they push, and takes each NID for a peer of its own",
            values: Values::Switch,
            variables: &[Variable::new("LNET_MULTI_RAIL")],
            ..Spec::LNET
        },
        access: field!(multi_rail),
    },
    Row {
        spec: Spec {
            name: "forwarding",
            sentence: "enabled: the node forwards messages between its nets; disabled: it does not, until `lnetctl set routing 1`; \
                       nothing: it does if LNET_ROUTES names one of its own NIDs as a gateway",
            values: Values::Words(&["enabled", "disabled", ""]),
            default: Some("nothing"),
            variables: &[Variable::new("LNET_FORWARDING")],
            ..Spec::LNET
        },
        access: choice!(forwarding, [Forwarding::Enabled, Forwarding::Disabled, Forwarding::ByRoutes]),
    },
    Row {
        spec: Spec {
            name: "tiny_router_buffers",
            sentence: "Buffers for messages without payload on a node that forwards from its start; 0: 2048",
            values: Values::Numbers(0, MAX_INT),
            variables: &[Variable::new("LNET_TINY_ROUTER_BUFFERS")],
            ..Spec::LNET
        },
        access: field!(router_buffers[0]),
    },
    Row {
        spec: Spec {
            name: "small_router_buffers",
            sentence: "Buffers of one page on a node that forwards from its start; 0: 16384",
            values: Values::Numbers(0, MAX_INT),
            variables: &[Variable::new("LNET_SMALL_ROUTER_BUFFERS")],
            ..Spec::LNET
        },
        access: field!(router_buffers[1]),
    },
    Row {
        spec: Spec {
            name: "large_router_buffers",
            sentence: "Buffers of 1 MiB on a node that forwards from its start; 0: 1024",
            values: Values::Numbers(0, MAX_INT),
            variables: &[Variable::new("LNET_LARGE_ROUTER_BUFFERS")],
            ..Spec::LNET
        },
        access: field!(router_buffers[2]),
    },
    Row {
        spec: Spec {
            name: "check_routers_before_use",
            sentence: "1: the start waits until each gateway of LNET_ROUTES has answered or failed to; 0: it does not",
            values: Values::Switch,
            variables: &[Variable::new("LNET_CHECK_ROUTERS_BEFORE_USE")],
            ..Spec::LNET
        },
        access: field!(check_routers_before_use),
    },
    Row {
        spec: Spec {
            name: "wait_for_interfaces",
            sentence: "enabled: the node starts although an interface of LNET_NETWORKS or of its file is not there, is down or has no \
                       address, and the NI is started when it has; disabled: that ends the start, or with a file of lnetd leaves the \
                       interface out; nothing: lnetd waits unless `lnetctl lnet configure` starts it, a program does not",
            values: Values::Words(&["enabled", "disabled", ""]),
            default: Some("nothing"),
            variables: &[Variable::new("LNET_WAIT_FOR_INTERFACES")],
            ..Spec::LNET
        },
        access: choice!(
            interface_wait,
            [InterfaceWait::Enabled, InterfaceWait::Disabled, InterfaceWait::ByProgram]
        ),
    },
    Row {
        spec: Spec {
            name: "max_peers",
            sentence: "Interfaces of other nodes that may be known before messages from new ones are dropped; those that nobody \
                       uses are forgotten first",
            values: Values::Numbers(1, MAX_WORD),
            variables: &[Variable::new("LNET_MAX_PEERS")],
            ..Spec::LNET
        },
        access: field!(max_peers),
    },
    Row {
        spec: Spec {
            name: "max_pending_responses",
            sentence: "ACKs and REPLYs that may wait in the node until their peers take them, about 520 bytes each, before \
                       messages that ask for more are dropped; any one peer always gets 16",
            values: Values::Numbers(1, MAX_WORD),
            variables: &[Variable::new("LNET_MAX_PENDING_RESPONSES")],
            ..Spec::LNET
        },
        access: field!(max_pending_responses),
    },
    Row {
        spec: Spec {
            name: LARGE_NIDS,
            sentence: "1: an interface that is given by its name has the NID with its IPv6 address, if it has one that is not link-local; \
                       0: that with its IPv4 address",
            values: Values::Switch,
            variables: &[Variable::new("LNET_LARGE_NIDS")],
            ..Spec::LNET
        },
        access: choice!(nid_size, [NidSize::Short, NidSize::Large]),
    },
    Row {
        spec: Spec {
            name: "ip2nets_strict",
            sentence: "1: an interface that LNET_IP2NETS names, and that is missing or has another address, ends the start; \
                       0: it is passed over",
            values: Values::Switch,
            variables: &[Variable::new("LNET_IP2NETS_STRICT")],
            ..Spec::LNET
        },
        access: field!(ip2nets_strict),
    },
    Row {
        spec: Spec {
            name: "wait_spin",
            sentence: "Microseconds that a thread waiting for an event asks again and again before it sleeps, where that \
                       pays; 0: never",
            values: Values::Numbers(0, 1_000_000),
            unit: Unit::Microseconds,
            default: Some("200, or 0 on one CPU"),
            variables: &[Variable::new("LNET_WAIT_SPIN")],
            ..Spec::LNET
        },
        access: duration!(from_micros, as_micros, wait_spin),
    },
];
