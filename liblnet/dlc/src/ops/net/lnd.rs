//! The driver's tunables in YAML.

use crate::Value;
use crate::request::LndTunables;
use lnet_wire::NetType;

/// The driver's tunables, as they are shown and exported.
pub(crate) fn shown_lnd(lnd: &LndTunables) -> Value {
    let mut shown = Value::map();
    let (before, after): (Vec<_>, Vec<_>) =
        lnd.numbers.written().partition(|(row, _)| row.of == NetType::O2IB);
    before.into_iter().for_each(|(row, number)| shown.push(row.range.name, number));
    if let Some(connections) = lnd.conns_per_peer {
        shown.push("conns_per_peer", connections);
    }
    after.into_iter().for_each(|(row, number)| shown.push(row.range.name, number));
    shown
}
