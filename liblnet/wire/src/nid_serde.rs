//! Strings for NIDs, nets, process IDs, patterns and selectors in serde's formats.

use crate::{NetId, Nid, NidPattern, ProcessId, Selector};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

macro_rules! as_text {
    ($($type:ty),*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(de::Error::custom)
            }
        }
    )*};
}

as_text!(NetId, Nid, NidPattern, ProcessId, Selector);
