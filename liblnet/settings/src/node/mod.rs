//! The settings of the node.

mod settings;
mod table;

pub use settings::{DiscoveryMode, MAX_HEALTH, Settings};
pub use table::{NODE, Setting};

use crate::row::{CFunction, Row, Spec};
use crate::values::Value;
use lnet_wire::Errno;
use std::str::FromStr;
use thiserror::Error;

impl Setting {
    /// The row of the setting.
    pub const fn row(self) -> &'static Row<Settings> {
        &NODE[self as usize]
    }

    /// The description of the setting.
    pub const fn spec(self) -> &'static Spec {
        &self.row().spec
    }

    /// The name of the setting in files, and the word of `lnetctl set`.
    pub const fn name(self) -> &'static str {
        self.spec().name
    }

    /// The settings of the block `global`, in the order in which they are shown (dlc 2.7).
    pub fn all_global() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|setting| setting.spec().global.is_some())
    }

    /// The default value.
    pub fn default_value(self) -> i64 {
        Settings::default().get(self)
    }
}

/// The functions of all settings in the C API, in the order of the header: settings that can only be shown come last.
pub fn c_functions() -> Vec<CFunction> {
    let (mut both, mut shows) = (Vec::new(), Vec::new());
    for functions in Setting::ALL.iter().filter_map(|setting| setting.spec().c) {
        match functions.set {
            Some(set) => both.extend([set, functions.show]),
            None => shows.push(functions.show),
        }
    }
    both.extend(shows);
    both
}

impl Settings {
    /// The value of a setting.
    pub fn get(&self, setting: Setting) -> i64 {
        match setting.row().read(self) {
            Value::Number(number) => number,
            Value::Text(_) => 0,
        }
    }

    /// Changes a setting, as the kernel does: an invalid value is replaced ([`Spec::replace`]) or is [`Errno::Invalid`],
    /// as is a value that contradicts other settings (HE-2, HE-30). Without health sensitivity there are no retries.
    pub fn set(&mut self, setting: Setting, value: i64) -> Result<(), Errno> {
        let mut changed = *self;
        let spec = setting.spec();
        let value = match spec.replace {
            Some(replace) if !spec.values.contains(value) => replace(value),
            _ => value,
        };
        setting.row().write(&mut changed, &Value::Number(value)).map_err(|_| Errno::Invalid)?;
        let agrees = match setting {
            Setting::RetryCount => {
                changed.retry_count <= changed.transaction_timeout
                    && (changed.retry_count == 0 || changed.health_sensitivity > 0)
            }
            Setting::TransactionTimeout => changed.transaction_timeout > changed.retry_count,
            _ => true,
        };
        if !agrees {
            return Err(Errno::Invalid);
        }
        if changed.health_sensitivity == 0 {
            changed.retry_count = 0;
        }
        *self = changed;
        Ok(())
    }
}

/// The error that no setting has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no setting has this name")]
pub struct UnknownSetting;

impl FromStr for Setting {
    type Err = UnknownSetting;

    fn from_str(name: &str) -> Result<Self, UnknownSetting> {
        Self::ALL.iter().copied().find(|setting| setting.name() == name).ok_or(UnknownSetting)
    }
}

#[cfg(feature = "serde")]
mod as_name {
    use super::Setting;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

    impl Serialize for Setting {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_str(self.name())
        }
    }

    impl<'de> Deserialize<'de> for Setting {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let name = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
            name.parse().map_err(de::Error::custom)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_accept_what_the_kernel_accepts() {
        use Setting::*;
        let table: [(Setting, &[i64], &[i64]); 8] = [
            (RetryCount, &[0, 5, 50], &[-1, 51, 1000]),
            (TransactionTimeout, &[3, 50, 100_000], &[0, 1, 2, -1, 1 << 32]),
            (DiscoveryTimeout, &[1, 10, 100_000], &[0, -1, 1 << 31]),
            (HealthSensitivity, &[0, 100, 1000], &[-1, 1001]),
            (RouterSensitivity, &[0, 100], &[-1, 101]),
            (ResponseTracking, &[0, 3], &[-1, 4]),
            (RecoveryLimit, &[0, 10], &[-1]),
            (MaxRecoveryPingInterval, &[1, 900, 100_000], &[0, -1, 1 << 31]),
        ];
        for (setting, good, bad) in table {
            for value in good {
                let mut settings = Settings::default();
                assert_eq!(settings.set(setting, *value), Ok(()), "{setting:?} {value}");
                assert_eq!(settings.get(setting), *value, "{setting:?}");
            }
            for value in bad {
                let mut settings = Settings::default();
                assert_eq!(settings.set(setting, *value), Err(Errno::Invalid), "{setting:?} {value}");
                assert_eq!(settings, Settings::default(), "{setting:?} {value}");
            }
        }
    }

    /// core-behaviour 11: fails if a value that the kernel replaces is refused, or stored unchanged.
    #[test]
    fn a_value_that_the_kernel_replaces_is_replaced() {
        use Setting::*;
        let table = [
            (MaxInterfaces, 100, 100),
            (MaxInterfaces, 2, 4096),
            (MaxInterfaces, -1, 4096),
            (MaxInterfaces, 16, 16),
            (Discovery, 0, 0),
            (Discovery, 2, 2),
            (Discovery, -1, 1),
            (Discovery, 3, 1),
            (DropAsymRoute, 3, 1),
            (CompareQueuedBytes, 2, 1),
            (RecoveryInterval, 9, 1),
        ];
        for (setting, value, expected) in table {
            let mut settings = Settings::default();
            assert_eq!(settings.set(setting, value), Ok(()), "{setting:?} {value}");
            assert_eq!(settings.get(setting), expected, "{setting:?} {value}");
        }
    }

    /// Fails if a row accesses the field of another row, or if a value is not stored.
    #[test]
    fn each_row_has_a_name_and_a_field_of_its_own() {
        for (index, row) in NODE.iter().enumerate() {
            let same_name = NODE.iter().filter(|other| other.spec.name == row.spec.name).count();
            assert_eq!((same_name, Setting::ALL[index].name()), (1, row.spec.name));
            let (least, most) = row.spec.values.bounds();
            for value in [least, most].map(Value::Number) {
                let mut settings = Settings::default();
                let others = |settings: &Settings| -> Vec<_> {
                    let others = NODE.iter().filter(|other| other.spec.name != row.spec.name);
                    others
                        .filter(|other| other.spec.name != "lnd_timeout")
                        .map(|other| other.read(settings))
                        .collect()
                };
                if row.write(&mut settings, &value).is_ok() && row.spec.name != "recovery_interval" {
                    assert_eq!(row.read(&settings), value, "{}", row.spec.name);
                }
                assert_eq!(others(&settings), others(&Settings::default()), "{}", row.spec.name);
            }
        }
    }
}
