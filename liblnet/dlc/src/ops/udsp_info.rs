//! The effects of selection rules on a NID, as `net show` and `peer show` show them.

use crate::Value;
use crate::request::{AppliedUdsp, Backend, Request};
use lnet_wire::{Errno, Nid};
use std::collections::BTreeSet;

/// The level of verbosity from which these effects are shown.
pub(super) const DETAIL: u32 = 4;

/// The value of the `udsp info` key of one of the node's interfaces or of a peer NI.
pub(super) fn udsp_info(backend: &dyn Backend, nid: Nid, local: bool) -> Result<Value, Errno> {
    let applied = match backend.ask(Request::GetAppliedUdsp(nid, local)) {
        // The peer was removed after the list was requested.
        Err(Errno::NotFound) => AppliedUdsp::default(),
        applied => applied?,
    };
    let mut shown = Value::map()
        .with("net priority", priority(applied.net_priority()))
        .with("nid priority", priority(applied.nid_priority()));
    for (key, given) in [("net", applied.net), ("nid", applied.nid)] {
        if let Some(given) = given {
            shown.push(format!("{key} rule"), given.rule);
            if let Some(messages) = given.messages {
                shown.push(format!("{key} messages"), messages.get());
            }
        }
    }
    for (key, partners) in [
        ("Preferred gateway NIDs", &applied.preferred_routers),
        ("Preferred source NIDs", &applied.preferred_nids),
    ] {
        if !partners.is_empty() {
            let numbered =
                partners.iter().enumerate().map(|(i, its)| (format!("NID-{i}"), its.nid.to_string().into()));
            shown.push(key, Value::Map(numbered.collect()));
            let rules = partners.iter().map(|its| its.given.rule).collect::<BTreeSet<_>>();
            let rules: Vec<String> = rules.iter().map(u32::to_string).collect();
            shown.push(key.replace("NIDs", "rules"), Value::Quoted(rules.join(",")));
        }
    }
    Ok(shown)
}

/// The priority as a value; -1 stands for none.
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
