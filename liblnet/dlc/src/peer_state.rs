//! The bits of a peer's state word, by name (dlc appendix C).

/// The name of each bit, from bit 0 on.
pub const FLAGS: [&str; 22] = [
    "multi-rail",
    "no-discovery",
    "router-enabled",
    "configured",
    "discovered",
    "rediscover",
    "discovering",
    "data-present",
    "nids-up-to-date",
    "ping-sent",
    "push-sent",
    "ping-failed",
    "push-failed",
    "force-ping",
    "force-push",
    "router-ni-force-delete",
    "router-discovery",
    "router-discovered",
    "marked-for-deletion",
    "deleted",
    "lock-primary",
    "bad-config",
];

/// The flag of a configured peer.
pub const CONFIGURED: u32 = 1 << 3;

/// The bits of `state` that are set, lowest first, by name; bits without a name by their number.
pub fn words(state: u32) -> Vec<String> {
    (0..u32::BITS as usize)
        .filter(|bit| state & 1 << bit != 0)
        .map(|bit| FLAGS.get(bit).map_or_else(|| format!("bit-{bit}"), |name| (*name).to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_described_bit_by_bit() {
        let table: [(u32, &[&str]); 5] = [
            (0, &[]),
            (273, &["multi-rail", "discovered", "nids-up-to-date"]),
            (8224, &["rediscover", "force-ping"]),
            (CONFIGURED, &["configured"]),
            (1 << 21 | 1 << 22 | 1 << 31, &["bad-config", "bit-22", "bit-31"]),
        ];
        for (state, expected) in table {
            assert_eq!(words(state), expected, "{state}");
        }
    }
}
