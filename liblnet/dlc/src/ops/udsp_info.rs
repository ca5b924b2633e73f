//! What selection rules made of a NID, as `net show` and `peer show` tell it.

use crate::Value;
use crate::request::{AppliedUdsp, Backend, Request};
use lnet_wire::{Errno, Nid};

/// Level of verbosity from which it is shown.
pub(super) const DETAIL: u32 = 4;

/// The value of the `udsp info` key of one of the node's interfaces or of a peer NI.
pub(super) fn udsp_info(backend: &dyn Backend, nid: Nid, local: bool) -> Result<Value, Errno> {
    let applied = match backend.ask(Request::GetAppliedUdsp(nid, local)) {
        // It went since the list was made.
        Err(Errno::NotFound) => NOTHING,
        applied => applied?,
    };
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

const NOTHING: AppliedUdsp = AppliedUdsp {
    nid_priority: u32::MAX,
    net_priority: u32::MAX,
    preferred_nids: Vec::new(),
    preferred_routers: Vec::new(),
};

/// -1 for none.
const fn priority(priority: u32) -> Value {
    Value::Int(match priority {
        u32::MAX => -1,
        some => some as i64,
    })
}

#[cfg(test)]
mod tests {
    use super::super::fake::Fake;
    use super::*;

    #[test]
    fn a_removed_nid_has_no_priorities() {
        let nid: Nid = "10.99.0.11@tcp".parse().unwrap();
        let request = Request::GetAppliedUdsp(nid, true);
        let gone = Fake::new([(request.clone(), Err(Errno::NotFound))]);
        let nothing = Value::map().with("net priority", -1).with("nid priority", -1);
        assert_eq!(udsp_info(&gone, nid, true), Ok(nothing));
        assert_eq!(udsp_info(&Fake::down(request), nid, true), Err(Errno::NetworkDown));
    }
}
