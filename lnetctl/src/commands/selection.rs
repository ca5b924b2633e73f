//! `lnetctl selection`

use super::{CommandOutcome, Context};
use crate::cli::{Adding, Deleting, NetRules, NidRules, PeerRules, Selection};
use lnet_dlc::SeqNo;
use lnet_dlc::ops::policy::{RuleAction, RuleEffect};
use lnet_dlc::ops::selection::{self, Selection as Rules};

pub(super) fn run(command: &Selection, cx: &mut Context<'_>) -> CommandOutcome {
    match command {
        Selection::Net(NetRules::Add(Adding { about, priority })) => {
            add(Rules::Net(Some(&about.net)), *priority, cx)
        }
        Selection::Net(NetRules::Del(Deleting { about, index })) => {
            del(Rules::Net(about.net.as_deref()), *index, cx)
        }
        Selection::Net(NetRules::Show(nets)) => show(Rules::Net(nets.net.as_deref()), cx),
        Selection::Nid(NidRules::Add(Adding { about, priority })) => {
            add(Rules::Nid(Some(&about.nid)), *priority, cx)
        }
        Selection::Nid(NidRules::Del(Deleting { about, index })) => {
            del(Rules::Nid(about.nid.as_deref()), *index, cx)
        }
        Selection::Nid(NidRules::Show(nids)) => show(Rules::Nid(nids.nid.as_deref()), cx),
        Selection::Peer(PeerRules::Add(Adding { about, priority })) => {
            add(Rules::Peer(Some(&about.local), Some(&about.remote)), *priority, cx)
        }
        Selection::Peer(PeerRules::Del(Deleting { about, index })) => {
            del(Rules::Peer(about.local.as_deref(), about.remote.as_deref()), *index, cx)
        }
        Selection::Peer(PeerRules::Show(pairs)) => {
            show(Rules::Peer(pairs.local.as_deref(), pairs.remote.as_deref()), cx)
        }
    }
}

fn add(rules: Rules<'_>, priority: u32, cx: &mut Context<'_>) -> CommandOutcome {
    let effect = RuleEffect::of(RuleAction::Priority(priority));
    CommandOutcome::change(selection::add(cx.node, rules, effect, SeqNo::NONE, &mut cx.report))
}

fn del(rules: Rules<'_>, index: Option<u32>, cx: &mut Context<'_>) -> CommandOutcome {
    CommandOutcome::change(selection::del(cx.node, rules, index, SeqNo::NONE, &mut cx.report))
}

fn show(rules: Rules<'_>, cx: &mut Context<'_>) -> CommandOutcome {
    CommandOutcome::show(selection::show(cx.node, rules, SeqNo::NONE, &mut cx.report))
}
