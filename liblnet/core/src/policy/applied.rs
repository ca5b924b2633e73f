//! The effect of the rules on one NID (UD-40).

use crate::model::LOWEST_PRIORITY;
use lnet_wire::Nid;
use std::num::NonZeroU32;

/// The effect of the rules on one NID.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The effect of the rules on the NID itself.
    pub nid: Option<RuleEffect>,
    /// The effect of the rules on the net of the NID.
    pub net: Option<RuleEffect>,
    /// The local NIDs that rules prefer for messages to the NID.
    pub local_nids: Vec<PartnerByRule>,
    /// The gateways that rules prefer for messages to the NID.
    pub gateways: Vec<PartnerByRule>,
}

/// The effect of a rule on one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleEffect {
    /// The priority; lower is preferred.
    pub priority: u32,
    /// The number of messages of a turn, if the rule counts them.
    pub messages: Option<NonZeroU32>,
    /// The index of the rule in the list.
    pub rule: usize,
}

/// A partner that a rule names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartnerByRule {
    /// The NID of the partner.
    pub nid: Nid,
    /// The priority and the turn of the partner.
    pub given: RuleEffect,
}

/// A gateway with all NIDs by which a rule may name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayNids {
    /// The NID in the gateway's routes.
    pub nid: Nid,
    /// All NIDs of the gateway.
    pub nids: Vec<Nid>,
}

impl Applied {
    /// The priority of the NID; [`LOWEST_PRIORITY`] without a rule.
    pub fn nid_priority(&self) -> u32 {
        self.nid.map_or(LOWEST_PRIORITY, |given| given.priority)
    }

    /// The priority of the net; [`LOWEST_PRIORITY`] without a rule.
    pub fn net_priority(&self) -> u32 {
        self.net.map_or(LOWEST_PRIORITY, |given| given.priority)
    }
}
