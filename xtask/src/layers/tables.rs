//! The layers: which crates, and which folders of a crate, may name which others. ARCHITECTURE.md shows these tables.
//!
//! A line names one crate or folder, and all that it may name. Lower ones come first, so an arrow upward is a change of this file.

/// A crate or folder, and the crates or folders that it may name.
pub(crate) type Layer = (&'static str, &'static [&'static str]);

/// The crates of the workspace that a crate may depend on. Those under `tests/` and `benches/`, and `xtask`, may depend on any.
pub(crate) const CRATES: &[Layer] = &[
    ("lnet-os", &[]),
    ("lnet-log", &["lnet-os"]),
    ("lnet-wire", &[]),
    ("lnet-settings", &["lnet-wire"]),
    ("lnet-core", &["lnet-log", "lnet-os", "lnet-settings", "lnet-wire"]),
    ("lnet-ring", &[]),
    ("lnet-attach", &["lnd-common", "lnet-core", "lnet-os", "lnet-ring", "lnet-wire", "lolnd"]),
    ("lnet-sim", &["lnet-core", "lnet-wire", "lolnd"]),
    ("lnd-common", &["lnet-core", "lnet-os", "lnet-wire"]),
    ("lolnd", &["lnet-core", "lnet-wire"]),
    ("lnd-template", &["lnet-core", "lnet-settings", "lnet-wire", "lolnd"]),
    ("o2iblnd", &["lnd-common", "lnet-core", "lnet-log", "lnet-os", "lnet-settings", "lnet-wire", "lolnd"]),
    (
        "shmlnd",
        &[
            "lnd-common",
            "lnet-core",
            "lnet-log",
            "lnet-os",
            "lnet-ring",
            "lnet-settings",
            "lnet-wire",
            "lolnd",
        ],
    ),
    ("socklnd", &["lnd-common", "lnet-core", "lnet-log", "lnet-os", "lnet-settings", "lnet-wire"]),
    ("lnet-dlc", &["lnet-log", "lnet-os", "lnet-settings", "lnet-wire"]),
    (
        "lnet-node",
        &[
            "lnd-common",
            "lnet-attach",
            "lnet-core",
            "lnet-dlc",
            "lnet-log",
            "lnet-os",
            "lnet-ring",
            "lnet-settings",
            "lnet-wire",
            "lolnd",
            "o2iblnd",
            "shmlnd",
            "socklnd",
        ],
    ),
    (
        "lnet",
        &[
            "lnet-attach",
            "lnet-core",
            "lnet-dlc",
            "lnet-log",
            "lnet-node",
            "lnet-os",
            "lnet-ring",
            "lnet-wire",
        ],
    ),
    ("lnet-api", &["lnet-os", "lnet-wire"]),
    ("ptlrpc", &["lnet-api", "lnet-log", "lnet-os", "lnet-wire"]),
    ("m0net", &["lnet-api", "lnet-log", "lnet-os", "lnet-wire"]),
    ("lnet-selftest", &["lnet-api", "lnet-log", "lnet-os", "lnet-wire"]),
    ("lnet-command-line", &[]),
    ("lnet-manual", &[]),
    (
        "lnetctl",
        &["lnet-command-line", "lnet-dlc", "lnet-log", "lnet-node", "lnet-settings", "lnet-wire"],
    ),
    ("lst", &["lnet", "lnet-command-line", "lnet-dlc", "lnet-log", "lnet-selftest", "lnet-wire"]),
    ("lnetd", &["lnet", "lnet-dlc", "lnet-log", "lnet-node", "lnet-selftest", "lnet-wire"]),
];

/// The folders of `src` that a folder of the same crate may name. Files directly in `src` do not count.
pub(crate) const FOLDERS: &[(&str, &[Layer])] = &[
    (
        "lnet-core",
        &[
            ("cpt", &[]),
            ("environment", &["cpt"]),
            ("event", &["memory"]),
            ("memory", &["environment", "event"]),
            ("credit", &[]),
            ("stats", &[]),
            ("model", &["credit", "environment", "event", "memory", "stats"]),
            ("policy", &["model"]),
            ("objects", &["event", "memory", "model"]),
            ("confirm", &["environment", "model"]),
            ("fault", &["environment", "model"]),
            ("select", &["cpt", "model"]),
            ("router", &["environment", "memory", "model"]),
            ("topology", &["environment", "model", "policy", "router", "select"]),
            ("sending", &["credit", "environment", "model", "topology"]),
            ("health", &["environment", "memory", "model", "select", "topology"]),
            ("discovery", &["environment", "event", "memory", "model", "select", "topology"]),
            (
                "data_path",
                &[
                    "confirm",
                    "discovery",
                    "environment",
                    "event",
                    "fault",
                    "health",
                    "memory",
                    "model",
                    "objects",
                    "router",
                    "select",
                    "sending",
                    "stats",
                    "topology",
                ],
            ),
            (
                "admin",
                &[
                    "data_path",
                    "discovery",
                    "environment",
                    "event",
                    "fault",
                    "health",
                    "memory",
                    "model",
                    "objects",
                    "policy",
                    "router",
                    "select",
                    "stats",
                    "topology",
                ],
            ),
            (
                "monitor",
                &[
                    "admin",
                    "confirm",
                    "data_path",
                    "discovery",
                    "environment",
                    "event",
                    "health",
                    "memory",
                    "model",
                    "objects",
                    "router",
                    "select",
                    "stats",
                    "topology",
                ],
            ),
            (
                "core",
                &[
                    "admin",
                    "cpt",
                    "data_path",
                    "discovery",
                    "environment",
                    "model",
                    "monitor",
                    "router",
                    "stats",
                ],
            ),
        ],
    ),
    (
        "socklnd",
        &[
            ("proto", &[]),
            ("decide", &["proto"]),
            ("conn", &["decide", "proto"]),
            ("peer", &["conn", "decide", "proto"]),
            ("connd", &["conn", "decide", "peer", "proto"]),
        ],
    ),
    (
        "lnet-dlc",
        &[
            ("request", &[]),
            ("ip2nets", &[]),
            ("ops", &["ip2nets", "request"]),
            ("model", &["ip2nets", "ops", "request"]),
            ("yaml", &["ip2nets", "model", "ops", "request"]),
            ("import", &["ip2nets", "model", "ops", "request"]),
            ("apply", &["import", "ip2nets", "model", "ops", "request"]),
        ],
    ),
    (
        "ptlrpc",
        &[
            ("message", &[]),
            ("import", &["message"]),
            ("service", &["message"]),
            ("request", &["import", "message"]),
            ("client", &["import", "message", "request"]),
            ("c", &["client", "import", "message", "request", "service"]),
        ],
    ),
    (
        "m0net",
        &[
            ("support", &[]),
            ("backend", &[]),
            ("net", &["support"]),
            ("lnet", &["backend", "net", "support"]),
        ],
    ),
    (
        "lnet-selftest",
        &[
            ("wire", &[]),
            ("rpc", &["wire"]),
            ("load", &["rpc", "wire"]),
            ("framework", &["load", "rpc", "wire"]),
            ("console", &["framework", "rpc", "wire"]),
        ],
    ),
];

/// The allowed layers below `name`, if the table has a line for it.
pub(crate) fn allowed<'a>(table: &'a [Layer], name: &str) -> Option<&'a [&'static str]> {
    table.iter().find(|(its, _)| *its == name).map(|(_, below)| *below)
}
