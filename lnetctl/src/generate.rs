//! `lnetctl generate`: manual pages and completions.

use crate::cli::{Cli, EXIT_STATUS, Globals};
use crate::shell::completion;
use clap::CommandFactory;
use lnet_command_line::generate::{KnownValues, Pages, Program};
use lnet_dlc::client::Client;

/// The examples of the pages, from sessions with nodes.
pub const EXAMPLES: &str = include_str!("cli/examples.md");

const FILES: &[(&str, &str)] = &[
    ("/run/lnet/NAME.sock", "The control socket of the node NAME of root; lnetd is called lnetd."),
    (
        "$XDG_RUNTIME_DIR/lnet/NAME.sock",
        "That of another user. The environment variable LNET_RUNTIME_DIR names another directory.",
    ),
    ("/etc/lnet/lnet.conf", "The configuration that lnetd reads at its start."),
];

const SEE_ALSO: &[(&str, &[&str])] = &[
    ("", &["lnetd(8)", "lst(8)", "lnet(7)", "lnet-yaml(7)", "lnet-environment(7)"]),
    ("lnet", &["lnetd(8)", "lnet-environment(7)"]),
    ("route", &["lnetctl-routing(8)", "lnetctl-set(8)", "lnet(7)"]),
    ("net", &["lnetctl-peer(8)", "lnetctl-udsp(8)", "lnet-multi-rail(7)", "lustre_lnet_config_ni(3)"]),
    ("routing", &["lnetctl-route(8)", "lnetctl-set(8)", "lustre_lnet_enable_routing(3)"]),
    ("set", &["lnetctl-global(8)", "lnetctl-tunables(8)", "lnet-environment(7)", "lnet-yaml(7)"]),
    ("import", &["lnetctl-export(8)", "lnet-yaml(7)", "lustre_yaml_config(3)"]),
    ("export", &["lnetctl-import(8)", "lnet-yaml(7)", "lustre_yaml_show(3)"]),
    ("stats", &["lnetctl-top(8)", "lnetctl-net(8)", "lnetctl-peer(8)", "lnet_counters_get(3)"]),
    ("debug", &["lnetctl-net(8)", "lnetctl-peer(8)", "lnet-multi-rail(7)"]),
    ("global", &["lnetctl-set(8)", "lnetctl-tunables(8)", "lnet-yaml(7)"]),
    ("tunables", &["lnetctl-global(8)", "lnetctl-set(8)", "lnet-environment(7)"]),
    (
        "peer",
        &[
            "lnetctl-discover(8)",
            "lnetctl-ping(8)",
            "lnet-multi-rail(7)",
            "lnet-selection(7)",
            "LNetPrimaryNID(3)",
        ],
    ),
    ("ping", &["lnetctl-discover(8)", "lustre_lnet_ping_nid(3)"]),
    (
        "discover",
        &["lnetctl-ping(8)", "lnetctl-peer(8)", "lnet-multi-rail(7)", "lustre_lnet_discover_nid(3)"],
    ),
    ("service-id", &["lnetctl-net(8)", "lustre_lnet_calc_service_id(3)"]),
    ("udsp", &["lnetctl-peer(8)", "lnet-selection(7)", "lustre_lnet_add_udsp(3)"]),
    ("setup-mrrouting", &["lnetctl-net(8)", "lnet-multi-rail(7)"]),
    ("cpt-of-nid", &["lnet-environment(7)", "lustre_lnet_calc_cpt_of_nid(3)"]),
    ("fault", &["lnetctl-stats(8)", "LNetCtl(3)"]),
    ("program", &["lnetd(8)", "lnet-attach(7)"]),
    ("top", &["lnetctl-stats(8)", "lnetctl-net(8)", "lnetctl-peer(8)"]),
    ("apply", &["lnetctl-import(8)", "lnetctl-export(8)", "lnet-yaml(7)"]),
    ("convert", &["lnetctl-import(8)", "lnetctl-tunables(8)", "lnet-yaml(7)", "lnet-environment(7)"]),
    ("doctor", &["lnetctl-ping(8)", "lnetctl-report(8)", "lnet-environment(7)"]),
    ("report", &["lnetctl-export(8)", "lnetctl-doctor(8)", "lnetctl-stats(8)"]),
    ("cluster", &["lnetctl-export(8)", "lnetctl-doctor(8)", "lnetctl-route(8)", "lnet-yaml(7)"]),
    ("events", &["lnetctl-top(8)", "lnetctl-peer(8)", "lnetd(8)"]),
    ("exporter", &["lnetctl-stats(8)", "lnetd(8)", "lnet-environment(7)"]),
];

/// The words that complete a command line: values that the node which the line or the environment names, or this machine, has.
fn values(line: &str) -> Vec<String> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let globals = Globals::take(&words).map(|(globals, _)| globals).unwrap_or_default().or_environment();
    completion::words(line, &Client::new(globals.node))
}

/// `lnetctl`, with a page for each command or group of commands.
pub fn program() -> Program {
    Program {
        definition: Cli::command(),
        exit_status: EXIT_STATUS,
        pages: Pages::EachCommand,
        examples: EXAMPLES,
        files: FILES,
        see_also: SEE_ALSO,
        values: Some(KnownValues { options: completion::options(), complete: values }),
    }
}
