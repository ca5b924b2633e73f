//! What selection rules made of a NID, as `net show` and `peer show` tell it.

use crate::Value;
use crate::request::{AppliedUdsp, Backend, Request};
use lnet_wire::{Errno, Nid};

/// Level of verbosity from which it is shown.
pub(super) const DETAIL: u32 = 4;

/// The value of the `udsp info` key of one of the node's interfaces or of a peer NI.
pub(super) fn udsp_info(backend: &dyn Backend, nid: Nid, local: bool) -> Result<Value, Errno> {
    let applied: AppliedUdsp = backend.ask(Request::GetAppliedUdsp(nid, local))?;
    let mut shown = Value::map()
        .with("net priority", priority(applied.net_priority))
        .with("nid priority", priority(applied.nid_priority));
    for (key, nids) in [
        ("Preferred gateway NIDs", &applied.preferred_routers),
        ("Preferred source NIDs", &applied.preferred_nids),
    ] {
        if !nids.is_empty() {
            let numbered =
                nids.iter().enumerate().map(|(i, nid)| (format!("NID-{i}"), nid.to_string().into()));
            shown.push(key, Value::Map(numbered.collect()));
        }
    }
    Ok(shown)
}

/// -1 for none.
const fn priority(priority: u32) -> Value {
    Value::Int(match priority {
        u32::MAX => -1,
        some => some as i64,
    })
}
