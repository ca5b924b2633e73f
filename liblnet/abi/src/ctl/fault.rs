//! Fault rules in `LNetCtl`: `struct lnet_fault_attr` and `lnet_fault_stat` of 2.10 are in the
//! inline buffers, the action in `ioc_flags` (c-abi 5.4). The buffers may lie anywhere; callers of `LNetCtl`
//! other than `ioctl` fill in only the pointers.

use super::argument::{Bytes, load, store};
use crate::types::libcfs_ioctl_data;
use lnet_core::Errno;
use lnet_dlc::request::{DelFaults, Fault, FaultCounts, FaultEffect, FaultKind, FaultOdds, FaultRule};
use lnet_dlc::{Backend, Request};
use lnet_wire::NidPattern;
use std::ffi::c_char;
use std::num::NonZeroU32;

/// The size of `struct lnet_fault_attr`.
const ATTR: usize = 96;
/// The size of `struct lnet_fault_stat`.
const STAT: usize = 104;

/// The actions, `LNET_CTL_*`, for drop rules; those for delay rules are greater by 4.
const ADD: u32 = 0;
const DEL: u32 = 1;
const RESET: u32 = 2;
const LIST: u32 = 3;
const OF_DELAYS: u32 = 4;

/// Carries out the action in `ioc_flags`. LIST returns the rule at position `ioc_count`, [`Errno::NotFound`] past the
/// end; DEL stores the number of deleted rules in `ioc_count`.
pub(super) fn run(node: &dyn Backend, data: &mut libcfs_ioctl_data) -> Result<(), Errno> {
    let kind = match data.ioc_flags / OF_DELAYS {
        0 => FaultKind::Drop,
        1 => FaultKind::Delay,
        _ => return Err(Errno::Invalid),
    };
    match data.ioc_flags % OF_DELAYS {
        ADD => node.tell(Request::AddFault(rule(&Bytes(&mut attr(data)?), kind)?)),
        DEL => {
            let bytes = &mut attr(data)?;
            let (source, dest) = (pattern(&Bytes(bytes), 0)?, pattern(&Bytes(bytes), 8)?);
            data.ioc_count = node.ask(Request::DelFaults(DelFaults { kind, source, dest }))?;
            Ok(())
        }
        RESET => node.tell(Request::ResetFaults(kind)),
        LIST => get(node, data, kind),
        _ => Err(Errno::Invalid),
    }
}

fn get(node: &dyn Backend, data: &libcfs_ioctl_data, kind: FaultKind) -> Result<(), Errno> {
    if !has(data.ioc_inlbuf1, data.ioc_inllen1, ATTR) || !has(data.ioc_inlbuf2, data.ioc_inllen2, STAT) {
        return Err(Errno::Invalid);
    }
    let fault: Box<Fault> = node.ask(Request::GetFault(kind, data.ioc_count))?;
    store(data.ioc_inlbuf1 as u64, &attr_of(&fault.rule))?;
    store(data.ioc_inlbuf2 as u64, &stat_of(&fault.counts))
}

fn attr(data: &libcfs_ioctl_data) -> Result<Vec<u8>, Errno> {
    if !has(data.ioc_inlbuf1, data.ioc_inllen1, ATTR) {
        return Err(Errno::Invalid);
    }
    load(data.ioc_inlbuf1 as u64, ATTR)
}

/// Whether a buffer has the `size` bytes of its structure. Callers within the kernel do not state its length.
fn has(buffer: *const c_char, len: u32, size: usize) -> bool {
    !buffer.is_null() && (len == 0 || len as usize >= size)
}

/// Reads a pattern; `None` for 0, which for DEL means any.
fn pattern(attr: &Bytes<'_>, offset: usize) -> Result<Option<NidPattern>, Errno> {
    match attr.u64(offset) {
        0 => Ok(None),
        number => NidPattern::from_u64(number).map(Some).ok_or(Errno::Invalid),
    }
}

fn rule(attr: &Bytes<'_>, kind: FaultKind) -> Result<FaultRule, Errno> {
    let odds = match (NonZeroU32::new(attr.u32(32)), attr.u32(36)) {
        (Some(rate), 0) => FaultOdds::OneIn(rate),
        (None, interval @ 1..) => FaultOdds::OnePerMs(ms(interval)),
        _ => return Err(Errno::Invalid),
    };
    let effect = match kind {
        FaultKind::Drop => FaultEffect::Drop { errors: 0, all: false },
        FaultKind::Delay => FaultEffect::Delay { latency_ms: ms(attr.u32(40)) },
    };
    Ok(FaultRule {
        source: pattern(attr, 0)?.ok_or(Errno::Invalid)?,
        dest: pattern(attr, 8)?.ok_or(Errno::Invalid)?,
        local: NidPattern::Any,
        portals: attr.u64(16),
        messages: attr.u32(24),
        odds,
        effect,
    })
}

fn ms(seconds: u32) -> u64 {
    u64::from(seconds) * 1000
}

/// The bytes of the structure for a rule, without the values that it has no field for; times are whole seconds, at least 1.
fn attr_of(rule: &FaultRule) -> [u8; ATTR] {
    let mut attr = [0; ATTR];
    let mut bytes = Bytes(&mut attr);
    let number = |pattern: NidPattern| pattern.to_u64().unwrap_or(u64::MAX);
    let seconds = |ms: u64| u32::try_from(ms.div_ceil(1000)).unwrap_or(u32::MAX);
    bytes.put_u64(0, number(rule.source));
    bytes.put_u64(8, number(rule.dest));
    bytes.put_u64(16, rule.portals);
    bytes.put_u32(24, rule.messages);
    match rule.odds {
        FaultOdds::OneIn(rate) => bytes.put_u32(32, rate.get()),
        FaultOdds::OnePerMs(ms) | FaultOdds::HalfMs(ms) => bytes.put_u32(36, seconds(ms)),
    }
    if let FaultEffect::Delay { latency_ms } = rule.effect {
        bytes.put_u32(40, seconds(latency_ms));
    }
    attr
}

fn stat_of(counts: &FaultCounts) -> [u8; STAT] {
    let mut stat = [0; STAT];
    let mut bytes = Bytes(&mut stat);
    let FaultCounts { matched, hit, put, ack, get, reply } = *counts;
    for (offset, count) in [(0, matched), (8, put), (16, ack), (24, get), (32, reply), (40, hit)] {
        bytes.put_u64(offset, count);
    }
    stat
}
