//! Asking other nodes who they are.

use super::refusal::{is_down, reason};
use crate::report::{Operation, Report, SeqNo};
use crate::request::{Backend, Discover, Ping, PingAnswer, Request};
use crate::{Rc, Value};
use lnet_wire::{Errno, Nid, Pid, ProcessId, TextError};

/// Pings every NID of a comma list of `[PID-]NID` (DLC sheet 1.6). 0 if at least one answered.
/// `lustre_lnet_ping_nid`; `timeout_ms` as there: not above 0, or above 180000, is 180000.
///
/// Each NID that did not answer is reported by itself, with [`Rc::BAD_PARAM`] whatever the cause.
pub fn ping(
    backend: &dyn Backend,
    nids: &str,
    source: Option<&str>,
    timeout_ms: i32,
    seq_no: SeqNo,
    report: &mut Report,
) -> Rc {
    let source: Option<Nid> = match source.map(str::parse).transpose() {
        Ok(source) => source,
        Err(error) => {
            let text = format!("source '{}' is not a NID: {error}", source.unwrap_or_default());
            return report.end(Operation::Manage, "ping", seq_no, Rc::BAD_PARAM, text);
        }
    };
    let timeout_ms = match u32::try_from(timeout_ms) {
        Ok(timeout @ 1..=MAX_TIMEOUT_MS) => timeout,
        _ => MAX_TIMEOUT_MS,
    };
    let request =
        |target| Request::PingPeer(Ping { target, source, timeout_ms: Some(timeout_ms), max_nids: MAX_NIDS });
    ask_each(backend, "ping", nids, request, seq_no, report)
}

/// Discovers every NID of such a list (cfg-085). `lustre_lnet_discover_nid`.
pub fn discover(backend: &dyn Backend, nids: &str, force: bool, seq_no: SeqNo, report: &mut Report) -> Rc {
    let request = |target| Request::Discover(Discover { target, force, max_nids: MAX_NIDS });
    ask_each(backend, "discover", nids, request, seq_no, report)
}

const MAX_TIMEOUT_MS: u32 = 180_000;

/// More than a node has.
const MAX_NIDS: u32 = 1024;

/// Asks everyone in the list, and shows under `word` who answered.
fn ask_each(
    backend: &dyn Backend,
    word: &str,
    nids: &str,
    request: impl Fn(ProcessId) -> Request,
    seq_no: SeqNo,
    report: &mut Report,
) -> Rc {
    let mut answers = Vec::new();
    let mut failures = 0;
    for text in nids.split(',').map(str::trim).filter(|text| !text.is_empty()) {
        let answer = match parse_target(text) {
            Ok(target) => backend
                .ask(request(target))
                .map_err(|errno| format!("cannot {word} {text}: {}", cause(backend, errno))),
            Err(error) => {
                Err(format!("'{text}' is not a NID: {error}; one is ADDRESS@NET, such as 192.0.2.1@tcp"))
            }
        };
        match answer {
            Ok(answer) => answers.push(to_value(&answer)),
            Err(text) => {
                failures += 1;
                let _ = report.end(Operation::Manage, word, seq_no, Rc::BAD_PARAM, text);
            }
        }
    }
    let rc = if answers.is_empty() && failures > 0 { Rc::BAD_PARAM } else { Rc::OK };
    if !answers.is_empty() {
        report.show(word, answers);
    }
    if failures == 0 { report.success(Operation::Manage, word, seq_no) } else { rc }
}

/// `NID`, with LNet's process id; or `PID-NID`.
fn parse_target(text: &str) -> Result<ProcessId, TextError> {
    match text.contains('-') {
        true => text.parse(),
        false => text.parse().map(|nid| ProcessId { nid, pid: Pid::LUSTRE }),
    }
}

/// A host may be unreachable for a net that is down, too: then the remedy for a missing node would mislead.
fn cause(backend: &dyn Backend, errno: Errno) -> String {
    match errno {
        Errno::NetworkDown if !is_down(backend) => errno.text().to_owned(),
        Errno::ConnectionRefused => format!("{}; LNet is not up on this net there", errno.text()),
        Errno::HostUnreachable => {
            format!(
                "{}; neither a net nor a route of this node leads there, or all of them fail",
                errno.text()
            )
        }
        Errno::TimedOut => {
            format!("{}; is the node up, and LNet on it, and is more --timeout needed?", errno.text())
        }
        errno => reason(errno),
    }
}

fn to_value(answer: &PingAnswer) -> Value {
    let nids = answer.nids.iter().filter(|nid| !nid.is_loopback());
    Value::map()
        .with("primary nid", answer.primary.to_string())
        .with("Multi-Rail", if answer.multi_rail { "True" } else { "False" })
        .with("peer ni", nids.map(|nid| Value::map().with("nid", nid.to_string())).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::super::fake::Fake;
    use super::*;
    use crate::request::Reply;

    fn nid(text: &str) -> Nid {
        text.parse().unwrap()
    }

    fn ping_of(pid: u32, target: &str, timeout_ms: u32) -> Request {
        let target = ProcessId { nid: nid(target), pid: Pid(pid) };
        Request::PingPeer(Ping { target, source: None, timeout_ms: Some(timeout_ms), max_nids: 1024 })
    }

    fn answer(primary: &str) -> Result<Reply, Errno> {
        Ok(Reply::Ping(PingAnswer {
            primary: nid(primary),
            pid: 12345,
            multi_rail: false,
            nids: ["0@lo", "10.99.0.12@tcp", "10.99.1.12@tcp"].map(nid).to_vec(),
        }))
    }

    const SHOWN: &str = "\
ping:
    - primary nid: 10.99.0.12@tcp
      Multi-Rail: False
      peer ni:
        - nid: 10.99.0.12@tcp
        - nid: 10.99.1.12@tcp
";

    #[test]
    fn one_answer_makes_a_list_succeed_and_each_failure_is_reported() {
        let fake = Fake::new([
            (ping_of(12345, "10.99.0.12@tcp", 2000), answer("10.99.0.12@tcp")),
            (ping_of(12345, "10.99.0.77@tcp", 2000), Err(Errno::Io)),
        ]);
        let mut report = Report::new();
        let nids = "10.99.0.12,10.99.0.77@tcp";
        assert_eq!(ping(&fake, nids, None, 2000, SeqNo::NONE, &mut report), Rc::OK);
        assert_eq!(report.shown.to_yaml(), SHOWN);
        let expected = "\
manage:
    - ping:
          errno: -1
          descr: \"cannot ping 10.99.0.77@tcp: Input/output error\"
";
        assert_eq!(report.errors_to_yaml(), expected);
    }

    #[test]
    fn targets_may_bring_a_process_id_and_must_be_nids() {
        let user = Pid::USER_FLAG | 5;
        let fake = Fake::new([
            (ping_of(7, "10.99.0.12@tcp", 180_000), answer("10.99.0.12@tcp")),
            (ping_of(user, "10.99.0.12@tcp", 180_000), Err(Errno::TimedOut)),
        ]);
        let mut report = Report::new();
        assert_eq!(ping(&fake, "7-10.99.0.12@tcp", None, 0, SeqNo::NONE, &mut report), Rc::OK);
        assert_eq!(ping(&fake, "U5-10.99.0.12@tcp", None, 180_001, SeqNo::NONE, &mut report), Rc(-1));
        for bad in ["bogus", "10.99.0.[11-12]@tcp", "10.99.0.12@bogus", "300.1.1.1@tcp"] {
            assert_eq!(ping(&Fake::unasked(), bad, None, 1, SeqNo::NONE, &mut report), Rc(-1), "{bad}");
            let rc = ping(&Fake::unasked(), "10.99.0.12@tcp", Some(bad), 1, SeqNo::NONE, &mut report);
            assert_eq!(rc, Rc(-1), "{bad}");
        }
        assert_eq!(ping(&Fake::unasked(), "", None, 1, SeqNo::NONE, &mut report), Rc::OK);
    }

    #[test]
    fn a_missing_node_is_told_from_a_net_that_is_down() {
        use crate::request::Request::GetLocalNi;
        for (first_ni, remedy) in [(Errno::NetworkDown, true), (Errno::NotFound, false)] {
            let fake = Fake::new([
                (ping_of(12345, "10.99.0.12@tcp", 1000), Err(Errno::NetworkDown)),
                (GetLocalNi(0), Err(first_ni)),
            ]);
            let mut report = Report::new();
            assert_eq!(ping(&fake, "10.99.0.12@tcp", None, 1000, SeqNo::NONE, &mut report), Rc(-1));
            assert!(report.errors_to_yaml().contains("Network is down"));
            assert_eq!(report.errors_to_yaml().contains("lnetctl lnet configure"), remedy);
        }
    }

    #[test]
    fn discovery_is_shown_under_its_own_key() {
        let target = ProcessId { nid: nid("10.99.0.12@tcp"), pid: Pid::LUSTRE };
        let request = Request::Discover(Discover { target, force: true, max_nids: 1024 });
        let fake = Fake::new([(request, answer("10.99.0.12@tcp"))]);
        let mut report = Report::new();
        assert_eq!(discover(&fake, "10.99.0.12@tcp", true, SeqNo::NONE, &mut report), Rc::OK);
        assert_eq!(report.shown.to_yaml(), SHOWN.replace("ping", "discover"));
    }
}
