//! The selection rules of the first design, as rules of `udsp` for nets of this node, for NIDs, and for pairs.

use super::error_text::error_text;
use super::policy::{self, RuleEffect, RuleText};
use crate::ReturnCode;
use crate::report::{Operation, Report, SeqNo};
use crate::request::{Backend, Request, Udsp};
use lnet_wire::{Errno, Selector};
use thiserror::Error;

/// The kind of rules, with the criteria of some of them if given.
#[derive(Clone, Copy, Debug)]
pub enum Selection<'a> {
    /// Rules for nets of this node.
    Net(Option<&'a str>),
    /// Rules for NIDs, of this node and of peers.
    Nid(Option<&'a str>),
    /// Rules for pairs of a NID of this node and one of a peer.
    Peer(Option<&'a str>, Option<&'a str>),
}

/// The object of these operations in reports.
pub const SELECTION: &str = "selection";

/// The errors in the criteria of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
enum SelectionError {
    /// A rule to be added has no criteria.
    #[error("say what the rule is about")]
    NoCriteria,
    /// A rule to be deleted has neither an index nor criteria.
    #[error("give the index of the rule, or what it is about")]
    NoRule,
    /// A rule for pairs has the NIDs of one side only.
    #[error("give the NIDs of this node and those of others")]
    OneSide,
    /// The criterion of a rule for nets is about NIDs.
    #[error("'{0}' is no net")]
    NotANet(String),
    /// The criterion of a rule for NIDs is a net.
    #[error("'{0}' is a net; NIDs are such as *.*.*.*@tcp")]
    NotNids(String),
}

/// Adds the rules; for NIDs there are two. The first one that fails ends the operation. [`ReturnCode::BAD_PARAM`] for
/// criteria that are missing or of another kind.
pub fn add(
    backend: &dyn Backend,
    selection: Selection<'_>,
    effect: RuleEffect,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    let rules = match selection.rules() {
        Ok(rules) if !rules.is_empty() => rules,
        Ok(_) => return refused(Operation::Add, &SelectionError::NoCriteria, seq_no, report),
        Err(error) => return refused(Operation::Add, &error, seq_no, report),
    };
    let mut one = |rule| policy::add(backend, rule, effect, seq_no, report);
    rules
        .into_iter()
        .fold(ReturnCode::OK, |before, rule| if before == ReturnCode::OK { one(rule) } else { before })
}

/// Deletes the rule at this index, which must be of this kind, or the rules with the criteria; if both are given they must
/// mean one rule. If one of several rules is missing the others are deleted.
pub fn del(
    backend: &dyn Backend,
    selection: Selection<'_>,
    index: Option<u32>,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    let rules = match selection.rules() {
        Ok(rules) => rules,
        Err(error) => return refused(Operation::Del, &error, seq_no, report),
    };
    let Some(index) = index else {
        if rules.is_empty() {
            return refused(Operation::Del, &SelectionError::NoRule, seq_no, report);
        }
        let mut one = |rule| policy::del_same(backend, rule, None, seq_no, report);
        return rules.into_iter().fold(ReturnCode::OK, |before, rule| one(rule).or(before));
    };
    match backend.ask::<Box<Udsp>>(Request::GetUdsp(index)) {
        Ok(rule) if selection.is_about(&rule) => policy::del(backend, Some(index), seq_no, report),
        Ok(_) => {
            let text = format!("rule {index} is about something else; see 'lnetctl udsp show'");
            report.end(Operation::Del, SELECTION, seq_no, Errno::Invalid.into(), text)
        }
        Err(Errno::NotFound) => {
            let text = format!("there is no rule {index}; see 'lnetctl udsp show'");
            report.end(Operation::Del, SELECTION, seq_no, Errno::NotFound.into(), text)
        }
        Err(errno) => {
            let text = format!("cannot read the selection rules: {}", error_text(errno));
            report.end(Operation::Del, SELECTION, seq_no, errno.into(), text)
        }
    }
}

/// Shows the rules of this kind, with these criteria if they are given, like `udsp`.
pub fn show(
    backend: &dyn Backend,
    selection: Selection<'_>,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    match selection.checked() {
        Ok(()) => policy::show_if(backend, |rule| selection.is_about(rule), seq_no, report),
        Err(error) => refused(Operation::Show, &error, seq_no, report),
    }
}

/// The rule with this index among those of this kind. [`Errno::NotFound`] past the end.
pub fn nth(backend: &dyn Backend, selection: Selection<'_>, index: usize) -> Result<Box<Udsp>, Errno> {
    let rules: Vec<Box<Udsp>> = backend.list(Request::GetUdsp)?;
    rules.into_iter().filter(|rule| selection.is_about(rule)).nth(index).ok_or(Errno::NotFound)
}

fn refused(operation: Operation, error: &SelectionError, seq_no: SeqNo, report: &mut Report) -> ReturnCode {
    report.end(operation, SELECTION, seq_no, ReturnCode::BAD_PARAM, error.to_string())
}

impl<'a> Selection<'a> {
    /// The rules with the criteria; none without criteria.
    fn rules(self) -> Result<Vec<RuleText<'a>>, SelectionError> {
        self.checked()?;
        let rule = |src, dst| RuleText { src, dst, rte: None };
        match self {
            Self::Net(Some(net)) => Ok(vec![rule(Some(net), None)]),
            Self::Nid(Some(nid)) => Ok(vec![rule(Some(nid), None), rule(None, Some(nid))]),
            Self::Peer(Some(local), Some(remote)) => Ok(vec![rule(Some(local), Some(remote))]),
            Self::Peer(Some(_), None) | Self::Peer(None, Some(_)) => Err(SelectionError::OneSide),
            Self::Net(None) | Self::Nid(None) | Self::Peer(None, None) => Ok(Vec::new()),
        }
    }

    /// Checks that the criteria are of this kind. Criteria that cannot be read are reported where they are used.
    fn checked(self) -> Result<(), SelectionError> {
        let wrong = |text: &Option<&str>, nets: bool| {
            let selector = text.and_then(|text| text.parse::<Selector>().ok());
            selector.is_some_and(|selector| selector.is_of_nets() != nets)
        };
        match self {
            Self::Net(net) if wrong(&net, true) => {
                Err(SelectionError::NotANet(net.unwrap_or_default().to_owned()))
            }
            Self::Nid(nid) if wrong(&nid, false) => {
                Err(SelectionError::NotNids(nid.unwrap_or_default().to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Whether this rule is of this kind, and has the criteria.
    fn is_about(self, rule: &Udsp) -> bool {
        let is = |side: &Option<Selector>, text: Option<&str>| {
            side.is_some() && text.is_none_or(|text| text.parse().ok() == *side)
        };
        let of_nets = |side: &Option<Selector>| side.as_ref().is_some_and(Selector::is_of_nets);
        match (self, &rule.src, &rule.dst, &rule.rte) {
            (Self::Net(net), src, None, None) => of_nets(src) && is(src, net),
            (Self::Nid(nid), one, None, None) | (Self::Nid(nid), None, one, None) => {
                !of_nets(one) && is(one, nid)
            }
            (Self::Peer(local, remote), src, dst, None) => is(src, local) && is(dst, remote),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::Fake;
    use super::*;
    use crate::ops::policy::RuleAction;
    use crate::request::{AddUdsp, DelSameUdsp, Reply, UdspAction};

    fn rules() -> Vec<Udsp> {
        let texts = [
            ("tcp1", "", ""),
            ("10.0.0.1@tcp", "", ""),
            ("", "10.0.0.1@tcp", ""),
            ("10.0.0.1@tcp", "10.0.0.8@tcp", ""),
            ("", "tcp1", ""),
            ("", "tcp1", "10.0.0.8@tcp"),
        ];
        let rule = |(index, (src, dst, rte)): (u32, (&str, &str, &str))| Udsp {
            index,
            src: src.parse().ok(),
            dst: dst.parse().ok(),
            rte: rte.parse().ok(),
            action: UdspAction::Priority(0),
            messages: None,
        };
        (0..).zip(texts).map(rule).collect()
    }

    fn get(rule: &Udsp) -> (Request, Result<Reply, Errno>) {
        (Request::GetUdsp(rule.index), Ok(Reply::Udsp(Box::new(rule.clone()))))
    }

    const NIC: Option<&str> = Some("10.0.0.1@tcp");
    const REMOTE: Option<&str> = Some("10.0.0.8@tcp");

    /// Fails if a rule is shown, or deleted by its index, that is about something else.
    #[test]
    fn each_kind_shows_and_deletes_its_rules() {
        let table: [(Selection<'_>, &[u32]); 12] = [
            (Selection::Net(None), &[0]),
            (Selection::Net(Some("tcp1")), &[0]),
            (Selection::Net(Some("tcp2")), &[]),
            (Selection::Nid(None), &[1, 2]),
            (Selection::Nid(NIC), &[1, 2]),
            (Selection::Nid(REMOTE), &[]),
            (Selection::Peer(None, None), &[3]),
            (Selection::Peer(NIC, None), &[3]),
            (Selection::Peer(None, REMOTE), &[3]),
            (Selection::Peer(NIC, REMOTE), &[3]),
            (Selection::Peer(REMOTE, None), &[]),
            (Selection::Peer(NIC, NIC), &[]),
        ];
        for (selection, expected) in table {
            let all = rules();
            let script = all.iter().map(get).chain([(Request::GetUdsp(6), Err(Errno::NotFound))]);
            let mut report = Report::new();
            assert_eq!(show(&Fake::new(script), selection, SeqNo::NONE, &mut report), ReturnCode::OK);
            let yaml = report.shown.to_yaml();
            let shown: Vec<u32> = (0..6).filter(|index| yaml.contains(&format!("idx: {index}\n"))).collect();
            assert_eq!(shown, expected, "{selection:?}");
            if selection.rules().is_err() {
                continue;
            }
            for rule in &all {
                let is_its = expected.contains(&rule.index);
                let deletion = (Request::DelUdsp(Some(rule.index)), Ok(Reply::Done));
                let fake = Fake::new([get(rule)].into_iter().chain(is_its.then_some(deletion)));
                let rc = del(&fake, selection, Some(rule.index), SeqNo::NONE, &mut Report::new());
                assert_eq!(rc, ReturnCode(if is_its { 0 } else { -22 }), "{selection:?} {}", rule.index);
            }
        }
        let fake = Fake::new([(Request::GetUdsp(9), Err(Errno::NotFound))]);
        let rc = del(&fake, Selection::Net(None), Some(9), SeqNo::NONE, &mut Report::new());
        assert_eq!(rc, ReturnCode(-2));
    }

    #[test]
    fn criteria_that_are_missing_or_of_another_kind_are_refused() {
        let effect = RuleEffect::of(RuleAction::Priority(1));
        let table = [
            (Selection::Net(NIC), true),
            (Selection::Nid(Some("tcp")), true),
            (Selection::Nid(Some("*@tcp")), true),
            (Selection::Net(None), false),
            (Selection::Nid(None), false),
            (Selection::Peer(None, None), false),
            (Selection::Peer(NIC, None), false),
        ];
        for (selection, not_shown) in table {
            let (fake, mut report) = (Fake::unasked(), Report::new());
            let refused = ReturnCode::BAD_PARAM;
            assert_eq!(add(&fake, selection, effect, SeqNo::NONE, &mut report), refused, "{selection:?}");
            assert_eq!(del(&fake, selection, None, SeqNo::NONE, &mut report), refused, "{selection:?}");
            if not_shown {
                assert_eq!(show(&fake, selection, SeqNo::NONE, &mut report), refused, "{selection:?}");
            }
        }
    }

    #[test]
    fn rules_about_nids_are_two_which_are_deleted_one_without_the_other() {
        let criteria = [(NIC, None), (None, NIC)].map(|(src, dst): (Option<&str>, Option<&str>)| {
            (src.and_then(|text| text.parse().ok()), dst.and_then(|text| text.parse().ok()))
        });
        let adding = criteria.clone().map(|(src, dst): (Option<Selector>, Option<Selector>)| {
            let (action, messages, index) = (UdspAction::Priority(1), None, None);
            (Request::AddUdsp(AddUdsp { src, dst, rte: None, action, messages, index }), Ok(Reply::Done))
        });
        let effect = RuleEffect::of(RuleAction::Priority(1));
        let rc = add(&Fake::new(adding), Selection::Nid(NIC), effect, SeqNo::NONE, &mut Report::new());
        assert_eq!(rc, ReturnCode::OK);
        let replies = [Err(Errno::NotFound), Ok(Reply::Done)];
        let deleting = criteria.into_iter().zip(replies).map(|((src, dst), reply)| {
            (Request::DelSameUdsp(Box::new(DelSameUdsp { src, dst, rte: None, index: None })), reply)
        });
        let rc = del(&Fake::new(deleting), Selection::Nid(NIC), None, SeqNo::NONE, &mut Report::new());
        assert_eq!(rc, ReturnCode(-2));
    }
}
