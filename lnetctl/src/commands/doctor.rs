//! `lnetctl doctor`

use super::{CommandOutcome, Context};
use crate::cli::Doctor;
use crate::doctor::host::Host;
use crate::doctor::{self, State, path};
use lnet_dlc::ReturnCode;

pub(super) fn doctor(command: &Doctor, cx: &mut Context<'_>) -> CommandOutcome {
    let host = Host::here();
    let mut all = Vec::new();
    let mut is_wrong = false;
    for (name, finding) in doctor::findings(&host, cx.node) {
        is_wrong |= finding.state == State::Wrong;
        all.push(finding.to_value("check", name));
    }
    if let Some(nid) = &command.nid {
        let findings = path::try_path(cx.node, nid, host.port);
        for (name, finding) in path::STEPS.into_iter().zip(findings) {
            is_wrong |= finding.state == State::Wrong;
            all.push(finding.to_value("step", name));
        }
    }
    cx.report.show("doctor", all);
    CommandOutcome::show(if is_wrong { ReturnCode::BAD_PARAM } else { ReturnCode::OK })
}
