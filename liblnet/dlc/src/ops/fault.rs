//! Fault rules, which drop or delay messages on purpose, for tests of programs on LNet (`lnetctl fault`, dlc 1.7).

use super::error_text::{OpError, error_text};
use crate::host_names::Names;
use crate::report::{Operation, Report, SeqNo};
use crate::request::{Backend, DelFaults, Fault, FaultEffect, FaultKind, FaultOdds, FaultRule, Request};
use crate::{ReturnCode, Value};
use lnet_wire::{MAX_PORTALS, NidPattern};
use std::num::NonZeroU32;
use std::time::Duration;

/// The arguments of a fault rule, as text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wording<'a> {
    /// The source of the messages: a NID, `*@NET` or `*`. Mandatory.
    pub source: Option<&'a str>,
    /// The destination of the messages. Mandatory.
    pub dest: Option<&'a str>,
    /// The NID of this node; `None`: any.
    pub local: Option<&'a str>,
    /// The types of the messages, in upper or lower case; empty: all.
    pub messages: &'a [String],
    /// The portals; empty: all.
    pub portals: &'a [i64],
    /// The number of messages of which one is hit.
    pub rate: Option<i64>,
    /// The interval in which one message is hit.
    pub interval: Option<Duration>,
}

/// The action of a fault rule on the messages that it hits.
#[derive(Clone, Copy, Debug)]
pub enum RuleAction<'a> {
    /// The messages are dropped.
    Dropped {
        /// The causes with which sending fails; if empty, the messages are dropped on arrival.
        errors: &'a [String],
        /// Whether half of the messages are hit, by chance, in place of one in each interval.
        random: bool,
        /// Whether all messages are hit, incoming and outgoing.
        all: bool,
    },
    /// The messages are delayed; the delay is mandatory.
    Delayed(Option<Duration>),
}

/// The rules to delete.
#[derive(Clone, Copy, Debug)]
pub enum Which<'a> {
    /// All rules of the kind.
    All,
    /// The rules with this source and this destination; both are mandatory.
    Between(Option<&'a str>, Option<&'a str>),
}

/// Adds a rule. Rules that are equal may coexist.
pub fn add(
    backend: &dyn Backend,
    wording: &Wording<'_>,
    action: RuleAction<'_>,
    report: &mut Report,
) -> ReturnCode {
    let rule = match rule(wording, action) {
        Ok(rule) => rule,
        Err((rc, text)) => return report.end(Operation::Add, FAULT, SeqNo::NONE, rc, text),
    };
    match backend.tell(Request::AddFault(rule)) {
        Ok(()) => report.success(Operation::Add, FAULT, SeqNo::NONE),
        Err(errno) => {
            let text = format!("cannot add the rule: {}", error_text(errno));
            report.end(Operation::Add, FAULT, SeqNo::NONE, errno.into(), text)
        }
    }
}

/// Deletes rules; it is no error if there are none. Messages that a deleted rule has delayed go on at once.
pub fn del(backend: &dyn Backend, kind: FaultKind, which: Which<'_>, report: &mut Report) -> ReturnCode {
    let (source, dest) = match which {
        Which::All => (Ok(None), Ok(None)),
        Which::Between(source, dest) => {
            (mandatory("source", source).map(Some), mandatory("dest", dest).map(Some))
        }
    };
    let (source, dest) = match source.and_then(|source| dest.map(|dest| (source, dest))) {
        Ok(both) => both,
        Err((rc, text)) => return report.end(Operation::Del, FAULT, SeqNo::NONE, rc, text),
    };
    match backend.tell(Request::DelFaults(DelFaults { kind, source, dest })) {
        Ok(()) => report.success(Operation::Del, FAULT, SeqNo::NONE),
        Err(errno) => {
            let text = format!("cannot delete the rules: {}", error_text(errno));
            report.end(Operation::Del, FAULT, SeqNo::NONE, errno.into(), text)
        }
    }
}

/// Sets the counters of all rules of a kind to 0.
pub fn reset(backend: &dyn Backend, kind: FaultKind, report: &mut Report) -> ReturnCode {
    match backend.tell(Request::ResetFaults(kind)) {
        Ok(()) => report.success(Operation::Manage, FAULT, SeqNo::NONE),
        Err(errno) => {
            let text = format!("cannot reset the rules: {}", error_text(errno));
            report.end(Operation::Manage, FAULT, SeqNo::NONE, errno.into(), text)
        }
    }
}

/// Shows the rules of a kind, the newest first; with `all`, also the values that the kernel's tool does not show. It is no
/// error if there are none.
pub fn show(backend: &dyn Backend, kind: FaultKind, all: bool, report: &mut Report) -> ReturnCode {
    match backend.list::<Box<Fault>>(|index| Request::GetFault(kind, index)) {
        Ok(faults) => {
            if !faults.is_empty() {
                report.show(FAULT, faults.iter().map(|fault| to_value(fault, all)).collect::<Vec<Value>>());
            }
            report.success(Operation::Show, FAULT, SeqNo::NONE)
        }
        Err(errno) => {
            let text = format!("cannot read the rules: {}", error_text(errno));
            report.end(Operation::Show, FAULT, SeqNo::NONE, errno.into(), text)
        }
    }
}

const FAULT: &str = "fault";

/// The message types and their bits.
const MESSAGES: [(&str, u32); 4] = [("PUT", 2), ("ACK", 1), ("GET", 4), ("REPLY", 8)];

/// The causes of failure; the first is bit 1.
const ERRORS: [&str; 10] = [
    "local_interrupt",
    "local_dropped",
    "local_aborted",
    "local_no_route",
    "local_error",
    "local_timeout",
    "remote_error",
    "remote_dropped",
    "remote_timeout",
    "network_timeout",
];
const RANDOM_ERROR: &str = "random";

fn rule(wording: &Wording<'_>, action: RuleAction<'_>) -> Result<FaultRule, OpError> {
    let (effect, random, all) = match action {
        RuleAction::Dropped { errors, random, all } => {
            (FaultEffect::Drop { errors: errors_of(errors)?, all }, random, all)
        }
        RuleAction::Delayed(Some(latency)) => (FaultEffect::Delay { latency_ms: ms(latency) }, false, false),
        RuleAction::Delayed(None) => {
            return Err((ReturnCode::MISSING_PARAM, "say how late they are with --latency".to_owned()));
        }
    };
    let rule = FaultRule {
        source: mandatory("source", wording.source)?,
        dest: mandatory("dest", wording.dest)?,
        local: wording.local.map_or(Ok(NidPattern::Any), |text| pattern("local_nid", text))?,
        messages: messages_of(wording.messages)?,
        portals: portals_of(wording.portals)?,
        odds: odds(wording, random, all)?,
        effect,
    };
    if rule.portals != 0 && rule.messages & (1 | 8) != 0 {
        let text = "--portal is about PUT and GET; ACK and REPLY go to no portal";
        return Err((ReturnCode::BAD_PARAM, text.to_owned()));
    }
    Ok(rule)
}

fn odds(wording: &Wording<'_>, random: bool, all: bool) -> Result<FaultOdds, OpError> {
    let wrong = |text: &str| Err((ReturnCode::BAD_PARAM, text.to_owned()));
    match (wording.rate, wording.interval) {
        (Some(rate), None) => match u32::try_from(rate).ok().and_then(NonZeroU32::new) {
            Some(_) if random => wrong("--random goes with --interval"),
            Some(rate) => Ok(FaultOdds::OneIn(rate)),
            None => Err((ReturnCode::OUT_OF_RANGE, format!("--rate {rate} is not within 1 to 4294967295"))),
        },
        (None, Some(interval)) if random => Ok(FaultOdds::HalfMs(ms(interval))),
        (None, Some(interval)) => Ok(FaultOdds::OnePerMs(ms(interval))),
        (None, None) if all && !random => Ok(FaultOdds::OneIn(NonZeroU32::MIN)),
        (None, None) if random => wrong("--random goes with --interval"),
        _ => wrong("give either --rate or --interval, and not both"),
    }
}

fn mandatory(name: &str, text: Option<&str>) -> Result<NidPattern, OpError> {
    match text {
        Some(text) => pattern(name, text),
        None => {
            let text = format!(
                "--{name} is missing; it takes a NID, ADDRESS/BITS@NET for a mask, *@NET for all of a net, or *"
            );
            Err((ReturnCode::MISSING_PARAM, text))
        }
    }
}

fn pattern(name: &str, text: &str) -> Result<NidPattern, OpError> {
    Names::new().pattern(text).map_err(|error| {
        let text = format!(
            "--{name} '{text}' cannot be read: {error}; it takes a NID, ADDRESS/BITS@NET, *@NET or *"
        );
        (ReturnCode::BAD_PARAM, text)
    })
}

fn messages_of(names: &[String]) -> Result<u32, OpError> {
    let bit = |name: &String| {
        let known = MESSAGES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        known.map(|(_, bit)| *bit).ok_or_else(|| {
            (
                ReturnCode::BAD_PARAM,
                format!("--message '{name}' is no kind of message: PUT, ACK, GET or REPLY"),
            )
        })
    };
    names.iter().try_fold(0, |bits, name| Ok(bits | bit(name)?))
}

fn portals_of(portals: &[i64]) -> Result<u64, OpError> {
    portals.iter().try_fold(0, |bits, portal| match u32::try_from(*portal) {
        Ok(number @ 0..MAX_PORTALS) => Ok(bits | 1 << number),
        _ => Err((
            ReturnCode::OUT_OF_RANGE,
            format!("--portal {portal} is not within 0 to {}", MAX_PORTALS - 1),
        )),
    })
}

fn errors_of(names: &[String]) -> Result<u32, OpError> {
    let bits = |name: &String| match ERRORS.iter().position(|known| known.eq_ignore_ascii_case(name)) {
        Some(at) => Ok(1 << (at + 1)),
        None if RANDOM_ERROR.eq_ignore_ascii_case(name) => Ok(u32::MAX),
        None => {
            let known = ERRORS.join(", ");
            Err((
                ReturnCode::BAD_PARAM,
                format!("--health_error '{name}' is none of {known} and {RANDOM_ERROR}"),
            ))
        }
    };
    names.iter().try_fold(0, |all, name| Ok(all | bits(name)?))
}

/// The time in milliseconds, at least 1, as 0 would mean none.
fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1)
}

/// The keys of lnetctl 2.17 in its order; with `all`, those of this library after them.
fn to_value(fault: &Fault, all: bool) -> Value {
    let Fault { rule, counts } = fault;
    let (rate, interval, random) = match rule.odds {
        FaultOdds::OneIn(count) => (count.get(), 0, false),
        FaultOdds::OnePerMs(ms) => (0, ms, false),
        FaultOdds::HalfMs(ms) => (0, ms, true),
    };
    let (kind, [rate_key, interval_key]) = match rule.kind() {
        FaultKind::Drop => ("drop", ["da_rate", "da_interval"]),
        FaultKind::Delay => ("delay", ["la_rate", "la_interval"]),
    };
    let mut shown = Value::map()
        .with("rule_type", kind)
        .with("fa_src", shown_pattern(rule.source))
        .with("fa_dst", shown_pattern(rule.dest))
        .with("fa_ptl_mask", Value::Text(rule.portals.to_string()))
        .with("fa_msg_mask", rule.messages)
        .with(rate_key, rate)
        .with(interval_key, seconds(interval));
    match rule.effect {
        FaultEffect::Drop { .. } => shown.push("ds_dropped", counts.hit),
        FaultEffect::Delay { latency_ms } => {
            shown.push("la_latency", seconds(latency_ms));
            shown.push("ls_delayed", counts.hit);
        }
    }
    let counts = [
        ("fs_count", counts.matched),
        ("fs_put", counts.put),
        ("fs_ack", counts.ack),
        ("fs_get", counts.get),
        ("fs_reply", counts.reply),
    ];
    counts.into_iter().for_each(|(key, count)| shown.push(key, count));
    if all {
        shown.push("fa_local_nid", shown_pattern(rule.local));
        if let FaultEffect::Drop { errors, all } = rule.effect {
            shown.push("da_health_error", Value::Quoted(shown_errors(errors)));
            shown.push("da_random", u32::from(random));
            shown.push("da_drop_all", u32::from(all));
        }
    }
    shown
}

/// A pattern as the kernel shows it; `*` alone would be something else in YAML.
fn shown_pattern(pattern: NidPattern) -> Value {
    match pattern {
        NidPattern::Any => Value::Quoted(pattern.to_string()),
        NidPattern::Net(net) => Value::Text(format!("255.255.255.255@{net}")),
        NidPattern::Prefix(..) | NidPattern::Nid(_) => Value::Text(pattern.to_string()),
    }
}

fn shown_errors(bits: u32) -> String {
    let every = ERRORS.iter().enumerate();
    let named: Vec<&str> = every.filter(|(at, _)| bits & 1 << (at + 1) != 0).map(|(_, name)| *name).collect();
    if named.len() == ERRORS.len() { RANDOM_ERROR.to_owned() } else { named.join(",") }
}

/// Milliseconds as seconds, without a fraction if it is 0.
fn seconds(ms: u64) -> Value {
    match ms % 1000 {
        0 => (ms / 1000).into(),
        _ => Value::Text(Duration::from_millis(ms).as_secs_f64().to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::Fake;
    use super::*;
    use crate::request::{FaultCounts, Reply};
    use lnet_wire::Errno;

    const LOST: RuleAction<'_> = RuleAction::Dropped { errors: &[], random: false, all: false };
    const SECOND: Duration = Duration::from_secs(1);

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn between<'a>(source: &'a str, dest: &'a str) -> Wording<'a> {
        Wording { source: Some(source), dest: Some(dest), ..Wording::default() }
    }

    fn some_rule() -> FaultRule {
        FaultRule {
            source: NidPattern::Any,
            dest: "*@tcp".parse().unwrap(),
            local: NidPattern::Any,
            messages: 0,
            portals: 0,
            odds: FaultOdds::OneIn(NonZeroU32::MIN),
            effect: FaultEffect::Drop { errors: 0, all: false },
        }
    }

    #[test]
    fn rules_are_built_from_the_arguments() {
        let base = between("*", "*@tcp");
        let one = Wording { rate: Some(1), ..base };
        let [messages, errors, random] =
            [words(&["put", "ACK"]), words(&["local_timeout", "NETWORK_TIMEOUT"]), words(&["random"])];
        let failing = |errors| RuleAction::Dropped { errors, random: false, all: false };
        let effect = |errors, all| FaultEffect::Drop { errors, all };
        let local = Wording { local: Some("10.0.0.1@tcp"), ..one };
        let five = Wording { rate: None, interval: Some(5 * SECOND), ..base };
        let everything = RuleAction::Dropped { errors: &[], random: false, all: true };
        let half = RuleAction::Dropped { errors: &[], random: true, all: false };
        let late = FaultEffect::Delay { latency_ms: 250 };
        let table = [
            (one, LOST, some_rule()),
            (Wording { messages: &messages, ..one }, LOST, FaultRule { messages: 3, ..some_rule() }),
            (Wording { portals: &[0, 63], ..one }, LOST, FaultRule { portals: 1 << 63 | 1, ..some_rule() }),
            (local, LOST, FaultRule { local: "10.0.0.1@tcp".parse().unwrap(), ..some_rule() }),
            (five, LOST, FaultRule { odds: FaultOdds::OnePerMs(5000), ..some_rule() }),
            (five, half, FaultRule { odds: FaultOdds::HalfMs(5000), ..some_rule() }),
            (one, failing(&errors), FaultRule { effect: effect(1 << 6 | 1 << 10, false), ..some_rule() }),
            (one, failing(&random), FaultRule { effect: effect(u32::MAX, false), ..some_rule() }),
            (base, everything, FaultRule { effect: effect(0, true), ..some_rule() }),
            (one, RuleAction::Delayed(Some(SECOND / 4)), FaultRule { effect: late, ..some_rule() }),
        ];
        for (wording, action, expected) in table {
            assert_eq!(rule(&wording, action), Ok(expected), "{wording:?} {action:?}");
        }
    }

    #[test]
    fn missing_or_invalid_arguments_send_no_request() {
        let one = Wording { rate: Some(1), ..between("*", "*") };
        let [acks, bogus] = [words(&["ACK"]), words(&["bogus"])];
        let half = RuleAction::Dropped { errors: &[], random: true, all: false };
        let table = [
            (Wording { source: None, ..one }, LOST, -2),
            (Wording { dest: None, ..one }, LOST, -2),
            (Wording { dest: Some("10.0.0.*@tcp"), ..one }, LOST, -1),
            (Wording { local: Some("x"), ..one }, LOST, -1),
            (Wording { rate: None, ..one }, LOST, -1),
            (Wording { interval: Some(SECOND), ..one }, LOST, -1),
            (Wording { rate: Some(0), ..one }, LOST, -3),
            (one, half, -1),
            (Wording { messages: &bogus, ..one }, LOST, -1),
            (Wording { portals: &[64], ..one }, LOST, -3),
            (Wording { portals: &[1], messages: &acks, ..one }, LOST, -1),
            (one, RuleAction::Dropped { errors: &bogus, random: false, all: false }, -1),
            (one, RuleAction::Delayed(None), -2),
        ];
        for (wording, action, expected) in table {
            let rc = add(&Fake::unasked(), &wording, action, &mut Report::new());
            assert_eq!(rc, ReturnCode(expected), "{wording:?} {action:?}");
        }
    }

    #[test]
    fn rules_are_deleted_by_both_ends_or_all() {
        let del_faults =
            |source, dest| Request::DelFaults(DelFaults { kind: FaultKind::Delay, source, dest });
        let fake = Fake::new([
            (del_faults(None, None), Ok(Reply::Number(0))),
            (del_faults(Some(NidPattern::Any), "10.0.0.1@tcp".parse().ok()), Ok(Reply::Number(2))),
        ]);
        let del = |which| del(&fake, FaultKind::Delay, which, &mut Report::new());
        assert_eq!(del(Which::All), ReturnCode::OK);
        assert_eq!(del(Which::Between(Some("*"), Some("10.0.0.1@tcp"))), ReturnCode::OK);
        assert_eq!(del(Which::Between(Some("*"), None)), ReturnCode::MISSING_PARAM);
    }

    fn fault(rule: FaultRule) -> Result<Reply, Errno> {
        let counts = FaultCounts { matched: 6, hit: 3, put: 0, ack: 1, get: 2, reply: 0 };
        Ok(Reply::Fault(Box::new(Fault { rule, counts })))
    }

    #[test]
    fn rules_are_shown_with_the_keys_of_the_kernels_tool() {
        let dropping = FaultRule {
            messages: 15,
            effect: FaultEffect::Drop { errors: 1 << 6, all: false },
            ..some_rule()
        };
        let fake = Fake::new([
            (Request::GetFault(FaultKind::Drop, 0), fault(dropping)),
            (Request::GetFault(FaultKind::Drop, 1), Err(Errno::NotFound)),
        ]);
        let mut report = Report::new();
        assert_eq!(show(&fake, FaultKind::Drop, true, &mut report), ReturnCode::OK);
        let expected = "\
fault:
    - rule_type: drop
      fa_src: \"*\"
      fa_dst: 255.255.255.255@tcp
      fa_ptl_mask: 0
      fa_msg_mask: 15
      da_rate: 1
      da_interval: 0
      ds_dropped: 3
      fs_count: 6
      fs_put: 0
      fs_ack: 1
      fs_get: 2
      fs_reply: 0
      fa_local_nid: \"*\"
      da_health_error: \"local_timeout\"
      da_random: 0
      da_drop_all: 0
";
        assert_eq!(report.shown.to_yaml(), expected);

        let late = FaultEffect::Delay { latency_ms: 1500 };
        let delaying = FaultRule { odds: FaultOdds::OnePerMs(2000), effect: late, ..some_rule() };
        let fake = Fake::new([
            (Request::GetFault(FaultKind::Delay, 0), fault(delaying)),
            (Request::GetFault(FaultKind::Delay, 1), Err(Errno::NotFound)),
            (Request::GetFault(FaultKind::Drop, 0), Err(Errno::NotFound)),
            (Request::GetFault(FaultKind::Drop, 0), Err(Errno::NetworkDown)),
        ]);
        let mut report = Report::new();
        assert_eq!(show(&fake, FaultKind::Delay, false, &mut report), ReturnCode::OK);
        assert_eq!(show(&fake, FaultKind::Drop, false, &mut report), ReturnCode::OK);
        assert_eq!(show(&fake, FaultKind::Drop, false, &mut report), ReturnCode(-100));
        let lines = "la_rate: 0\n      la_interval: 2\n      la_latency: 1.5\n      ls_delayed: 3\n      fs_count: 6\n";
        assert!(report.shown.to_yaml().contains(lines), "{}", report.shown.to_yaml());
    }
}
