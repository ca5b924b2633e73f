//! The tables of settings in the documentation, from the tables of settings in the code.

use super::sections;
use crate::Result;
use lnet_node::{CONFIGURATION, StartConfig, for_each_setting};

/// Returns docs/environment.md with the tables of variables.
pub(super) fn update_environment(text: &str) -> Result<String> {
    let nets: String = CONFIGURATION.iter().map(|(name, help)| format!("| `{name}` | {help} |\n")).collect();
    let mut variables = String::new();
    for_each_setting(&StartConfig::default(), |spec, value| {
        variables += &spec.variable_rows(&spec.values.shown(value).to_string());
    });
    let text = sections::replace(text, "configuration", &table("variable | what it says", &nets))?;
    let metrics: String =
        lnet_metrics::VARIABLES.iter().map(|(name, help)| format!("| `{name}` | {help} |\n")).collect();
    let text = sections::replace(&text, "metrics", &table("variable | what it says", &metrics))?;
    let head = "variable | what it says | values | default";
    sections::replace(&text, "settings", &table(head, &variables))
}

/// Returns docs/configuration.md with the table of what `lnetctl set` and the block `global` take.
pub(super) fn update_configuration(text: &str) -> Result<String> {
    let mut global = String::new();
    for_each_setting(&StartConfig::default(), |spec, value| {
        global.extend(spec.global.map(|_| spec.global_row(&spec.values.shown(value).to_string())));
    });
    let head = "setting | what it says | values | default | at the start";
    sections::replace(text, "settings", &table(head, &global))
}

fn table(head: &str, rows: &str) -> String {
    let line = "|---".repeat(head.split(" | ").count());
    format!("| {head} |\n{line}|\n{rows}")
}
