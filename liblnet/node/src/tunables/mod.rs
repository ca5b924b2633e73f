//! The settings of a node and the tunables of its drivers, from all their tables.

mod start;
mod states;
#[cfg(test)]
mod tests;

use crate::start_config::StartConfig;
use lnet_settings::{NODE, RejectedVariable, Spec, Value};
use start::START;
pub(crate) use states::SettingStates;

/// Stores the values of the environment variables of all rows in `config`; `look_up` returns the text of a variable that is
/// set. The result names the settings that were set, each with the variable that was used.
pub(crate) fn apply(
    config: &mut StartConfig,
    look_up: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<(&'static str, &'static str)>, RejectedVariable> {
    let mut set = lnet_settings::apply(NODE, &mut config.settings, look_up)?;
    set.extend(lnet_settings::apply(START, config, look_up)?);
    set.extend(config.drivers.apply(look_up)?);
    Ok(set)
}

/// Calls `each` with the row of each setting of a node, of its start and of its drivers, and with the value that it has in `config`.
pub fn for_each(config: &StartConfig, mut each: impl FnMut(&'static Spec, Value)) {
    NODE.iter().for_each(|row| each(&row.spec, row.read(&config.settings)));
    START.iter().for_each(|row| each(&row.spec, row.read(config)));
    config.drivers.for_each(&mut each);
}

/// The names of all environment variables of the rows.
pub(crate) fn variables() -> Vec<&'static str> {
    let mut names = Vec::new();
    for_each(&StartConfig::default(), |spec, _| {
        names.extend(spec.variables.iter().map(|variable| variable.name))
    });
    names
}
