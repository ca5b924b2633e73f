//! Starting and stopping LNet.

use super::error_text::error_text;
use crate::ReturnCode;
use crate::report::{Operation, Report, SeqNo};
use crate::request::{Backend, Configure, Request};
use lnet_wire::Errno;

/// Starts LNet; or stops it, for `None`. It is success if nothing is to be done. `lustre_lnet_config_ni_system`.
pub fn config_ni_system(
    backend: &dyn Backend,
    start: Option<Configure>,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    let up = start.is_some();
    let (operation, request) = match start {
        Some(how) => (Operation::Configure, Request::Configure(how)),
        None => (Operation::Unconfigure, Request::Unconfigure),
    };
    match backend.tell(request) {
        Ok(()) => report.success(operation, "lnet", seq_no),
        Err(errno) => {
            let why = match (up, errno) {
                (false, Errno::Busy) => format!("{}; end the programs that use it first", errno.text()),
                // There is no node to start: the remedy for all other operations does not help here.
                (true, Errno::NetworkDown) => errno.text().to_owned(),
                _ => error_text(errno),
            };
            let text = format!("cannot {} LNet: {why}", operation.word());
            report.end(operation, "lnet", seq_no, errno.into(), text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::Fake;
    use super::*;
    use crate::request::Reply;

    #[test]
    fn the_request_is_sent_and_the_nodes_error_is_returned() {
        let table = [
            (Some(Configure { nets: true, large_nids: false }), Ok(Reply::Done), 0),
            (Some(Configure { nets: false, large_nids: true }), Ok(Reply::Done), 0),
            (None, Err(Errno::Busy), -16),
        ];
        for (start, reply, rc) in table {
            let request = start.map_or(Request::Unconfigure, Request::Configure);
            let fake = Fake::new([(request, reply)]);
            let mut report = Report::new();
            assert_eq!(config_ni_system(&fake, start, SeqNo::NONE, &mut report), ReturnCode(rc));
            let word = if start.is_some() { "configure" } else { "unconfigure" };
            assert!(report.errors_to_yaml().starts_with(&format!("{word}:\n    - lnet:\n")));
        }
    }
}
