//! `lnetctl peer`

use super::{CommandOutcome, Context};
use crate::cli::{Peer, PeerAdd, PeerCredits, PeerDel, PeerExplain, PeerSet};
use lnet_dlc::ops::explain::explain;
use lnet_dlc::ops::peer::{self, MAX_NIDS, Modify, parse_nids};
use lnet_dlc::{Operation, ReturnCode, SeqNo};

pub(super) fn run(command: &Peer, cx: &mut Context<'_>) -> CommandOutcome {
    match command {
        Peer::Add(command) => {
            let PeerAdd { primary, nids, ip2nets, non_mr, lock_primary } = command;
            let what = Modify::Add { multi_rail: !non_mr, lock_primary: *lock_primary };
            CommandOutcome::change(modify(primary, nids, ip2nets, what, cx))
        }
        Peer::Del(command) => {
            let PeerDel { primary, nids, ip2nets, force } = command;
            CommandOutcome::change(modify(primary, nids, ip2nets, Modify::Del { force: *force }, cx))
        }
        Peer::Show(command) => {
            let (nid, detail) = (command.nid.as_deref(), command.verbosity.level());
            CommandOutcome::show(peer::show(cx.node, nid, detail, SeqNo::NONE, &mut cx.report, false))
        }
        Peer::List => CommandOutcome::show(peer::list(cx.node, SeqNo::NONE, &mut cx.report)),
        Peer::Set(command) => CommandOutcome::change(set(command, cx)),
        Peer::Explain(PeerExplain { to, from, .. }) => {
            CommandOutcome::show(explain(cx.node, to, from.as_deref(), SeqNo::NONE, &mut cx.report))
        }
    }
}

pub(super) fn credits(PeerCredits::Show: &PeerCredits, cx: &mut Context<'_>) -> CommandOutcome {
    CommandOutcome::show(peer::show(cx.node, None, 1, SeqNo::NONE, &mut cx.report, false))
}

fn modify(
    primary: &Option<String>,
    nids: &Option<String>,
    ip2nets: &Option<String>,
    what: Modify,
    cx: &mut Context<'_>,
) -> ReturnCode {
    let Some(list) = ip2nets else {
        let (primary, nids) = (primary.as_deref(), nids.as_deref());
        return peer::modify(cx.node, primary, nids, what, SeqNo::NONE, &mut cx.report);
    };
    let primaries = match parse_nids(list, MAX_NIDS) {
        Ok(primaries) => primaries,
        Err(error) => {
            let word = if matches!(what, Modify::Add { .. }) { "add" } else { "del" };
            let text = format!("--ip2nets '{list}': {error}");
            return cx.report.end(Operation::Peer, word, SeqNo::NONE, ReturnCode::BAD_PARAM, text);
        }
    };
    for nid in primaries {
        let nid = nid.to_string();
        let rc = peer::modify(cx.node, Some(&nid), None, what, SeqNo::NONE, &mut cx.report);
        if !rc.is_ok() {
            return rc;
        }
    }
    ReturnCode::OK
}

fn set(command: &PeerSet, cx: &mut Context<'_>) -> ReturnCode {
    let nid = command.nid.as_deref();
    if let Some(state) = command.state {
        return peer::set_state(cx.node, state, nid, SeqNo::NONE, &mut cx.report);
    }
    let nid = match (command.all, nid) {
        (true, _) => None,
        (false, Some(nid)) => Some(nid),
        (false, None) if command.health.is_none() => return ReturnCode::OK,
        (false, None) => {
            let text = "which peer? give --nid NID or --all";
            return cx.report.end(
                Operation::Add,
                "peer_ni healthv",
                SeqNo::NONE,
                ReturnCode::MISSING_PARAM,
                text,
            );
        }
    };
    peer::set_health(cx.node, command.health.unwrap_or(-1), nid, SeqNo::NONE, &mut cx.report)
}
