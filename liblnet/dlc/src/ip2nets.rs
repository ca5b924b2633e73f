//! `ip2nets`: rules that put a machine on nets by its addresses (DLC sheet 4).

use crate::InterfaceSpec;
use crate::interfaces::HostInterface;
use lnet_wire::{IpRange, NetId};
use thiserror::Error;

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Which net.
    pub net: NetId,
    /// By which interfaces; none: by those with a matching address.
    pub interfaces: Vec<InterfaceSpec>,
    /// Which addresses; none: any.
    pub ranges: Vec<IpRange>,
}

/// An interface that a rule names, but whose address the rule excludes or that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Mismatch {
    #[error("interface {interface} has address {address}, which is not in {ranges}")]
    Contradiction { interface: String, address: std::net::Ipv4Addr, ranges: String },
    #[error("there is no interface {0}")]
    Missing(String),
    #[error("interface {0} is down")]
    Down(String),
    #[error("interface {0} has no IPv4 address")]
    NoAddress(String),
}

/// What a rule comes to on one machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    /// One NI is to be made of each.
    pub interfaces: Vec<InterfaceSpec>,
    /// What the rule names and this machine does not have so.
    pub mismatches: Vec<Mismatch>,
}

/// What `rule` comes to on a machine with the interfaces `host`.
pub fn matched(rule: &Rule, host: &[HostInterface]) -> Matched {
    todo!("{rule:?} {host:?}")
}
