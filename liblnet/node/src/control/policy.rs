//! Requests about the user-defined selection policy.

use lnet_core::policy::{Action, PartnerByRule, Rule, RuleEffect};
use lnet_core::{Core, Errno};
use lnet_dlc::request::{AddUdsp, AppliedUdsp, DelSameUdsp, GivenByUdsp, Udsp, UdspAction, UdspPartner};
use lnet_wire::Nid;

pub(super) fn add(core: &Core, add: AddUdsp) -> Result<(), Errno> {
    let action = match add.action {
        UdspAction::Priority(priority) => Action::Priority(priority),
        UdspAction::PreferredList => Action::PreferredList,
    };
    let rule = Rule { messages: add.messages, ..Rule::new(add.src, add.dst, add.rte, action) };
    core.admin().add_rule(rule, add.index.map(|index| index as usize))
}

pub(super) fn delete_same(core: &Core, del: DelSameUdsp) -> Result<(), Errno> {
    let rule = Rule::new(del.src, del.dst, del.rte, Action::Priority(0));
    core.admin().delete_same_rule(&rule, del.index.map(|index| index as usize))
}

pub(super) fn get(core: &Core, index: u32) -> Result<Udsp, Errno> {
    let rules = core.admin().rules();
    let rule = rules.get(index as usize).cloned().ok_or(Errno::NotFound)?;
    let action = match rule.action {
        Action::Priority(priority) => UdspAction::Priority(priority),
        Action::PreferredList => UdspAction::PreferredList,
    };
    let Rule { src, dst, rte, messages, .. } = rule;
    Ok(Udsp { index, src, dst, rte, action, messages })
}

/// The effect of the rules on a local NI (`own`) or a peer NI. [`Errno::NotFound`] for an unknown NID.
pub(super) fn applied(core: &Core, nid: Nid, own: bool) -> Result<AppliedUdsp, Errno> {
    let known = if own { core.nets().ni(nid).is_some() } else { core.admin().peer(nid).is_some() };
    if !known {
        return Err(Errno::NotFound);
    }
    let applied = if own { core.admin().applied_to_ni(nid) } else { core.admin().applied_to_peer_ni(nid) };
    Ok(AppliedUdsp {
        nid: applied.nid.map(effect),
        net: applied.net.map(effect),
        preferred_nids: partners(&applied.local_nids),
        preferred_routers: partners(&applied.gateways),
    })
}

/// The number of NIDs in a reply's list (UD-40).
const MAX_PARTNERS_SHOWN: usize = 128;

fn partners(list: &[PartnerByRule]) -> Vec<UdspPartner> {
    let partner = |its: &PartnerByRule| UdspPartner { nid: its.nid, given: effect(its.given) };
    list.iter().take(MAX_PARTNERS_SHOWN).map(partner).collect()
}

fn effect(given: RuleEffect) -> GivenByUdsp {
    let rule = u32::try_from(given.rule).unwrap_or(u32::MAX);
    GivenByUdsp { priority: given.priority, messages: given.messages, rule }
}
