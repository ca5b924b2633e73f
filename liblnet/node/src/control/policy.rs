//! User-defined selection policy.

use lnet_core::policy::{Action, Rule};
use lnet_core::{Core, Errno};
use lnet_dlc::request::{AddUdsp, AppliedUdsp, Udsp, UdspAction};
use lnet_wire::Nid;

pub(super) fn add(core: &Core, add: AddUdsp) -> Result<(), Errno> {
    let action = match add.action {
        UdspAction::Priority(priority) => Action::Priority(priority),
        UdspAction::PreferredList => Action::PreferredList,
    };
    let rule = Rule { src: add.src, dst: add.dst, rte: add.rte, action };
    core.add_rule(rule, add.index.map(|index| index as usize))
}

pub(super) fn get(core: &Core, index: u32) -> Result<Udsp, Errno> {
    let rules = core.rules();
    let rule = rules.get(index as usize).cloned().ok_or(Errno::NotFound)?;
    let action = match rule.action {
        Action::Priority(priority) => UdspAction::Priority(priority),
        Action::PreferredList => UdspAction::PreferredList,
    };
    Ok(Udsp { index, src: rule.src, dst: rule.dst, rte: rule.rte, action })
}

/// The effect of the rules on a local NI (`own`) or a peer NI. [`Errno::NotFound`] for an unknown NID.
pub(super) fn applied(core: &Core, nid: Nid, own: bool) -> Result<AppliedUdsp, Errno> {
    let known = if own { core.nets().ni(nid).is_some() } else { core.peer(nid).is_some() };
    if !known {
        return Err(Errno::NotFound);
    }
    let applied = if own { core.applied_to_ni(nid) } else { core.applied_to_peer_ni(nid) };
    Ok(AppliedUdsp {
        nid_priority: applied.nid_priority,
        net_priority: applied.net_priority,
        preferred_nids: applied.preferred_nids,
        preferred_routers: applied.preferred_routers,
    })
}
