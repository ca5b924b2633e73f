//! Tunables and CPTs of interfaces, given for one NI, or for an item and all its NIs.

use super::super::fields::{Fields, Reader};
use super::super::scalars::{count, count_or_default, cpts, number};
use super::super::tree::Node;
use crate::ranges::{CONNS_PER_PEER, CREDITS, PEER_BUFFER_CREDITS, PEER_CREDITS, PEER_TIMEOUT};
use crate::request::{LND_NUMBERS, LndNumbers, LndTunables, NiTunables};
use crate::{CptList, ReturnCode};

/// The tunables and CPTs that are given at one level: an item or an NI.
#[derive(Clone, Debug, Default)]
pub(super) struct GivenTunables {
    pub(super) tunables: NiTunables,
    pub(super) lnd: LndTunables,
    pub(super) cpts: Option<CptList>,
}

impl GivenTunables {
    /// Reads `tunables`, `lnd tunables` and `CPT` of an NI or an item. CPTs and the driver's tunables may
    /// also stand among the tunables, and CPTs under `SMP`, as in the Lustre manual.
    pub(super) fn read(fields: &mut Fields<'_>, reader: &mut Reader) -> Self {
        let mut said = Self::default();
        if let Some(node) = fields.section("tunables") {
            said.read_tunables(node, reader);
        }
        if let Some(node) = fields.section("lnd tunables") {
            said.lnd = lnd(node, reader).or(said.lnd);
        }
        if let Some(node) = fields.get("CPT", reader) {
            said.cpts = cpts(node, reader).or(said.cpts);
        }
        said.read_smp(fields, reader);
        said
    }

    /// Reads `SMP` with `CPT` below it. CPTs that are given twice must be the same.
    fn read_smp(&mut self, fields: &mut Fields<'_>, reader: &mut Reader) {
        let Some(node) = fields.get("SMP", reader) else { return };
        let Some(mut below) = Fields::of(node, "SMP", reader) else { return };
        let found = below.get("CPT", reader).and_then(|node| cpts(node, reader));
        below.finish(reader);
        if found.is_some() && self.cpts.is_some() && found != self.cpts {
            reader.wrong(node.at, "'SMP' and 'CPT' say different CPTs; keep one");
        }
        self.cpts = self.cpts.take().or(found);
    }

    fn read_tunables(&mut self, node: &Node, reader: &mut Reader) {
        let Some(mut fields) = Fields::of(node, "tunables", reader) else { return };
        self.tunables = NiTunables {
            peer_timeout: count_or_default(&mut fields, PEER_TIMEOUT, reader),
            peer_credits: count_or_default(&mut fields, PEER_CREDITS, reader),
            peer_buffer_credits: count(&mut fields, PEER_BUFFER_CREDITS, reader),
            credits: count_or_default(&mut fields, CREDITS, reader),
        };
        self.cpts = fields.get("CPT", reader).and_then(|node| cpts(node, reader));
        self.read_smp(&mut fields, reader);
        if let Some(node) = fields.section("lnd tunables") {
            self.lnd = lnd(node, reader);
        }
        // The first design document has the number here, where `item_number` has read it.
        fields.ignore(&["seq_no", "tcp bonding"]);
        fields.finish(reader);
    }

    /// These values, completed by those of `defaults`.
    #[must_use]
    pub(super) fn or(self, defaults: &Self) -> Self {
        let (mine, theirs) = (self.tunables, defaults.tunables);
        Self {
            tunables: NiTunables {
                peer_timeout: mine.peer_timeout.or(theirs.peer_timeout),
                peer_credits: mine.peer_credits.or(theirs.peer_credits),
                peer_buffer_credits: mine.peer_buffer_credits.or(theirs.peer_buffer_credits),
                credits: mine.credits.or(theirs.credits),
            },
            lnd: self.lnd.or(defaults.lnd),
            cpts: self.cpts.or_else(|| defaults.cpts.clone()),
        }
    }
}

trait Or {
    /// These values, completed by those of `defaults`.
    fn or(self, defaults: Self) -> Self;
}

impl Or for LndTunables {
    fn or(self, defaults: Self) -> Self {
        Self {
            conns_per_peer: self.conns_per_peer.or(defaults.conns_per_peer),
            numbers: self.numbers.or(defaults.numbers),
        }
    }
}

/// Reads a driver's tunables; those that no driver here has are accepted and ignored.
pub(super) fn lnd(node: &Node, reader: &mut Reader) -> LndTunables {
    let Some(mut fields) = Fields::of(node, "lnd tunables", reader) else { return LndTunables::default() };
    let conns_per_peer =
        count(&mut fields, CONNS_PER_PEER, reader).and_then(|count| u16::try_from(count).ok());
    let mut numbers = LndNumbers::default();
    for row in &LND_NUMBERS {
        let given = fields.get(row.range.name, reader);
        if let Some(value) = given.and_then(|node| number(node, row.range, ReturnCode::BAD_PARAM, reader)) {
            numbers.give(row, value);
        }
    }
    fields.ignore(&[
        "nqps",
        "timeout",
        "traffic_class",
        "traffic_class_num",
        "auth_key",
        "prov_major_version",
        "prov_minor_version",
        "lnd_timeout",
    ]);
    fields.finish(reader);
    LndTunables { conns_per_peer, numbers }
}
