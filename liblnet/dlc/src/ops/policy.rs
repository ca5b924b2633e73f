//! Operations on the user-defined selection policy.

use super::error_text::{OpError, error_text};
use crate::ranges::{OutOfRange, RULE_PRIORITY};
use crate::report::{Operation, Report, SeqNo};
use crate::request::{AddUdsp, Backend, DelSameUdsp, Request, Udsp, UdspAction};
use crate::{ReturnCode, Value};
use lnet_wire::{Errno, Selector, TextError};
use std::fmt;
use std::num::NonZeroU32;

/// The action of a new rule, or that it follows from the criteria of the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleAction {
    /// The action that fits the criteria: priority 0 for a rule about one side, else a preferred list.
    Suited,
    /// A priority; `u32::MAX` is the lowest.
    Priority(u32),
    /// A list of preferred partners.
    PreferredList,
}

/// The criteria of a rule as text; `None` and `NA` stand for no criterion.
#[derive(Clone, Copy, Debug, Default)]
pub struct RuleText<'a> {
    /// Selects interfaces of this node.
    pub src: Option<&'a str>,
    /// Selects interfaces of peers.
    pub dst: Option<&'a str>,
    /// Selects routers.
    pub rte: Option<&'a str>,
}

/// The effect of a rule to be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleEffect {
    /// The action of the rule.
    pub action: RuleAction,
    /// The number of messages of one turn, for rules that count messages.
    pub messages: Option<u32>,
    /// The position of the rule in the list; `None`: at the end.
    pub index: Option<u32>,
}

impl RuleEffect {
    /// A rule with this action at the end of the list, without counting messages.
    pub const fn of(action: RuleAction) -> Self {
        Self { action, messages: None, index: None }
    }
}

/// Converts a number to a priority: within its range, or 4294967295, as which the lowest priority is shown.
pub fn priority_of(number: i64) -> Result<u32, OutOfRange> {
    if number == i64::from(u32::MAX) { Ok(u32::MAX) } else { RULE_PRIORITY.count(number) }
}

/// Adds a rule (cfg-095, cfg-110 to cfg-160). `lustre_lnet_add_udsp`.
///
/// A rule may apply to an interface (`src`), to a peer (`dst`), to both, or to the routers to a peer (`dst`, `rte`); the
/// library accepts `rte` alone. [`ReturnCode::BAD_PARAM`] for any other combination, and for numbers out of range; -22 for a
/// text that cannot be read; errors of the node are positive errnos, as in C.
pub fn add(
    backend: &dyn Backend,
    rule: RuleText<'_>,
    effect: RuleEffect,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    let request = match request(rule, effect) {
        Ok(request) => request,
        Err((rc, text)) => return report.end(Operation::Add, UDSP, seq_no, rc, text),
    };
    match backend.tell(Request::AddUdsp(request)) {
        Ok(()) => report.success(Operation::Add, UDSP, seq_no),
        Err(errno) => {
            let (rc, text) = refused(errno);
            report.end(Operation::Add, UDSP, seq_no, rc, text)
        }
    }
}

/// Ensures that the node has this rule, like [`add`], but a rule that exists with the same action is success. For files,
/// which describe the final state of a node (cfg-170).
pub(crate) fn ensure(
    backend: &dyn Backend,
    rule: RuleText<'_>,
    effect: RuleEffect,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    let there = request(rule, effect).ok().is_some_and(|asked| {
        let rules: Vec<Box<Udsp>> = backend.list(Request::GetUdsp).unwrap_or_default();
        rules.iter().any(|now| rehearse(&asked, now) == Some(Ok(false)))
    });
    match there {
        true => report.success(Operation::Add, UDSP, seq_no),
        false => add(backend, rule, effect, seq_no, report),
    }
}

/// Returns the outcome of adding a rule if the rule `now` exists: `None` if `now` has other criteria, else whether `now` is
/// changed, or the error with which adding it ends.
pub(crate) fn rehearse(asked: &AddUdsp, now: &Udsp) -> Option<Result<bool, OpError>> {
    if (&asked.src, &asked.dst, &asked.rte) != (&now.src, &now.dst, &now.rte) {
        return None;
    }
    let is_same = (asked.action, asked.messages) == (now.action, now.messages);
    Some(match (is_same, asked.action, now.action) {
        (true, ..) => Ok(false),
        (false, UdspAction::Priority(_), UdspAction::Priority(_)) => Ok(true),
        _ => Err(refused(Errno::Already)),
    })
}

/// The code and the text for a rule that the node refused.
fn refused(errno: Errno) -> OpError {
    let remedy = match errno {
        Errno::Already => {
            "; there is a rule about the same, which only another priority, or other messages, would change; see \
             'lnetctl udsp show'"
        }
        Errno::Invalid => "; a rule with rte has dst, too",
        _ => "",
    };
    // The number is positive, as C callers expect it (dlc 1.2).
    (ReturnCode(-errno.to_c()), format!("cannot add the rule: {}{remedy}", error_text(errno)))
}

/// Deletes the rule at this index; `None`: all. `lustre_lnet_del_udsp`.
pub fn del(backend: &dyn Backend, index: Option<u32>, seq_no: SeqNo, report: &mut Report) -> ReturnCode {
    let missing = || format!("there is no rule {}", index.unwrap_or_default());
    deleted(backend.tell(Request::DelUdsp(index)), missing, seq_no, report)
}

/// Deletes the rule with exactly these criteria; if an index is given the rule must have it.
pub fn del_same(
    backend: &dyn Backend,
    rule: RuleText<'_>,
    index: Option<u32>,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    match rule.criteria() {
        Ok([src, dst, rte]) => {
            let request = Request::DelSameUdsp(Box::new(DelSameUdsp { src, dst, rte, index }));
            deleted(backend.tell(request), || format!("there is no rule with {rule}"), seq_no, report)
        }
        Err((rc, text)) => report.end(Operation::Del, UDSP, seq_no, rc, text),
    }
}

fn deleted(
    ended: Result<(), Errno>,
    missing: impl Fn() -> String,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    let text = match ended {
        // The result is reported under `add` here as well: scripts expect the tree in this form (dlc 1.5).
        Ok(()) => return report.success(Operation::Add, UDSP, seq_no),
        Err(Errno::NotFound) => format!("{}; see 'lnetctl udsp show'", missing()),
        Err(Errno::Invalid) => {
            "the rule with these criteria has another index; see 'lnetctl udsp show'".to_owned()
        }
        Err(errno) => format!("cannot delete the rule: {}", error_text(errno)),
    };
    let rc = ended.err().map_or(ReturnCode::OK, ReturnCode::from);
    report.end(Operation::Del, UDSP, seq_no, rc, text)
}

/// Shows the rule at this index; negative: all (dlc 2.11; cfg-050). `lustre_lnet_show_udsp`.
pub fn show(backend: &dyn Backend, index: i32, seq_no: SeqNo, report: &mut Report) -> ReturnCode {
    match u32::try_from(index) {
        Err(_) => show_if(backend, |_| true, seq_no, report),
        Ok(index) => {
            let rules = match backend.ask(Request::GetUdsp(index)) {
                Ok(rule) => Ok(vec![rule]),
                Err(Errno::NotFound) => Ok(Vec::new()),
                Err(errno) => Err(errno),
            };
            shown(rules, seq_no, report)
        }
    }
}

/// Shows the rules for which `is_meant` holds.
pub fn show_if(
    backend: &dyn Backend,
    is_meant: impl Fn(&Udsp) -> bool,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    let rules = backend.list(Request::GetUdsp).map(|mut rules: Vec<Box<Udsp>>| {
        rules.retain(|rule| is_meant(rule));
        rules
    });
    shown(rules, seq_no, report)
}

#[allow(clippy::vec_box, reason = "as answered")]
fn shown(rules: Result<Vec<Box<Udsp>>, Errno>, seq_no: SeqNo, report: &mut Report) -> ReturnCode {
    match rules {
        Ok(rules) => {
            let items: Vec<Value> = rules.iter().map(|rule| to_value(rule)).collect();
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

/// The text that stands for an absent criterion.
const ABSENT: &str = "NA";

impl<'a> RuleText<'a> {
    /// The criteria, with `None` for absent ones.
    fn given(self) -> [Option<&'a str>; 3] {
        [self.src, self.dst, self.rte]
            .map(|text| text.map(str::trim).filter(|text| !text.is_empty() && *text != ABSENT))
    }

    fn criteria(self) -> Result<[Option<Selector>; 3], OpError> {
        let [src, dst, rte] = self.given();
        Ok([criterion("src", src)?, criterion("dst", dst)?, criterion("rte", rte)?])
    }
}

impl fmt::Display for RuleText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = ["src", "dst", "rte"].into_iter().zip(self.given());
        let given: Vec<String> = named.filter_map(|(name, text)| Some(format!("{name} {}", text?))).collect();
        f.write_str(&given.join(", "))
    }
}

/// The request that adds the rule, or the error in its criteria or its effect.
pub(crate) fn request(rule: RuleText<'_>, effect: RuleEffect) -> Result<AddUdsp, OpError> {
    let bad = |text: String| Err((ReturnCode::BAD_PARAM, text));
    let one_sided = match rule.given() {
        [Some(_), None, None] | [None, Some(_), None] | [None, None, Some(_)] => true,
        [Some(_), Some(_), None] | [None, Some(_), Some(_)] => false,
        [None, None, None] | [Some(_), _, Some(_)] => {
            return bad("a rule has src, dst, src and dst, or dst and rte; no other combination".to_owned());
        }
    };
    if effect.action == RuleAction::PreferredList && effect.messages.is_some() {
        return bad("a preferred list counts no messages; give a priority instead".to_owned());
    }
    let messages = match effect.messages.map(NonZeroU32::new) {
        Some(None) => return bad("a turn has at least one message".to_owned()),
        messages => messages.flatten(),
    };
    let action = match effect.action {
        RuleAction::Suited if one_sided || messages.is_some() => UdspAction::Priority(0),
        RuleAction::PreferredList if one_sided => {
            return bad(
                "a rule with one criterion has nothing to prefer it for; give it a priority".to_owned()
            );
        }
        RuleAction::Suited | RuleAction::PreferredList => UdspAction::PreferredList,
        RuleAction::Priority(priority) => match priority_of(priority.into()) {
            Ok(priority) => UdspAction::Priority(priority),
            Err(error) => return bad(error.to_string()),
        },
    };
    let [src, dst, rte] = rule.criteria()?;
    Ok(AddUdsp { src, dst, rte, action, messages, index: effect.index })
}

fn criterion(name: &str, text: Option<&str>) -> Result<Option<Selector>, OpError> {
    let refused = |error: TextError| {
        let said = text.unwrap_or_default();
        let example = "one is a net such as tcp1 or NIDs such as 192.0.2.[1-9]@tcp";
        (Errno::Invalid.into(), format!("{name} '{said}' cannot be read: {error}; {example}"))
    };
    text.map(str::parse).transpose().map_err(refused)
}

pub(crate) fn to_value(rule: &Udsp) -> Value {
    let criterion = |it: &Option<Selector>| {
        it.as_ref().map_or_else(|| ABSENT.into(), |selector| Value::scalar(&selector.to_string()))
    };
    let mut shown = Value::map()
        .with("idx", rule.index)
        .with("src", criterion(&rule.src))
        .with("dst", criterion(&rule.dst))
        .with("rte", criterion(&rule.rte));
    let mut action = Value::map();
    if let UdspAction::Priority(priority) = rule.action {
        action.push("priority", priority);
    }
    if let Some(messages) = rule.messages {
        action.push("messages", messages.get());
    }
    if !action.is_empty() {
        shown.push("action", action);
    }
    shown
}

/// The effect of a rule in a few words, with a blank before them; empty for a preferred list.
pub(crate) fn described(action: &UdspAction, messages: Option<NonZeroU32>) -> String {
    let priority = match action {
        UdspAction::Priority(priority) => format!(" priority {priority}"),
        UdspAction::PreferredList => String::new(),
    };
    let messages = messages.map_or_else(String::new, |messages| format!(" messages {messages}"));
    priority + &messages
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
            ((NIC, None, None), Priority(255), Ok(UdspAction::Priority(255))),
            ((NIC, None, None), Priority(256), Err(-1)),
            ((NIC, NET, None), Priority(300), Err(-1)),
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
            let found = request(RuleText { src, dst, rte }, RuleEffect::of(action));
            let found = found.map(|request| request.action).map_err(|(rc, _)| rc.0);
            assert_eq!(found, expected, "{src:?} {dst:?} {rte:?} {action:?}");
        }
    }

    /// Fails if a rule can be made that no NID ever matches.
    #[test]
    fn a_rule_about_an_address_that_no_interface_has_is_refused() {
        for text in ["fe80::1@tcp", "::@tcp", "::ffff:10.0.0.1@tcp", "fd99::1%eth0@tcp"] {
            let rule = RuleText { dst: Some(text), ..RuleText::default() };
            let refused = request(rule, RuleEffect::of(RuleAction::Suited)).map_err(|(rc, _)| rc.0);
            assert_eq!(refused.map(|_| ()), Err(-22), "{text}");
        }
    }

    /// cfg-145: fails if a rule about a pair that counts messages is a mere list.
    #[test]
    fn a_rule_may_count_messages_but_not_none() {
        let counted = |messages| {
            let effect = RuleEffect { messages: Some(messages), ..RuleEffect::of(RuleAction::Suited) };
            request(RuleText { src: NIC, dst: NET, rte: None }, effect)
        };
        let found = counted(3).unwrap();
        assert_eq!((found.action, found.messages), (UdspAction::Priority(0), NonZeroU32::new(3)));
        assert_eq!(counted(0).map_err(|(rc, _)| rc), Err(ReturnCode::BAD_PARAM));
        let effect = RuleEffect { messages: Some(3), ..RuleEffect::of(RuleAction::PreferredList) };
        let found = request(RuleText { src: NIC, dst: NET, rte: None }, effect);
        assert_eq!(found.map_err(|(rc, _)| rc), Err(ReturnCode::BAD_PARAM));
    }

    #[test]
    fn a_priority_has_a_range_and_the_number_by_which_none_is_shown() {
        let table =
            [(0, Some(0)), (255, Some(255)), (4_294_967_295, Some(u32::MAX)), (-1, None), (256, None)];
        for (number, priority) in table {
            assert_eq!(priority_of(number).ok(), priority, "{number}");
        }
        assert_eq!(priority_of(-1).unwrap_err().to_string(), "priority -1 is not within 0 to 255");
    }

    #[test]
    fn a_refused_rule_is_a_positive_errno() {
        let expected = AddUdsp {
            src: "tcp".parse().ok(),
            dst: None,
            rte: None,
            action: UdspAction::Priority(0),
            messages: None,
            index: Some(2),
        };
        let fake = Fake::new([(Request::AddUdsp(expected), Err(Errno::Already))]);
        let mut report = Report::new();
        let rule = RuleText { src: Some("tcp"), ..RuleText::default() };
        let effect = RuleEffect { index: Some(2), ..RuleEffect::of(RuleAction::Suited) };
        let rc = add(&fake, rule, effect, SeqNo::NONE, &mut report);
        assert_eq!(rc, ReturnCode(114));
        assert!(report.errors_to_yaml().starts_with("add:\n    - udsp:\n          errno: 114\n"));
    }

    #[test]
    fn deleting_a_rule_that_is_not_there_is_an_error() {
        let fake = Fake::new([
            (Request::DelUdsp(Some(77)), Err(Errno::NotFound)),
            (Request::DelUdsp(None), Ok(Reply::Done)),
            (Request::DelUdsp(None), Err(Errno::NetworkDown)),
        ]);
        let mut report = Report::new();
        assert_eq!(del(&fake, Some(77), SeqNo::NONE, &mut report), ReturnCode(-2));
        assert!(report.errors_to_yaml().contains("there is no rule 77"), "{}", report.errors_to_yaml());
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
            messages: None,
        })))
    }

    /// Fails if the output is not YAML, or reads as other rules.
    #[test]
    fn what_is_shown_imports_to_the_same_rules() {
        let texts = ["*.*.*.*@tcp", "[1,2].0.0.1@o2ib2", "tcp*", "10.0.*.[1-9/2]@tcp[1-3]", "tcp"];
        let rules: Vec<Udsp> = (0..)
            .zip(texts)
            .map(|(index, text)| Udsp {
                index,
                src: text.parse().ok(),
                dst: if index % 2 == 0 { None } else { texts[0].parse().ok() },
                rte: None,
                action: UdspAction::Priority(index),
                messages: NonZeroU32::new(index),
            })
            .collect();
        let mut script: Vec<_> = rules
            .iter()
            .map(|rule| (Request::GetUdsp(rule.index), Ok(Reply::Udsp(Box::new(rule.clone())))))
            .collect();
        script.push((Request::GetUdsp(5), Err(Errno::NotFound)));
        let mut report = Report::new();
        assert_eq!(show(&Fake::new(script), -1, SeqNo::NONE, &mut report), ReturnCode::OK);
        let read = crate::yaml::read(&report.shown.to_yaml(), crate::yaml::Purpose::Add).unwrap();
        let crate::model::Block::Udsp(items) = &read.blocks[0] else { panic!("{read:?}") };
        let found: Vec<_> = items.iter().map(|item| &item.it).collect();
        assert_eq!(found.len(), rules.len());
        for (item, rule) in found.iter().zip(&rules) {
            let action = match rule.action {
                UdspAction::Priority(priority) => RuleAction::Priority(priority),
                UdspAction::PreferredList => RuleAction::PreferredList,
            };
            assert_eq!((&item.src, &item.dst, item.action), (&rule.src, &rule.dst, action));
            assert_eq!(item.messages, rule.messages.map(NonZeroU32::get));
        }
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
