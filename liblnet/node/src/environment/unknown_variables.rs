//! Environment variables that no part of the library reads: most likely misspelt.

use super::CONFIGURATION;
use crate::driver_configs::DriverConfigs;
use crate::tunables::variables;
use lnet_dlc::nearest;
use lnet_log::{LogClass, write_line};

/// Variables that are read elsewhere: by `lnetctl` and `lnetd`, by the libraries' logger, by any node with a control
/// socket.
const READ_ELSEWHERE: [&str; 9] = [
    "LNET_ATTACH",
    "LNET_ATTACH_GROUP",
    "LNET_ATTACH_MODE",
    "LNET_ATTACH_RING",
    "LNET_DEBUG",
    "LNET_LOG_FORMAT",
    "LNET_NODE",
    "LNET_RUNTIME_DIR",
    "LNET_STATUS_MODE",
];
/// Prefixes of the variables of LNet selftest, which checks them, and of this project's tests.
const OTHERS: [&str; 3] = ["LNET_SELFTEST_", "LNET_SIM_", "LNET_TEST_"];

/// Logs variables that look like the library's and are unknown. To be called once at the start of a node that is
/// configured from the environment.
pub fn warn_of_unknown_variables() {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for (name, meant) in unknown(names) {
        write_line!(LogClass::ConfigIgnored, "{name}: not a variable of LNet{meant}; ignored");
    }
}

/// The beginnings of the names of all variables: of the node's, and of each driver's.
pub fn variable_prefixes() -> Vec<String> {
    let drivers = DriverConfigs::default();
    ["lnet"].into_iter().chain(drivers.names()).map(|name| format!("{}_", name.to_uppercase())).collect()
}

/// The unknown variables, each with the most similar known one.
fn unknown(names: impl IntoIterator<Item = String>) -> Vec<(String, String)> {
    let of_rows = variables();
    let prefixes = variable_prefixes();
    let known = || {
        let configuration = CONFIGURATION.iter().map(|(name, _)| *name);
        let metrics = lnet_metrics::VARIABLES.iter().map(|(name, _)| *name);
        configuration.chain(metrics).chain(of_rows.iter().copied()).chain(READ_ELSEWHERE)
    };
    let is_unknown = |name: &String| {
        prefixes.iter().any(|prefix| name.starts_with(prefix))
            && !OTHERS.iter().any(|prefix| name.starts_with(prefix))
            && known().all(|its| its != name)
    };
    let mut names: Vec<String> = names.into_iter().filter(is_unknown).collect();
    names.sort();
    names.into_iter().map(|name| (nearest(&name, known()), name)).map(|(meant, name)| (name, meant)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelled_variable_is_reported_and_no_other() {
        let names = [
            "LNET_NETWORK",
            "LNET_NETWORKS",
            "SOCKLND_CREDITS",
            "LNET_NODE",
            "LNET_TEST_UNDER_LOAD",
            "LNETD",
            "SOCKLND_CREDIT",
            "LNET_SOMETHING_ELSE",
        ];
        let meant = [
            ("LNET_NETWORK", "; did you mean 'LNET_NETWORKS'?"),
            ("LNET_SOMETHING_ELSE", ""),
            ("SOCKLND_CREDIT", "; did you mean 'SOCKLND_CREDITS'?"),
        ];
        let meant = meant.map(|(name, meant)| (name.to_owned(), meant.to_owned()));
        assert_eq!(unknown(names.map(str::to_owned)), meant);
    }

    /// Fails if a variable in the documentation counts as misspelt.
    #[test]
    fn every_variable_in_the_documentation_exists() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        for file in [
            "README.md",
            "docs/environment.md",
            "docs/configuration.md",
            "docs/sharing.md",
            "docs/metrics.md",
            "docs/man/lnetd.8",
        ] {
            let text = std::fs::read_to_string(format!("{root}/{file}")).unwrap();
            // A manual page has backslashes before its hyphens.
            let words = text.split(|c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit() && c != '_');
            let names = words.filter(|word| word.starts_with("LNET_") || word.starts_with("SOCKLND_"));
            let in_code = [
                "LNET_PID_",
                "LNET_NID_",
                "LNET_EQ_",
                "LNET_MD_",
                "LNET_INS_",
                "LNET_UNLINK",
                "LNET_ACK_",
                "LNET_EVENT_",
            ];
            let names = names.filter(|name| !in_code.iter().any(|prefix| name.starts_with(prefix)));
            let fields_of_the_journal =
                ["LNET_CLASS", "LNET_SUBSYSTEM", "LNET_NI", "LNET_PEER", "LNET_GATEWAY", "LNET_NET"];
            let names = names.filter(|name| !fields_of_the_journal.contains(name));
            // A prefix, or the version of the library's symbols.
            let names = names.filter(|name| !name.ends_with('_') && !name.starts_with("LNET_2"));
            assert_eq!(unknown(names.map(str::to_owned)), [], "{file}");
        }
    }
}
