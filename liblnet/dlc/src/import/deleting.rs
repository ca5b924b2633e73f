//! Deletes the items of a file: `import --del`.

use super::adding::{modify, text};
use super::{complete_peers, each};
use crate::model::{Block, NetItem, PeerItem, UdspItem};
use crate::ops::global::Setting;
use crate::ops::peer::Modify;
use crate::ops::policy::RuleAction;
use crate::report::{Operation, Report, SeqNo};
use crate::request::{Backend, Request, Udsp, UdspAction};
use crate::{ReturnCode, ops};
use lnet_wire::Errno;
use std::num::NonZeroU32;

pub(super) fn del(backend: &dyn Backend, block: &Block, report: &mut Report) -> ReturnCode {
    match block {
        Block::Net(items) => each(items, |item, seq_no| net(backend, item, seq_no, report)),
        Block::Route(items) => each(items, |item, seq_no| {
            ops::route::del(backend, text(&item.net).as_deref(), item.gateway.as_deref(), seq_no, report)
        }),
        Block::Peer(items) => each(items, |item, seq_no| match item.replace {
            true => complete_peers::del(backend, item, seq_no, report),
            false => peer(backend, item, seq_no, report),
        }),
        Block::Routing(item) => ops::routing::enable(backend, false, item.seq_no, report),
        Block::Global(item) => item.it.iter().fold(ReturnCode::OK, |before, (setting, _)| {
            default_of(*setting)
                .map_or(ReturnCode::OK, |value| {
                    ops::global::config(backend, *setting, value, item.seq_no, report)
                })
                .or(before)
        }),
        Block::Udsp(items) => each(items, |item, seq_no| rule(backend, item, seq_no, report)),
        Block::Ip2nets(_)
        | Block::Buffers(_)
        | Block::Statistics(_)
        | Block::Ping(_)
        | Block::Discover(_) => ReturnCode::OK,
    }
}

/// Deletes the interfaces that are named; the whole net if none is.
fn net(backend: &dyn Backend, item: &NetItem, seq_no: SeqNo, report: &mut Report) -> ReturnCode {
    if item.ip2net.is_some() && item.net.is_none() {
        // Interfaces that a rule added are deleted by net and interface.
        return ReturnCode::OK;
    }
    let specs: Vec<_> = item.nis.iter().filter_map(|ni| ni.interface.clone()).collect();
    ops::net::del(backend, text(&item.net).as_deref(), &specs, seq_no, report)
}

/// Deletes NIDs of a peer; the whole peer if none is named or the primary one is among them.
fn peer(backend: &dyn Backend, item: &PeerItem, seq_no: SeqNo, report: &mut Report) -> ReturnCode {
    let primary = text(&item.primary);
    let some = item.nids.as_ref().filter(|nids| item.primary.is_some_and(|primary| !nids.contains(&primary)));
    let nids = some.map_or(&[][..], |nids| nids);
    let what = Modify::Del { force: false };
    modify(backend, primary.as_deref(), nids, what, seq_no, report)
}

/// The default that `del` sets a setting back to; `None` for settings that it leaves as they are.
fn default_of(setting: Setting) -> Option<i64> {
    setting.spec().global.filter(|key| key.reset_by_del).map(|_| setting.default_value())
}

/// Deletes the rule with the criteria of the item, at whatever index it is now: deleting renumbers, and so the
/// indices of an exported file are wrong after the first. An item with an index alone means the rule at that index;
/// -1 means all.
fn rule(backend: &dyn Backend, item: &UdspItem, seq_no: SeqNo, report: &mut Report) -> ReturnCode {
    if item.src.is_none() && item.dst.is_none() && item.rte.is_none() {
        return ops::policy::del(backend, item.index, seq_no, report);
    }
    let is_it = |rule: &&Udsp| {
        let same = rule.src == item.src && rule.dst == item.dst && rule.rte == item.rte;
        let messages =
            item.messages.is_none_or(|messages| rule.messages.map(NonZeroU32::get) == Some(messages));
        same && messages
            && match item.action {
                RuleAction::Priority(priority) => rule.action == UdspAction::Priority(priority),
                RuleAction::PreferredList => rule.action == UdspAction::PreferredList,
                RuleAction::Suited => true,
            }
    };
    match backend.list::<Box<Udsp>>(Request::GetUdsp) {
        Ok(rules) => match rules.iter().map(|rule| &**rule).find(is_it) {
            Some(rule) => ops::policy::del(backend, Some(rule.index), seq_no, report),
            None => {
                let text = "there is no such rule; see 'lnetctl udsp show'";
                report.end(Operation::Del, "udsp", seq_no, Errno::NotFound.into(), text)
            }
        },
        Err(errno) => {
            let text = format!("cannot list the selection rules: {}", errno.text());
            report.end(Operation::Add, "udsp", seq_no, errno.into(), text)
        }
    }
}
