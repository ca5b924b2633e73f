//! Operations that ping and discover nodes.

use super::error_text::{error_text, is_down, lacks_family};
use super::{discovery, peer};
use crate::host_names::Names;
use crate::interface_spec::split_outside_brackets;
use crate::ranges::PING_TIMEOUT_MS;
use crate::report::{Operation, Report, SeqNo};
use crate::request::{
    Backend, Discover, Discovered, DiscoveryFailure, Explain, Explanation, Ping, PingResponse, Request,
};
use crate::{ReturnCode, Value};
use lnet_wire::{Errno, Nid, Pid, ProcessId};

/// Pings every NID of a comma list of `[PID-]NID`, ranges and masks (dlc 1.6). 0 if at least one node responded.
/// `lustre_lnet_ping_nid`; as there, a `timeout_ms` that is not above 0, or above 180000, means 180000.
///
/// Each NID that did not respond is reported separately, with [`ReturnCode::BAD_PARAM`] for any cause.
pub fn ping(
    backend: &dyn Backend,
    nids: &str,
    source: Option<&str>,
    timeout_ms: i32,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    let names = Names::new();
    let source: Option<Nid> = match source.map(|text| names.nid(text)).transpose() {
        Ok(source) => source,
        Err(error) => {
            let text = format!("source '{}' is not a NID: {error}", source.unwrap_or_default());
            return report.end(Operation::Manage, "ping", seq_no, ReturnCode::BAD_PARAM, text);
        }
    };
    let longest = u32::try_from(PING_TIMEOUT_MS.most).unwrap_or(u32::MAX);
    let timeout_ms = PING_TIMEOUT_MS.count(timeout_ms.into()).unwrap_or(longest);
    let ask = |target: ProcessId| {
        let ping = Ping { target, source, timeout_ms: Some(timeout_ms), max_nids: MAX_NIDS };
        let response: PingResponse = backend
            .ask(Request::PingPeer(ping))
            .map_err(|errno| cause(backend, target.nid, errno, LONGER_TIMEOUT))?;
        Ok(to_value(&response))
    };
    ask_each("ping", nids, &names, ask, seq_no, report)
}

/// Discovers every NID of a list like that of [`ping`] (cfg-085). `lustre_lnet_discover_nid`.
///
/// The report on a NID says which step failed at which of the peer's NIDs. Values that the peer reports and that are
/// not adopted, because the peer is configured otherwise or peers are only verified, are shown under `differences`,
/// a key that is left out if there are none (dyn-060).
pub fn discover(
    backend: &dyn Backend,
    nids: &str,
    force: bool,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    let ask = |target: ProcessId| match backend.ask(Request::Discover(Discover {
        target,
        force,
        max_nids: MAX_NIDS,
    })) {
        Ok(Discovered::Found { response, differences }) => {
            let mut shown = to_value(&response);
            if !differences.is_empty() {
                shown.push("differences", discovery::differences(&differences));
            }
            Ok(shown)
        }
        Ok(Discovered::Failed(failure)) => Err(failed_step(backend, &failure)),
        Err(errno) => Err(cause(backend, target.nid, errno, MORE_TRANSACTION_TIME)),
    };
    ask_each("discover", nids, &Names::new(), ask, seq_no, report)
}

/// The maximum number of NIDs in a reply that are shown, `0@lo` counted: those that a node keeps of a peer by default.
pub(super) const MAX_NIDS: u32 = 4097;

/// Calls every node in the list, and shows under `word` those that responded. A success is not recorded among the errors.
fn ask_each(
    word: &str,
    nids: &str,
    names: &Names,
    ask: impl Fn(ProcessId) -> Result<Value, String>,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    let mut responses = Vec::new();
    let mut failures = 0;
    for text in split_outside_brackets(nids).map(str::trim).filter(|text| !text.is_empty()) {
        for target in targets(text, names) {
            let response = target.and_then(|(name, target)| {
                ask(target).map_err(|cause| format!("cannot {word} {name}: {cause}"))
            });
            match response {
                Ok(response) => responses.push(response),
                Err(text) => {
                    failures += 1;
                    let _ = report.end(Operation::Manage, word, seq_no, ReturnCode::BAD_PARAM, text);
                }
            }
        }
    }
    if responses.is_empty() && failures == 0 {
        let text = format!("whom? '{nids}' names no NID; one is ADDRESS@NET, such as 192.0.2.1@tcp");
        return report.end(Operation::Manage, word, seq_no, ReturnCode::BAD_PARAM, text);
    }
    let rc = if responses.is_empty() { ReturnCode::BAD_PARAM } else { ReturnCode::OK };
    if !responses.is_empty() {
        report.show(word, responses);
    }
    rc
}

/// The processes that a text names, each with its name; those of a range or a mask, or the one of `[PID-]NID`.
fn targets(text: &str, names: &Names) -> Vec<Result<(String, ProcessId), String>> {
    if text.contains(['[', '*', '/']) {
        return match peer::parse_nids(text, peer::MAX_NIDS) {
            Ok(nids) => {
                let target = |nid: Nid| Ok((nid.to_string(), ProcessId { nid, pid: Pid::LUSTRE }));
                nids.into_iter().map(target).collect()
            }
            Err(error) => vec![Err(peer::not_nids("NIDs", text, &error))],
        };
    }
    let wrong = |error| format!("'{text}' is not a NID: {error}; one is ADDRESS@NET, such as 192.0.2.1@tcp");
    vec![names.process(text).map(|target| (text.to_owned(), target)).map_err(wrong)]
}

/// The remedy for operations that timed out.
const LONGER_TIMEOUT: &str = "is more --timeout needed?";
const MORE_TRANSACTION_TIME: &str = "is more of 'lnetctl set transaction_timeout' needed?";
const MORE_DISCOVERY_TIME: &str = "is more of 'lnetctl set discovery_timeout' needed?";

/// The text of an error. A host may also be unreachable because a net is down: then the remedy for a missing node would mislead.
fn cause(backend: &dyn Backend, nid: Nid, errno: Errno, more_time: &str) -> String {
    match errno {
        Errno::NetworkDown if !is_down(backend) => errno.text().to_owned(),
        Errno::HostUnreachable => no_path(backend, nid).unwrap_or_else(|| why(errno, more_time)),
        errno => why(errno, more_time),
    }
}

/// The cause why the node itself has no path to the NID; `None` if it has one, so that the other host is the cause, or if another is known.
fn no_path(backend: &dyn Backend, nid: Nid) -> Option<String> {
    match backend.ask::<Explanation>(Request::Explain(Explain { destination: nid, source: None })) {
        Err(Errno::HostUnreachable) => lacks_family(backend, nid),
        _ => None,
    }
}

/// The text of a failed discovery. It was begun, so there is a node.
fn failed_step(backend: &dyn Backend, failure: &DiscoveryFailure) -> String {
    let why = match (failure.errno, failure.limit) {
        (Errno::NetworkDown, _) => failure.errno.text().to_owned(),
        (errno, Some(seconds)) => {
            let what = format!("{}: no answer within {seconds} s (discovery_timeout)", errno.text());
            timed_out(&what, MORE_DISCOVERY_TIME)
        }
        (errno, None) => cause(backend, failure.nid, errno, MORE_TRANSACTION_TIME),
    };
    format!("{}: {why}", discovery::step(failure))
}

fn why(errno: Errno, more_time: &str) -> String {
    match errno {
        Errno::ConnectionRefused => format!(
            "{}; LNet is not up there, or does not have the interface by which this went",
            errno.text()
        ),
        Errno::ConnectionReset => format!(
            "{}; the node refuses connections from ports above 1023 (accept=secure), or the NID is not its own",
            errno.text()
        ),
        Errno::HostUnreachable => {
            format!(
                "{}; nothing answers at that address, or neither a net nor a route of this node leads there",
                errno.text()
            )
        }
        Errno::TimedOut => timed_out(errno.text(), more_time),
        errno => error_text(errno),
    }
}

fn timed_out(what: &str, more_time: &str) -> String {
    format!("{what}; is the node up, and LNet on it, and {more_time}")
}

fn to_value(response: &PingResponse) -> Value {
    let nids = response.nids.iter().filter(|nid| !nid.is_loopback());
    Value::map()
        .with("primary nid", response.primary.to_string())
        .with("Multi-Rail", if response.multi_rail { "True" } else { "False" })
        .with("peer ni", nids.map(|nid| Value::map().with("nid", nid.to_string())).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::super::fake::Fake;
    use super::*;
    use crate::request::Reply;
    use crate::request::{Difference, DiscoveryStep};
    use lnet_wire::Pid;

    fn nid(text: &str) -> Nid {
        text.parse().unwrap()
    }

    fn ping_of(pid: u32, target: &str, timeout_ms: u32) -> Request {
        let target = ProcessId { nid: nid(target), pid: Pid(pid) };
        Request::PingPeer(Ping { target, source: None, timeout_ms: Some(timeout_ms), max_nids: MAX_NIDS })
    }

    fn response(primary: &str) -> Result<Reply, Errno> {
        Ok(Reply::Ping(PingResponse {
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
            (ping_of(12345, "10.99.0.12@tcp", 2000), response("10.99.0.12@tcp")),
            (ping_of(12345, "10.99.0.77@tcp", 2000), Err(Errno::Io)),
        ]);
        let mut report = Report::new();
        let nids = "10.99.0.12,10.99.0.77@tcp";
        assert_eq!(ping(&fake, nids, None, 2000, SeqNo::NONE, &mut report), ReturnCode::OK);
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
            (ping_of(7, "10.99.0.12@tcp", 180_000), response("10.99.0.12@tcp")),
            (ping_of(user, "10.99.0.12@tcp", 180_000), Err(Errno::TimedOut)),
        ]);
        let mut report = Report::new();
        assert_eq!(ping(&fake, "7-10.99.0.12@tcp", None, 0, SeqNo::NONE, &mut report), ReturnCode::OK);
        assert_eq!(ping(&fake, "U5-10.99.0.12@tcp", None, 180_001, SeqNo::NONE, &mut report), ReturnCode(-1));
        for bad in ["10.99.0", "10.99.0.[11-12@tcp", "10.99.0.12@bogus", "300.1.1.1@tcp"] {
            assert_eq!(
                ping(&Fake::unasked(), bad, None, 1, SeqNo::NONE, &mut report),
                ReturnCode(-1),
                "{bad}"
            );
            let rc = ping(&Fake::unasked(), "10.99.0.12@tcp", Some(bad), 1, SeqNo::NONE, &mut report);
            assert_eq!(rc, ReturnCode(-1), "{bad}");
        }
        for nobody in ["", " ", ","] {
            let rc = ping(&Fake::unasked(), nobody, None, 1, SeqNo::NONE, &mut report);
            assert_eq!(rc, ReturnCode(-1), "'{nobody}'");
        }
    }

    /// Texts that 2.17.0 refuses without asking anybody are refused here too, with the reason; those that it takes are taken.
    #[test]
    fn odd_strings_are_refused_as_by_2_17_or_with_more_help() {
        let refused = [
            ("fd99::zz@tcp", "not an IPv6 address"),
            ("fd99:::12@tcp", "not an IPv6 address"),
            ("fd99::12@o2ib", "not a dotted IPv4 address"),
            ("fd99::12@foo", "unknown network name"),
            ("fd99::12@TCP", "unknown network name"),
            ("fd99::12%eth0@tcp", "which only this machine knows"),
            ("1:2:3:4:5:6:7:8:9@tcp", "not an IPv6 address"),
            ("fd99::/64@tcp", "more than 128 NIDs"),
            ("", "names no NID"),
            ("fd99::12@tcp65536", "not within 0 to 65535"),
            ("fd99::12@tcp99999", "not within 0 to 65535"),
            ("[fd99::12]@tcp", "'['"),
            ("::@tcp", "no interface has"),
            ("::ffff:10.99.0.12@tcp", "write it as IPv4"),
            ("fe80::1@tcp", "link-local"),
        ];
        for (text, why) in refused {
            for word in [ping_it, discover_it] {
                let mut report = Report::new();
                assert_eq!(word(&Fake::unasked(), text, &mut report), ReturnCode(-1), "{text}");
                assert!(report.errors_to_yaml().contains(why), "{text}: {}", report.errors_to_yaml());
            }
        }
        // Numbers between colons are hexadecimal, where 2.17.0 writes them again as decimal ones.
        let taken: [(&str, &[&str]); 7] = [
            ("FD99::12@tcp", &["fd99::12@tcp"]),
            ("fd99:0:0:0:0:0:0:12@tcp", &["fd99::12@tcp"]),
            ("fd99::012@tcp", &["fd99::12@tcp"]),
            ("fd99::12", &["fd99::12@tcp"]),
            ("fd99::[9-a]@tcp,10.99.0.1@tcp", &["fd99::9@tcp", "fd99::a@tcp", "10.99.0.1@tcp"]),
            ("fd99::12/127@tcp", &["fd99::12@tcp", "fd99::13@tcp"]),
            ("10.99.0.[11,12]@tcp", &["10.99.0.11@tcp", "10.99.0.12@tcp"]),
        ];
        for (text, asked) in taken {
            let script = asked.iter().map(|asked| (ping_of(12345, asked, 1), response(asked)));
            let mut report = Report::new();
            assert_eq!(ping_it(&Fake::new(script), text, &mut report), ReturnCode::OK, "{text}");
        }
    }

    fn ping_it(fake: &Fake, text: &str, report: &mut Report) -> ReturnCode {
        ping(fake, text, None, 1, SeqNo::NONE, report)
    }

    fn discover_it(fake: &Fake, text: &str, report: &mut Report) -> ReturnCode {
        discover(fake, text, false, SeqNo::NONE, report)
    }

    #[test]
    fn a_missing_node_is_distinguished_from_a_net_that_is_down() {
        use crate::request::Request::GetLocalNi;
        for (first_ni, remedy) in [(Errno::NetworkDown, true), (Errno::NotFound, false)] {
            let fake = Fake::new([
                (ping_of(12345, "10.99.0.12@tcp", 1000), Err(Errno::NetworkDown)),
                (GetLocalNi(0), Err(first_ni)),
            ]);
            let mut report = Report::new();
            assert_eq!(ping(&fake, "10.99.0.12@tcp", None, 1000, SeqNo::NONE, &mut report), ReturnCode(-1));
            assert!(report.errors_to_yaml().contains("Network is down"));
            assert_eq!(report.errors_to_yaml().contains("lnetctl lnet configure"), remedy);
        }
    }

    /// Fails if the other host is blamed for an address of a family that no interface of this node reaches.
    #[test]
    fn a_path_that_the_node_lacks_is_distinguished_from_a_host_that_is_away() {
        let target = "fd99::12@tcp";
        let explain = || Request::Explain(Explain { destination: nid(target), source: None });
        let own = || {
            let ni = crate::request::LocalNi::unused(nid("10.99.0.11@tcp"), None);
            (Request::GetLocalNi(0), Ok(Reply::LocalNi(Box::new(ni))))
        };
        let lacks_path = || {
            [(explain(), Err(Errno::HostUnreachable)), own(), (Request::GetLocalNi(1), Err(Errno::NotFound))]
        };
        let other_cause = || [(explain(), Err(Errno::Busy))];
        let lacks = "no interface of the node on tcp reaches an IPv6 address; add one with";
        let away = "No route to host; nothing answers at that address";
        let discovery = Request::Discover(Discover {
            target: ProcessId { nid: nid(target), pid: Pid::LUSTRE },
            force: false,
            max_nids: MAX_NIDS,
        });
        let failure = DiscoveryFailure {
            step: DiscoveryStep::Ping,
            nid: nid(target),
            errno: Errno::HostUnreachable,
            limit: None,
        };
        let pinged = (ping_of(12345, target, 1), Err(Errno::HostUnreachable));
        let discovered = (discovery, Ok(Reply::Discovered(Discovered::Failed(failure))));
        for (word, first) in
            [(ping_it as fn(&Fake, &str, &mut Report) -> ReturnCode, pinged), (discover_it, discovered)]
        {
            let cases = [(lacks_path().to_vec(), lacks), (other_cause().to_vec(), away)];
            for (then, expected) in cases {
                let fake = Fake::new([first.clone()].into_iter().chain(then));
                let mut report = Report::new();
                assert_eq!(word(&fake, target, &mut report), ReturnCode(-1));
                assert!(report.errors_to_yaml().contains(expected), "{}", report.errors_to_yaml());
            }
        }
    }

    #[test]
    fn discovery_is_shown_under_its_own_key_and_success_is_not_recorded() {
        let target = ProcessId { nid: nid("10.99.0.12@tcp"), pid: Pid::LUSTRE };
        let request = Request::Discover(Discover { target, force: true, max_nids: MAX_NIDS });
        let Ok(Reply::Ping(response)) = response("10.99.0.12@tcp") else { panic!("an answer") };
        let found = Discovered::Found { response, differences: Vec::new() };
        let fake = Fake::new([(request, Ok(Reply::Discovered(found)))]);
        let mut report = Report::new();
        assert_eq!(discover(&fake, "10.99.0.12@tcp", true, SeqNo::NONE, &mut report), ReturnCode::OK);
        assert_eq!(report.shown.to_yaml(), SHOWN.replace("ping", "discover"));
        assert_eq!(report.errors_to_yaml(), "");
    }

    /// dyn-060: fails if a kind of difference is not shown.
    #[test]
    fn the_differences_of_a_discovered_node_are_shown() {
        let request =
            |target: &str| Discover { target: target.parse().unwrap(), force: false, max_nids: MAX_NIDS };
        let found = Discovered::Found {
            response: PingResponse {
                primary: nid("10.99.0.12@tcp"),
                pid: 12345,
                multi_rail: true,
                nids: vec![nid("10.99.0.12@tcp")],
            },
            differences: vec![
                Difference::Extra(nid("10.99.1.12@tcp")),
                Difference::Missing(nid("10.99.2.12@tcp")),
                Difference::MultiRail(false),
                Difference::Primary(nid("10.99.1.12@tcp")),
                Difference::Claimed(nid("10.99.3.12@tcp")),
            ],
        };
        let asked = Request::Discover(request("12345-10.99.0.12@tcp"));
        let fake = Fake::new([(asked, Ok(Reply::Discovered(found)))]);
        let mut report = Report::new();
        assert_eq!(discover(&fake, "10.99.0.12@tcp", false, SeqNo::NONE, &mut report), ReturnCode::OK);
        let expected = "\
discover:
    - primary nid: 10.99.0.12@tcp
      Multi-Rail: True
      peer ni:
        - nid: 10.99.0.12@tcp
      differences:
        - \"it has 10.99.1.12@tcp, by which it is not known\"
        - \"it does not have 10.99.2.12@tcp, by which it is known\"
        - \"it says that it is not multi-rail, and is known to be\"
        - \"it says that its primary NID is 10.99.1.12@tcp\"
        - \"it has 10.99.3.12@tcp, which is known to be another peer's\"
";
        assert_eq!(report.shown.to_yaml(), expected);
    }

    #[test]
    fn a_failed_discovery_names_the_step_the_nid_and_the_limit_that_was_over() {
        use DiscoveryStep::{Ping, Push};
        let table = [
            (
                Ping,
                Errno::HostUnreachable,
                None,
                "the ping to 10.99.1.12@tcp failed: No route to host; nothing answers",
            ),
            (
                Push,
                Errno::TimedOut,
                None,
                "the push to 10.99.1.12@tcp failed: Connection timed out; is the node up, and LNet on it, and is more \
                 of 'lnetctl set transaction_timeout' needed?",
            ),
            (
                Ping,
                Errno::TimedOut,
                Some(7),
                "the ping to 10.99.1.12@tcp failed: Connection timed out: no answer within 7 s (discovery_timeout); is \
                 the node up, and LNet on it, and is more of 'lnetctl set discovery_timeout' needed?",
            ),
            (
                Ping,
                Errno::ConnectionReset,
                None,
                "the ping to 10.99.1.12@tcp failed: Connection reset by peer; the node refuses connections from ports above",
            ),
            (Ping, Errno::NetworkDown, None, "the ping to 10.99.1.12@tcp failed: Network is down\""),
            (Push, Errno::Io, None, "the push to 10.99.1.12@tcp failed: Input/output error\""),
        ];
        for (step, errno, limit, expected) in table {
            let target: ProcessId = "12345-10.99.0.12@tcp".parse().unwrap();
            let request = Request::Discover(Discover { target, force: false, max_nids: MAX_NIDS });
            let failure = DiscoveryFailure { step, nid: nid("10.99.1.12@tcp"), errno, limit };
            // The node has a path.
            let explain = Request::Explain(Explain { destination: nid("10.99.1.12@tcp"), source: None });
            let asked = (errno == Errno::HostUnreachable).then_some((explain, Err(Errno::Busy)));
            let failed = (request, Ok(Reply::Discovered(Discovered::Failed(failure))));
            let fake = Fake::new(std::iter::once(failed).chain(asked));
            let mut report = Report::new();
            assert_eq!(discover(&fake, "10.99.0.12", false, SeqNo::NONE, &mut report), ReturnCode(-1));
            let head = "manage:\n    - discover:\n          errno: -1\n";
            let text = report.errors_to_yaml();
            assert!(text.starts_with(head) && text.contains(expected), "{text}");
        }
    }
}
