//! The effect of the rules on one NID (UD-40).

use crate::model::LOWEST_PRIORITY;
use lnet_wire::Nid;
use std::num::NonZeroU32;

/// The effect of the rules on one NID.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// What the NID is given.
    pub nid: Option<RuleEffect>,
    /// What its net is given.
    pub net: Option<RuleEffect>,
    /// The preferred local NIDs.
    pub local_nids: Vec<PartnerByRule>,
    /// The preferred gateways.
    pub gateways: Vec<PartnerByRule>,
}

/// The effect of a rule on one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleEffect {
    /// The priority.
    pub priority: u32,
    /// The messages of a turn.
    pub messages: Option<NonZeroU32>,
    /// The index of the rule.
    pub rule: usize,
}

/// A partner that a rule names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartnerByRule {
    /// The partner.
    pub nid: Nid,
    /// Its place among the partners.
    pub given: RuleEffect,
}

/// A gateway that rules may name: by any of its NIDs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayNids {
    /// The NID of its routes.
    pub nid: Nid,
    /// All its NIDs.
    pub nids: Vec<Nid>,
}

impl Applied {
    /// The priority of the NID.
    pub fn nid_priority(&self) -> u32 {
        self.nid.map_or(LOWEST_PRIORITY, |given| given.priority)
    }

    /// The priority of its net.
    pub fn net_priority(&self) -> u32 {
        self.net.map_or(LOWEST_PRIORITY, |given| given.priority)
    }
}
