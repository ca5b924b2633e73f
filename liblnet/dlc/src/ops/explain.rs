//! Explanation of the path that a message would take. The kernel's tools have no such command.

use super::error_text::{error_text, lacks_family, one_nid};
use super::events;
use crate::host_names::Names;
use crate::report::{Operation, Report, SeqNo};
use crate::request::{Backend, Explain, Explanation, Passed};
use crate::{ReturnCode, Value};
use lnet_wire::Reachability;
use lnet_wire::{Errno, Nid};

/// The number of events of the peer that are shown.
const LAST_EVENTS: usize = 5;

/// Shows which interface of this node and which of the peer the next message to `to` would use, and why each
/// other was not chosen; and the last events of the peer and its paths. Nothing is sent.
pub fn explain(
    backend: &dyn Backend,
    to: &str,
    from: Option<&str>,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    let names = Names::new();
    let parsed = |text: &str| one_nid(text, &names).map_err(|text| (ReturnCode::BAD_PARAM, text));
    let asked = parsed(to).and_then(|destination| {
        let source = from.map(parsed).transpose()?;
        backend.ask::<Explanation>(crate::Request::Explain(Explain { destination, source })).map_err(
            |errno| (errno.into(), format!("no way to {to}: {}", cause(backend, errno, destination, from))),
        )
    });
    match asked {
        Ok(explanation) => {
            let mut shown = to_value(to, &explanation);
            let last = events::last_about(backend, explanation.primary, LAST_EVENTS);
            if !last.is_empty() {
                shown.push("last events", last.iter().map(events::to_value).collect::<Vec<_>>());
            }
            report.show("explain", vec![shown]);
            report.success(Operation::Show, "explain", seq_no)
        }
        Err((rc, text)) => report.end(Operation::Show, "explain", seq_no, rc, text),
    }
}

fn cause(backend: &dyn Backend, errno: Errno, destination: Nid, from: Option<&str>) -> String {
    match (errno, from) {
        (Errno::Invalid, Some(from)) => {
            format!("{from} is not one of the node's NIDs; see 'lnetctl net show'")
        }
        (Errno::HostUnreachable, Some(from)) => format!("it is not on the net of {from}"),
        (Errno::HostUnreachable, None) => lacks_family(backend, destination).unwrap_or_else(|| {
            let net = destination.net();
            format!(
                "the node is not on net {net}, and no route to it is up; see 'lnetctl net add', 'lnetctl route show -v'"
            )
        }),
        (errno, _) => error_text(errno),
    }
}

fn to_value(to: &str, explanation: &Explanation) -> Value {
    let mut value = Value::map()
        .with("to", to)
        .with("primary nid", explanation.primary.to_string())
        .with("Multi-Rail", if explanation.multi_rail { "True" } else { "False" })
        .with("known", if explanation.known { "True" } else { "False" })
        .with("local nid", explanation.local.to_string())
        .with("peer nid", explanation.remote.to_string());
    if let Some(gateway) = &explanation.gateway {
        value.push("gateway", gateway.to_string());
    }
    let rules: Vec<Value> = explanation
        .rules
        .iter()
        .map(|its| Value::map().with(&*its.about, its.gives.clone()).with("rule", its.index))
        .collect();
    if !rules.is_empty() {
        value.push("selection rules", rules);
    }
    if let Some(its) = &explanation.reachability {
        value.push("reachability", its.state.text());
        if its.state != Reachability::Unknown {
            value.push("reachability seconds", its.seconds);
        }
    }
    if let Some(remark) = &explanation.remark {
        value.push("remark", Value::Quoted(remark.clone()));
    }
    let others: Vec<Value> = explanation
        .passed_over
        .iter()
        .map(|passed| {
            let (kind, name) = match passed.candidate {
                Passed::Net(net) => ("net", net.to_string()),
                Passed::LocalNi(nid) => ("local nid", nid.to_string()),
                Passed::PeerNi(nid) => ("peer nid", nid.to_string()),
                Passed::Gateway(nid) => ("gateway", nid.to_string()),
            };
            Value::map().with(kind, name).with("why", Value::Quoted(passed.why.clone()))
        })
        .collect();
    if !others.is_empty() {
        value.push("passed over", others);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::super::fake::Fake;
    use super::*;
    use crate::Request;
    use crate::request::{LocalNi, PassedOver, PeerReachability, Reply, RuleOfWay};

    fn nid(text: &str) -> Nid {
        text.parse().unwrap()
    }

    fn ask(to: &str, from: Option<&str>) -> Request {
        Request::Explain(Explain { destination: nid(to), source: from.map(nid) })
    }

    #[test]
    fn the_path_is_shown_with_the_rejected_candidates() {
        let why = |candidate, why: &str| PassedOver { candidate, why: why.to_owned() };
        let explanation = Explanation {
            primary: nid("10.0.0.8@tcp"),
            multi_rail: true,
            known: true,
            local: nid("10.0.0.2@tcp"),
            remote: nid("10.0.0.9@tcp"),
            gateway: Some(nid("10.0.0.9@tcp")),
            passed_over: vec![
                why(Passed::Net("tcp1".parse().unwrap()), "lower health: 900, the chosen one has 1000"),
                why(Passed::PeerNi(nid("10.0.0.8@tcp")), "fewer credits: 3, the chosen one has 8"),
                why(Passed::Gateway(nid("10.0.0.7@tcp")), "more hops: 2, the chosen one has 1"),
            ],
            rules: vec![RuleOfWay {
                about: "local net".to_owned(),
                index: 2,
                gives: "priority 0".to_owned(),
            }],
            reachability: None,
            remark: None,
        };
        let fake = Fake::new([(ask("10.0.0.8@tcp", None), Ok(Reply::Explanation(explanation)))]);
        let mut report = Report::new();
        assert_eq!(explain(&fake, "10.0.0.8@tcp", None, SeqNo::NONE, &mut report), ReturnCode::OK);
        let expected = "\
explain:
    - to: 10.0.0.8@tcp
      primary nid: 10.0.0.8@tcp
      Multi-Rail: True
      known: True
      local nid: 10.0.0.2@tcp
      peer nid: 10.0.0.9@tcp
      gateway: 10.0.0.9@tcp
      selection rules:
        - local net: priority 0
          rule: 2
      passed over:
        - net: tcp1
          why: \"lower health: 900, the chosen one has 1000\"
        - peer nid: 10.0.0.8@tcp
          why: \"fewer credits: 3, the chosen one has 8\"
        - gateway: 10.0.0.7@tcp
          why: \"more hops: 2, the chosen one has 1\"
";
        assert_eq!(report.shown.to_yaml(), expected);
    }

    /// Fails if a dead path is shown without a remark.
    #[test]
    fn the_problem_of_the_only_path_is_shown_with_the_peers_reachability() {
        let explanation = Explanation {
            primary: nid("10.0.0.8@tcp"),
            multi_rail: true,
            known: true,
            local: nid("10.0.0.2@tcp"),
            remote: nid("10.0.0.8@tcp"),
            gateway: None,
            passed_over: Vec::new(),
            rules: Vec::new(),
            reachability: Some(PeerReachability {
                state: Reachability::Unreachable,
                seconds: 23,
                paths: 1,
                usable_paths: 0,
            }),
            remark: Some("the path has been unresponsive for 23 s".to_owned()),
        };
        let fake = Fake::new([(ask("10.0.0.8@tcp", None), Ok(Reply::Explanation(explanation)))]);
        let mut report = Report::new();
        assert_eq!(explain(&fake, "10.0.0.8@tcp", None, SeqNo::NONE, &mut report), ReturnCode::OK);
        let expected = "\
      peer nid: 10.0.0.8@tcp
      reachability: unreachable
      reachability seconds: 23
      remark: \"the path has been unresponsive for 23 s\"
";
        assert!(report.shown.to_yaml().ends_with(expected), "{}", report.shown.to_yaml());
    }

    #[test]
    fn a_missing_path_is_reported_with_the_remedy() {
        let table = [
            (
                "10.0.0.8@tcp",
                Some("10.0.0.5@tcp"),
                Errno::Invalid,
                "10.0.0.5@tcp is not one of the node's NIDs",
            ),
            (
                "10.0.0.8@tcp",
                Some("10.0.0.5@tcp1"),
                Errno::HostUnreachable,
                "it is not on the net of 10.0.0.5@tcp1",
            ),
        ];
        for (to, from, errno, expected) in table {
            let fake = Fake::new([(ask(to, from), Err(errno))]);
            let mut report = Report::new();
            assert_eq!(explain(&fake, to, from, SeqNo::NONE, &mut report), errno.into());
            assert!(report.errors_to_yaml().contains(expected), "{}", report.errors_to_yaml());
        }
    }

    /// Fails if a node is said not to be on a net where it has no interface of the family of the NID.
    #[test]
    fn a_nid_of_a_family_that_no_interface_reaches_is_told_of() {
        let lacks_v6 =
            "no interface of the node on tcp reaches an IPv6 address; add one with 'lnetctl net add --nid'";
        let lacks_v4 = "no interface of the node on tcp reaches an IPv4 address";
        let not_on = "the node is not on net tcp, and no route to it is up";
        let table = [
            ("fd99::8@tcp", "10.0.0.2@tcp", lacks_v6),
            ("10.0.0.8@tcp", "fd99::2@tcp", lacks_v4),
            ("10.0.0.8@tcp", "10.0.0.2@tcp1", not_on),
            ("fd99::8@tcp", "fd99::2@tcp", not_on),
        ];
        for (to, own, expected) in table {
            let own = Reply::LocalNi(Box::new(LocalNi::unused(nid(own), None)));
            let fake = Fake::new([
                (ask(to, None), Err(Errno::HostUnreachable)),
                (Request::GetLocalNi(0), Ok(own)),
                (Request::GetLocalNi(1), Err(Errno::NotFound)),
            ]);
            let mut report = Report::new();
            let rc = explain(&fake, to, None, SeqNo::NONE, &mut report);
            assert_eq!(rc, Errno::HostUnreachable.into());
            assert!(report.errors_to_yaml().contains(expected), "{}", report.errors_to_yaml());
        }
    }
}
