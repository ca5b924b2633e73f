//! `lnetctl selection`

use super::{Context, Outcome, udsp};
use crate::cli::{Adding, Deleting, NetRules, NidRules, OfPairs, PeerRules, Selection, SomePairs};
use lnet_dlc::ops::policy::{self, RuleEffect, RuleText};
use lnet_dlc::request::Udsp;
use lnet_dlc::{Operation, ReturnCode, SeqNo};
use lnet_wire::Selector;

pub(super) fn run(command: &Selection, cx: &mut Context<'_>) -> Outcome {
    match command {
        Selection::Net(NetRules::Add(Adding { about, priority })) => add(&[src(&about.net)], *priority, cx),
        Selection::Net(NetRules::Del(Deleting { about, index })) => {
            del(&about.net.iter().map(|net| src(net)).collect::<Vec<_>>(), *index, cx)
        }
        Selection::Net(NetRules::Show(nets)) => {
            let is_meant =
                |rule: &Udsp| rule.dst.is_none() && rule.src.as_ref().is_some_and(Selector::is_of_nets);
            show(is_meant, nets.net.as_deref().map(src), cx)
        }
        Selection::Nid(NidRules::Add(Adding { about, priority })) => add(&both(&about.nid), *priority, cx),
        Selection::Nid(NidRules::Del(Deleting { about, index })) => match (&about.nid, index) {
            // The rule about this node's NIDs, or the one about others'.
            (Some(nid), Some(_)) => {
                del(&[if is_src(nid, *index, cx) { src(nid) } else { dst(nid) }], *index, cx)
            }
            (Some(nid), None) => del(&both(nid), None, cx),
            (None, index) => del(&[], *index, cx),
        },
        Selection::Nid(NidRules::Show(nids)) => {
            let is_of_nids = |side: &Option<Selector>| side.as_ref().is_some_and(|side| !side.is_of_nets());
            let is_meant = |rule: &Udsp| match (&rule.src, &rule.dst, &rule.rte) {
                (one, None, None) | (None, one, None) => is_of_nids(one),
                _ => false,
            };
            let given = nids.nid.as_ref().and_then(|nid| nid.parse::<Selector>().ok());
            let named = |rule: &Udsp| {
                nids.nid.is_none() || given.is_some() && (rule.src == given || rule.dst == given)
            };
            show(|rule: &Udsp| is_meant(rule) && named(rule), None, cx)
        }
        Selection::Peer(PeerRules::Add(Adding { about: OfPairs { local, remote }, priority })) => {
            add(&[pair(local, remote)], *priority, cx)
        }
        Selection::Peer(PeerRules::Del(Deleting { about, index })) => {
            del(&some_pair(about).into_iter().collect::<Vec<_>>(), *index, cx)
        }
        Selection::Peer(PeerRules::Show(pairs)) => {
            show(|rule: &Udsp| rule.src.is_some() && rule.dst.is_some(), some_pair(pairs), cx)
        }
    }
}

fn src(text: &str) -> RuleText<'_> {
    RuleText { src: Some(text), ..RuleText::default() }
}

fn dst(text: &str) -> RuleText<'_> {
    RuleText { dst: Some(text), ..RuleText::default() }
}

/// A NID may be this node's or another's.
fn both(nid: &str) -> [RuleText<'_>; 2] {
    [src(nid), dst(nid)]
}

fn pair<'a>(local: &'a str, remote: &'a str) -> RuleText<'a> {
    RuleText { src: Some(local), dst: Some(remote), rte: None }
}

fn some_pair(pairs: &SomePairs) -> Option<RuleText<'_>> {
    Some(pair(pairs.local.as_deref()?, pairs.remote.as_deref()?))
}

/// Whether the rule at this index is about this node's NIDs.
fn is_src(nid: &str, index: Option<i32>, cx: &Context<'_>) -> bool {
    let index = index.and_then(|index| u32::try_from(index).ok());
    let rule = index.and_then(|index| cx.node.ask::<Box<Udsp>>(lnet_dlc::Request::GetUdsp(index)).ok());
    rule.is_some_and(|rule| rule.src.is_some() && rule.src == nid.parse().ok())
}

fn add(rules: &[RuleText<'_>], priority: i64, cx: &mut Context<'_>) -> Outcome {
    let rc = match udsp::priority(priority, cx) {
        Ok(action) => {
            let effect = RuleEffect::of(action);
            each(rules, |rule| policy::add(cx.node, rule, effect, SeqNo::NONE, &mut cx.report))
        }
        Err(rc) => rc,
    };
    Outcome::change(rc)
}

fn del(rules: &[RuleText<'_>], index: Option<i32>, cx: &mut Context<'_>) -> Outcome {
    let place = index.and_then(|index| u32::try_from(index).ok());
    let rc = match (rules, place) {
        ([], None) => {
            let text = "give the index of the rule, or what it is about";
            cx.report.end(Operation::Del, "selection", SeqNo::NONE, ReturnCode::BAD_PARAM, text)
        }
        ([], index) => policy::del(cx.node, index, SeqNo::NONE, &mut cx.report),
        (rules, index) => {
            each(rules, |rule| policy::del_same(cx.node, rule, index, SeqNo::NONE, &mut cx.report))
        }
    };
    Outcome::change(rc)
}

/// The first that fails ends it.
fn each(rules: &[RuleText<'_>], mut one: impl FnMut(RuleText<'_>) -> ReturnCode) -> ReturnCode {
    rules
        .iter()
        .fold(ReturnCode::OK, |before, rule| if before == ReturnCode::OK { one(*rule) } else { before })
}

fn show(is_meant: impl Fn(&Udsp) -> bool, named: Option<RuleText<'_>>, cx: &mut Context<'_>) -> Outcome {
    let given = |text: Option<&str>| text.and_then(|text| text.parse::<Selector>().ok());
    let is_named = |rule: &Udsp| {
        named.is_none_or(|named| {
            rule.src == given(named.src) && rule.dst == given(named.dst) && rule.rte.is_none()
        })
    };
    let rc = policy::show_if(cx.node, |rule| is_meant(rule) && is_named(rule), SeqNo::NONE, &mut cx.report);
    Outcome::show(rc)
}
