//! User-defined selection policy.

use super::error_text::{OpError, error_text};
use crate::report::{Operation, Report, SeqNo};
use crate::request::{AddUdsp, Backend, Request, Udsp, UdspAction};
use crate::{ReturnCode, Value};
use lnet_log::{LogClass, write_line};
use lnet_wire::{Errno, Selector, TextError};

/// What a rule shall do, if its author says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleAction {
    /// What suits the rule: priority 0 for a rule about one side, else preference.
    Suited,
    /// A priority; `u32::MAX` is the lowest.
    Priority(u32),
    /// Preference.
    PreferredList,
}

/// Adds a rule (cfg-095, cfg-110 to cfg-160); `None` and `NA` are no criterion; a negative index appends.
/// `lustre_lnet_add_udsp`.
///
/// Rules are about an interface (`src`), about another node (`dst`), about both, or about the routers to
/// another node (`dst`, `rte`); the library lets `rte` alone pass. [`ReturnCode::BAD_PARAM`] for any other
/// combination, -22 for what cannot be read; what the node refuses is a positive errno, as in C.
#[allow(clippy::too_many_arguments, reason = "the parameters of the C function")]
pub fn add(
    backend: &dyn Backend,
    src: Option<&str>,
    dst: Option<&str>,
    rte: Option<&str>,
    action: RuleAction,
    index: i32,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    let request = match request(src, dst, rte, action, index) {
        Ok(request) => request,
        Err((rc, text)) => return report.end(Operation::Add, UDSP, seq_no, rc, text),
    };
    match backend.tell(Request::AddUdsp(request)) {
        Ok(()) => report.success(Operation::Add, UDSP, seq_no),
        Err(errno) => {
            let remedy = match errno {
                Errno::Already => "; there is such a rule with the same action, see 'lnetctl udsp show'",
                Errno::Invalid => "; a rule with rte has dst, too",
                _ => "",
            };
            let text = format!("cannot add the rule: {}{remedy}", error_text(errno));
            // Positive, as C callers know it (dlc 1.2).
            report.end(Operation::Add, UDSP, seq_no, ReturnCode(-errno.to_c()), text)
        }
    }
}

/// Deletes the rule at this index; `None`: all. An unknown index is no error. `lustre_lnet_del_udsp`.
pub fn del(backend: &dyn Backend, index: Option<u32>, seq_no: SeqNo, report: &mut Report) -> ReturnCode {
    match backend.tell(Request::DelUdsp(index)) {
        // `add` here as well: scripts know the tree so (dlc 1.5).
        Ok(()) | Err(Errno::NotFound) => report.success(Operation::Add, UDSP, seq_no),
        Err(errno) => {
            let text = format!("cannot delete the rule: {}", error_text(errno));
            report.end(Operation::Add, UDSP, seq_no, errno.into(), text)
        }
    }
}

/// Shows the rule at this index; negative: all (dlc 2.11; cfg-050). `lustre_lnet_show_udsp`.
pub fn show(backend: &dyn Backend, index: i32, seq_no: SeqNo, report: &mut Report) -> ReturnCode {
    let rules = match u32::try_from(index) {
        Err(_) => backend.list(Request::GetUdsp),
        Ok(index) => match backend.ask(Request::GetUdsp(index)) {
            Ok(rule) => Ok(vec![rule]),
            Err(Errno::NotFound) => Ok(Vec::new()),
            Err(errno) => Err(errno),
        },
    };
    match rules {
        Ok(rules) => {
            let items: Vec<Value> = rules.into_iter().map(|rule: Box<Udsp>| to_value(&rule)).collect();
            if !items.is_empty() {
                report.show(UDSP, items);
            }
            report.success(Operation::Show, UDSP, seq_no)
        }
        Err(errno) => {
            let text = format!("cannot read the selection rules: {}", error_text(errno));
            report.end(Operation::Show, UDSP, seq_no, errno.into(), text)
        }
    }
}

const UDSP: &str = "udsp";

/// How the absence of a criterion is written.
const ABSENT: &str = "NA";

fn request(
    src: Option<&str>,
    dst: Option<&str>,
    rte: Option<&str>,
    action: RuleAction,
    index: i32,
) -> Result<AddUdsp, OpError> {
    let [src, dst, rte] =
        [src, dst, rte].map(|text| text.map(str::trim).filter(|text| !text.is_empty() && *text != ABSENT));
    let one_sided = match (src, dst, rte) {
        (Some(_), None, None) | (None, Some(_), None) | (None, None, Some(_)) => true,
        (Some(_), Some(_), None) | (None, Some(_), Some(_)) => false,
        (None, None, None) | (Some(_), _, Some(_)) => {
            let text = "a rule has src, dst, src and dst, or dst and rte; no other combination";
            return Err((ReturnCode::BAD_PARAM, text.to_owned()));
        }
    };
    let action = match action {
        RuleAction::Suited if one_sided => UdspAction::Priority(0),
        RuleAction::Suited => UdspAction::PreferredList,
        RuleAction::PreferredList if one_sided => {
            let text = "a rule with one criterion has nothing to prefer it for; give it a priority";
            return Err((ReturnCode::BAD_PARAM, text.to_owned()));
        }
        RuleAction::PreferredList => UdspAction::PreferredList,
        RuleAction::Priority(priority) => {
            if !one_sided {
                write_line!(
                    LogClass::ConfigIgnored,
                    "selection rule: priority without effect (the rule has two criteria); the rule is kept"
                );
            }
            UdspAction::Priority(priority)
        }
    };
    Ok(AddUdsp {
        src: criterion("src", src)?,
        dst: criterion("dst", dst)?,
        rte: criterion("rte", rte)?,
        action,
        index: u32::try_from(index).ok(),
    })
}

fn criterion(name: &str, text: Option<&str>) -> Result<Option<Selector>, OpError> {
    let refused = |error: TextError| {
        let said = text.unwrap_or_default();
        let example = "one is a net such as tcp1 or NIDs such as 192.0.2.[1-9]@tcp";
        (Errno::Invalid.into(), format!("{name} '{said}' cannot be read: {error}; {example}"))
    };
    text.map(str::parse).transpose().map_err(refused)
}

fn to_value(rule: &Udsp) -> Value {
    let criterion =
        |it: &Option<Selector>| it.as_ref().map_or_else(|| ABSENT.to_owned(), Selector::to_string);
    let mut shown = Value::map()
        .with("idx", rule.index)
        .with("src", criterion(&rule.src))
        .with("dst", criterion(&rule.dst))
        .with("rte", criterion(&rule.rte));
    if let UdspAction::Priority(priority) = rule.action {
        shown.push("action", Value::map().with("priority", priority));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::super::fake::Fake;
    use super::*;
    use crate::request::Reply;

    const NIC: Option<&str> = Some("10.99.0.11@tcp");
    const NET: Option<&str> = Some("tcp1");
    const NA: Option<&str> = Some("NA");

    /// cfg-095: fails if a rule that means something cannot be added, or one that means nothing can.
    /// cfg-155: fails if a rule without a priority gets another than 0, the highest.
    #[test]
    fn each_combination_has_its_action_or_is_refused() {
        use RuleAction::{PreferredList, Priority, Suited};
        let table = [
            ((NIC, None, None), Suited, Ok(UdspAction::Priority(0))),
            ((None, NET, NA), Suited, Ok(UdspAction::Priority(0))),
            ((None, None, NIC), Suited, Ok(UdspAction::Priority(0))),
            ((NIC, NET, Some("")), Suited, Ok(UdspAction::PreferredList)),
            ((NA, NET, NIC), Suited, Ok(UdspAction::PreferredList)),
            ((NIC, None, None), Priority(u32::MAX), Ok(UdspAction::Priority(u32::MAX))),
            ((NIC, NET, None), Priority(1), Ok(UdspAction::Priority(1))),
            ((NIC, NET, None), PreferredList, Ok(UdspAction::PreferredList)),
            ((NIC, None, None), PreferredList, Err(-1)),
            ((None, None, None), Suited, Err(-1)),
            ((NA, NA, NA), Suited, Err(-1)),
            ((NIC, None, NET), Suited, Err(-1)),
            ((NIC, NET, NIC), Suited, Err(-1)),
            ((Some("bogus"), None, None), Suited, Err(-22)),
            ((NIC, Some("10.0.0.[1-@tcp"), None), Suited, Err(-22)),
        ];
        for ((src, dst, rte), action, expected) in table {
            let found = request(src, dst, rte, action, -1);
            let found = found.map(|request| request.action).map_err(|(rc, _)| rc.0);
            assert_eq!(found, expected, "{src:?} {dst:?} {rte:?} {action:?}");
        }
    }

    #[test]
    fn a_refused_rule_is_a_positive_errno() {
        let expected = AddUdsp {
            src: "tcp".parse().ok(),
            dst: None,
            rte: None,
            action: UdspAction::Priority(0),
            index: Some(2),
        };
        let fake = Fake::new([(Request::AddUdsp(expected), Err(Errno::Already))]);
        let mut report = Report::new();
        let rc = add(&fake, Some("tcp"), None, None, RuleAction::Suited, 2, SeqNo::NONE, &mut report);
        assert_eq!(rc, ReturnCode(114));
        assert!(report.errors_to_yaml().starts_with("add:\n    - udsp:\n          errno: 114\n"));
    }

    #[test]
    fn deleting_a_rule_that_is_not_there_is_success() {
        let fake = Fake::new([
            (Request::DelUdsp(Some(77)), Err(Errno::NotFound)),
            (Request::DelUdsp(None), Ok(Reply::Done)),
            (Request::DelUdsp(None), Err(Errno::NetworkDown)),
        ]);
        let mut report = Report::new();
        assert_eq!(del(&fake, Some(77), SeqNo::NONE, &mut report), ReturnCode::OK);
        assert_eq!(del(&fake, None, SeqNo::NONE, &mut report), ReturnCode::OK);
        assert_eq!(del(&fake, None, SeqNo::NONE, &mut report), ReturnCode(-100));
    }

    fn rule(index: u32, src: &str, dst: &str, action: UdspAction) -> Result<Reply, Errno> {
        Ok(Reply::Udsp(Box::new(Udsp {
            index,
            src: src.parse().ok(),
            dst: dst.parse().ok(),
            rte: None,
            action,
        })))
    }

    #[test]
    fn rules_are_shown_with_na_for_missing_fields() {
        let first = || rule(0, "tcp0", "", UdspAction::Priority(u32::MAX));
        let second = || rule(1, "10.99.*.11@tcp", "tcp[1-3]", UdspAction::PreferredList);
        let fake = Fake::new([
            (Request::GetUdsp(0), first()),
            (Request::GetUdsp(1), second()),
            (Request::GetUdsp(2), Err(Errno::NotFound)),
        ]);
        let mut report = Report::new();
        assert_eq!(show(&fake, -1, SeqNo::NONE, &mut report), ReturnCode::OK);
        let one = "    - idx: 0\n      src: tcp\n      dst: NA\n      rte: NA\n      action:\n          priority: 4294967295\n";
        let two = "    - idx: 1\n      src: 10.99.[0-255].11@tcp\n      dst: tcp[1-3]\n      rte: NA\n";
        assert_eq!(report.shown.to_yaml(), format!("udsp:\n{one}{two}"));

        let fake = Fake::new([
            (Request::GetUdsp(1), second()),
            (Request::GetUdsp(50), Err(Errno::NotFound)),
            (Request::GetUdsp(50), Err(Errno::NetworkDown)),
        ]);
        let mut report = Report::new();
        assert_eq!(show(&fake, 1, SeqNo::NONE, &mut report), ReturnCode::OK);
        assert_eq!(show(&fake, 50, SeqNo::NONE, &mut report), ReturnCode::OK);
        assert_eq!(show(&fake, 50, SeqNo::NONE, &mut report), ReturnCode(-100));
        assert_eq!(report.shown.to_yaml(), format!("udsp:\n{two}"));
    }
}
