//! The driver's tunables.

use lnet_core::NiTunables;
use lnet_settings::ni_ranges::{CREDITS, PEER_BUFFER_CREDITS, PEER_CREDITS};
use lnet_settings::{MAX_WORD, Row, Spec, Unit, Values, Variable, field};

/// The smallest and the largest ring in KiB.
const RING_RANGE: (i64, i64) = (32, 8192);

/// The settings of the driver. They do not change after it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShmlndConfig {
    /// The tunables of every interface.
    pub ni: NiTunables,
    /// The size in KiB of the ring that this node makes for each direction of a connection; the next power of two is taken. Default 256.
    pub ring: u32,
}

impl Default for ShmlndConfig {
    fn default() -> Self {
        Self { ni: NiTunables::default(), ring: 256 }
    }
}

impl ShmlndConfig {
    /// The words for records of a ring.
    pub(crate) fn ring_words(&self) -> usize {
        let kib = self.ring.clamp(RING_RANGE.0 as u32, RING_RANGE.1 as u32).next_power_of_two();
        kib as usize * (1024 / size_of::<u64>())
    }
}

/// The longest ring of a peer in bytes: the largest one with what a ring has beside its records.
pub(crate) const MAX_RING: usize = (RING_RANGE.1 as usize + 4) << 10;

/// A tunable of this driver.
const SHMLND: Spec = Spec { module: "shmlnd", ..Spec::LNET };

/// A row whose value is a field of the configuration.
macro_rules! row {
    ($name:literal, $variable:literal, $values:expr, $unit:expr, $sentence:literal, $($field:tt)+) => {
        Row {
            spec: Spec {
                name: $name,
                sentence: $sentence,
                values: $values,
                unit: $unit,
                variables: &[Variable::new($variable)],
                ..SHMLND
            },
            access: field!($($field)+),
        }
    };
}

/// The tunables.
pub(crate) const TUNABLES: &[Row<ShmlndConfig>] = &[
    row!(
        "credits",
        "SHMLND_CREDITS",
        Values::Numbers(1, CREDITS.most),
        Spec::LNET.unit,
        "Messages under way at once on one interface",
        ni.credits
    ),
    row!(
        "peer_credits",
        "SHMLND_PEER_CREDITS",
        Values::Numbers(1, PEER_CREDITS.most),
        Spec::LNET.unit,
        "Messages under way at once to one peer's interface",
        ni.peer_credits
    ),
    row!(
        "peer_buffer_credits",
        "SHMLND_PEER_BUFFER_CREDITS",
        Values::Numbers(PEER_BUFFER_CREDITS.least, PEER_BUFFER_CREDITS.most),
        Spec::LNET.unit,
        "Router buffers of each CPT that one peer's interface may occupy; 0: as many as SHMLND_PEER_CREDITS",
        ni.peer_buffer_credits
    ),
    row!(
        "peer_timeout",
        "SHMLND_PEER_TIMEOUT",
        Values::Numbers(0, MAX_WORD),
        Unit::Seconds,
        "Seconds without a message from a peer after which a router treats it as down; 0: never",
        ni.peer_timeout
    ),
    row!(
        "ring",
        "SHMLND_RING",
        Values::Numbers(RING_RANGE.0, RING_RANGE.1),
        Spec::LNET.unit,
        "KiB of each of the two rings of a connection that this node makes; the next power of two is taken",
        ring
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ring_has_a_size_that_rings_may_have() {
        for (kib, bytes) in
            [(0, 32 << 10), (33, 64 << 10), (256, 256 << 10), (8192, 8 << 20), (u32::MAX, 8 << 20)]
        {
            let words = ShmlndConfig { ring: kib, ..ShmlndConfig::default() }.ring_words();
            assert_eq!(words * 8, bytes);
            assert!(lnet_ring::size_in_words(words).is_some_and(|words| words * 8 <= MAX_RING), "{kib}");
        }
    }
}
