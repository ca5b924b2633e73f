//! The origins of the settings of a running node.

use super::for_each;
use crate::start_config::StartConfig;
use lnet_dlc::request::LARGE_NIDS;
use lnet_dlc::request::{SetBy, SettingState};
use lnet_settings::{ChangeTime, NODE, Setting, Settings, Value};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The settings and tunables of a running node, with the origins of their values.
#[derive(Debug)]
pub(crate) struct SettingStates(Mutex<States>);

#[derive(Debug)]
struct States {
    /// The settings with their values at the start, in the order of the tables, that of the node first; the origins of the
    /// values are current.
    at_start: Vec<SettingState>,
    /// The origin of the values that requests set now.
    on_behalf_of: SetBy,
}

impl SettingStates {
    /// The settings of a node that starts with `config`.
    pub(crate) fn new(config: &StartConfig) -> Self {
        let mut defaults = Vec::new();
        for_each(&StartConfig::default(), |spec, value| defaults.push(spec.values.shown(value)));
        let mut defaults = defaults.into_iter();
        let mut at_start = Vec::new();
        for_each(config, |spec, value| {
            let value = spec.values.shown(value);
            let variable = config.set_by_variables.iter().find(|(setting, _)| *setting == spec.name);
            let set_by = match (spec.change, variable) {
                (ChangeTime::Never(_), _) => SetBy::Settings,
                (_, Some((_, variable))) => SetBy::Environment((*variable).to_owned()),
                (_, None) => SetBy::Default,
            };
            at_start.push(SettingState {
                module: spec.module.to_owned(),
                name: spec.name.to_owned(),
                default: defaults.next().unwrap_or_else(|| value.clone()),
                value,
                set_by,
                can_change: spec.change == ChangeTime::AnyTime,
            });
        });
        Self(Mutex::new(States { at_start, on_behalf_of: SetBy::Command }))
    }

    /// Records the origin of the values of `setting`, and of all others whose values differ between `before` and `now`.
    pub(crate) fn note_change(&self, setting: Setting, before: &Settings, now: &Settings) {
        let mut states = self.lock();
        let by = states.on_behalf_of.clone();
        for (other, state) in Setting::ALL.iter().zip(&mut states.at_start) {
            let changed = *other == setting || before.get(*other) != now.get(*other);
            if changed && other.spec().change == ChangeTime::AnyTime {
                state.set_by = by.clone();
            }
        }
    }

    /// Records that `large_nids` is on, which no other setting of the start can change to.
    pub(crate) fn note_large_nids(&self) {
        let mut states = self.lock();
        let by = states.on_behalf_of.clone();
        if let Some(state) = states.at_start.iter_mut().find(|state| state.name == LARGE_NIDS) {
            (state.value, state.set_by) = (Value::Number(1), by);
        }
    }

    /// Runs `import`, whose requests count as made by a file.
    pub(crate) fn while_importing<T>(&self, import: impl FnOnce() -> T) -> T {
        self.lock().on_behalf_of = SetBy::File;
        let result = import();
        self.lock().on_behalf_of = SetBy::Command;
        result
    }

    /// The states of all tunables while the node has the settings `now`.
    pub(crate) fn list(&self, now: &Settings) -> Vec<SettingState> {
        let mut all = self.lock().at_start.clone();
        for (row, state) in NODE.iter().zip(&mut all) {
            state.value = row.spec.values.shown(row.read(now));
        }
        all
    }

    fn lock(&self) -> MutexGuard<'_, States> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_set_a_setting_is_known_from_the_start_on() {
        let variables = |name: &str| match name {
            "LNET_RETRY_COUNT" => Some("1".to_owned()),
            "LNET_RECEIPTS" => Some("ours".to_owned()),
            _ => None,
        };
        let config = StartConfig::from_lookup(variables).unwrap();
        let states = SettingStates::new(&config);
        let mut settings = config.settings;
        let mut set = |setting, value| {
            let before = settings;
            settings.set(setting, value).unwrap();
            states.note_change(setting, &before, &settings);
            settings
        };
        let of = |settings: &Settings, name: &str| {
            let found = states.list(settings).into_iter().find(|state| state.name == name).unwrap();
            (found.value, found.default, found.set_by)
        };
        let number = |value, default, set_by| (Value::Number(value), Value::Number(default), set_by);
        let by_variable = |name: &str| SetBy::Environment(name.to_owned());

        assert_eq!(of(&config.settings, "retry_count"), number(1, 2, by_variable("LNET_RETRY_COUNT")));
        let text = |text: &str| Value::Text(text.to_owned());
        let acks = (text("ours"), text("all"), by_variable("LNET_RECEIPTS"));
        assert_eq!(of(&config.settings, "delivery_ack"), acks);
        assert_eq!(of(&config.settings, "lnd_timeout"), number(24, 16, SetBy::Settings));

        let now = states.while_importing(|| set(Setting::NumaRange, 7));
        assert_eq!(of(&now, "numa_range"), number(7, 0, SetBy::File));
        // The node sets the retry count to 0 together with this.
        let now = set(Setting::HealthSensitivity, 0);
        assert_eq!(of(&now, "health_sensitivity"), number(0, 100, SetBy::Command));
        assert_eq!(of(&now, "retry_count"), number(0, 2, SetBy::Command));
        assert_eq!(of(&now, "large_nids"), number(0, 0, SetBy::Default));
        states.note_large_nids();
        assert_eq!(of(&now, "large_nids"), number(1, 0, SetBy::Command));
        assert_eq!(of(&now, "max_peers"), number(65_536, 65_536, SetBy::Default));
    }
}
