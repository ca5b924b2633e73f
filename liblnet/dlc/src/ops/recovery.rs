//! The recovery queues: the interfaces of the node, and the peer NIs, that are being recovered.

use super::error_text::error_text;
use crate::report::{Operation, Report, SeqNo};
use crate::request::{Backend, Request};
use crate::{ReturnCode, Value};
use lnet_wire::Nid;

/// Shows the interfaces being recovered. `lustre_lnet_show_local_ni_recovq`.
pub fn show_local(backend: &dyn Backend, seq_no: SeqNo, report: &mut Report) -> ReturnCode {
    show(backend, true, "local NI recovery", seq_no, report)
}

/// Shows the peer NIs being recovered. `lustre_lnet_show_peer_ni_recovq`.
pub fn show_peer(backend: &dyn Backend, seq_no: SeqNo, report: &mut Report) -> ReturnCode {
    show(backend, false, "peer NI recovery", seq_no, report)
}

fn show(backend: &dyn Backend, local: bool, key: &str, seq_no: SeqNo, report: &mut Report) -> ReturnCode {
    match backend.ask::<Vec<Nid>>(Request::GetRecoveryQueue(local)) {
        Ok(nids) => {
            if !nids.is_empty() {
                let named =
                    nids.iter().enumerate().map(|(i, nid)| (format!("nid-{i}"), nid.to_string().into()));
                report.show(key, Value::Map(named.collect()));
            }
            report.success(Operation::Show, key, seq_no)
        }
        Err(errno) => {
            let text = format!("cannot read the recovery queue: {}", error_text(errno));
            // The number is positive, as C callers expect it (dlc 1.2).
            report.end(Operation::Show, key, seq_no, ReturnCode(-errno.to_c()), text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::Fake;
    use super::*;
    use crate::request::Reply;

    #[test]
    fn queues_are_numbered_and_empty_ones_not_shown() {
        let nids = vec!["10.99.1.11@tcp".parse().unwrap(), "10.99.0.11@tcp".parse().unwrap()];
        let fake = Fake::new([
            (Request::GetRecoveryQueue(true), Ok(Reply::Nids(nids))),
            (Request::GetRecoveryQueue(false), Ok(Reply::Nids(Vec::new()))),
        ]);
        let mut report = Report::new();
        assert_eq!(show_local(&fake, SeqNo::NONE, &mut report), ReturnCode::OK);
        assert_eq!(show_peer(&fake, SeqNo::NONE, &mut report), ReturnCode::OK);
        let expected = "local NI recovery:\n    nid-0: 10.99.1.11@tcp\n    nid-1: 10.99.0.11@tcp\n";
        assert_eq!(report.shown.to_yaml(), expected);
    }

    #[test]
    fn a_failure_is_a_positive_errno() {
        let fake = Fake::down(Request::GetRecoveryQueue(true));
        assert_eq!(show_local(&fake, SeqNo::NONE, &mut Report::new()), ReturnCode(100));
    }
}
