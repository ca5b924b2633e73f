//! The ranges of numbers that are configured: one row for each, for the command line, files, C and the environment alike.

pub use lnet_settings::ni_ranges::*;
pub use lnet_settings::{OutOfRange, Range};

use lnet_settings::{MAX_INT, MAX_WORD};

/// The health of an interface.
pub const HEALTH: Range = Range::new("health", 0, 1000);
/// The number of routers on a route.
pub const HOPS: Range = Range::new("hop", 1, 255);
/// The priority of a route.
pub const ROUTE_PRIORITY: Range = Range::new("priority", 0, MAX_INT);
/// The health sensitivity of the gateway of a route.
pub const ROUTE_SENSITIVITY: Range = Range::new("health_sensitivity", 1, MAX_INT);
/// Router buffers of one size; 0: the default, -1: as many as there are.
pub const ROUTER_BUFFERS: Range = Range::new("router buffers", -1, MAX_INT);
/// The priority of a selection rule.
pub const RULE_PRIORITY: Range = Range::new("priority", 0, 255);
/// The messages of a turn of a selection rule.
pub const RULE_MESSAGES: Range = Range::new("messages", 1, MAX_WORD);
/// The place of a selection rule.
pub const RULE_INDEX: Range = Range::new("idx", 0, MAX_INT);
/// Milliseconds that a ping may take.
pub const PING_TIMEOUT_MS: Range = Range::new("timeout", 1, 180_000);
/// The level of detail of what is shown.
pub const DETAIL: Range = Range::new("detail", 0, MAX_INT);
/// The number that the author of a file gives an item, which errors of the item carry; -1: none.
pub const SEQ_NO: Range = Range::new("seq_no", -1, MAX_INT);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_out_of_range_is_named_with_the_range() {
        assert_eq!(CONNS_PER_PEER.count(127), Ok(127));
        assert_eq!((CREDITS.or_default(0), CREDITS.or_default(7)), (Ok(None), Ok(Some(7))));
        let table = [
            (CONNS_PER_PEER.count(128).unwrap_err(), "conns_per_peer 128 is not within 0 to 127"),
            (CREDITS.or_default(-1).unwrap_err(), "credits -1 is not within 0 to 2147483647"),
            (HOPS.count(0).unwrap_err(), "hop 0 is not within 1 to 255"),
            (RULE_PRIORITY.count(-1).unwrap_err(), "priority -1 is not within 0 to 255"),
        ];
        for (error, text) in table {
            assert_eq!(error.to_string(), text);
        }
        // Numbers with a meaning below 0 have no count there.
        assert_eq!((ROUTER_BUFFERS.check(-1), ROUTER_BUFFERS.count(-1).is_err()), (Ok(-1), true));
    }
}
