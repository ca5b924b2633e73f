//! Settings of the whole node.

pub use lnet_settings::Setting;

use lnet_settings::{ChangeTime, Settings, Value};
use lnet_wire::Errno;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::fmt;

/// The values of the settings of the block `global`, as a map from names to numbers. The NUMA range has requests of its own,
/// as in the kernel, and is not in the map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tunables(Settings);

impl Tunables {
    /// The global tunables out of all settings of a node.
    pub const fn of(settings: Settings) -> Self {
        Self(settings)
    }

    /// The value of a setting.
    pub fn get(&self, setting: Setting) -> u32 {
        u32::try_from(self.0.get(setting)).unwrap_or(u32::MAX)
    }

    /// Changes a setting as a node does: [`Settings::set`].
    pub fn set(&mut self, setting: Setting, value: i64) -> Result<(), Errno> {
        self.0.set(setting, value)
    }

    fn all() -> impl Iterator<Item = Setting> {
        Setting::all_global().filter(|setting| *setting != Setting::NumaRange)
    }
}

impl Serialize for Tunables {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        Self::all().try_for_each(|setting| map.serialize_entry(setting.name(), &self.get(setting)))?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Tunables {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ByName)
    }
}

/// Reads the map. Names that this version does not know are ignored, and missing ones have their defaults.
struct ByName;

impl<'de> Visitor<'de> for ByName {
    type Value = Tunables;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("settings with their values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tunables, A::Error> {
        let mut settings = Settings::default();
        while let Some((name, value)) = map.next_entry::<String, u32>()? {
            let Ok(setting) = name.parse::<Setting>() else { continue };
            if matches!(setting.spec().change, ChangeTime::AnyTime) {
                let stored = setting.row().write(&mut settings, &Value::Number(value.into()));
                stored.map_err(|wanted| A::Error::custom(format!("{name}: {value}: wanted is {wanted}")))?;
            }
        }
        Ok(Tunables(settings))
    }
}

/// The name of the setting that says whether names of interfaces mean their IPv6 addresses.
pub const LARGE_NIDS: &str = "large_nids";

/// The current value of a setting of the node or a tunable of one of its drivers.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SettingState {
    /// The module that the setting belongs to: `lnet`, or a driver.
    pub module: String,
    /// The name of the setting.
    pub name: String,
    /// The current value.
    pub value: Value,
    /// The default value.
    pub default: Value,
    /// The origin of the current value.
    pub set_by: SetBy,
    /// Whether it may change while the node runs.
    pub can_change: bool,
}

/// The origin of the value of a setting.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetBy {
    /// The default: nothing has set the value.
    Default,
    /// The environment variable of this name, at the start.
    Environment(String),
    /// A file that was imported at the start.
    File,
    /// A request while the node runs: a command or a call of the C API.
    Command,
    /// Other settings, from which the value is derived.
    Settings,
}
