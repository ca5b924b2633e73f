//! The ledger of all operations: which process began each, how it ended, and where it arrived.

use super::report::{Incarnation, Kind, Op, ProcessEvent, Report};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// The time before the death of a process whose events its last reports may not cover.
const LAST_MOMENTS: Duration = Duration::from_secs(1);
/// Maximum number of errors that are described one by one.
const MAX_TOLD: usize = 8;
/// Maximum number of failures that are kept until they are taken.
const MAX_FAILURES: usize = 100_000;

/// The record of an operation.
#[derive(Debug, Default)]
struct Entry {
    began: Option<(Duration, Kind, u32)>,
    ended: Option<Duration>,
    ends: u32,
    wrong: String,
    given_up: bool,
    /// The incarnations of the target in which it arrived, or its data was fetched.
    arrived: Vec<Incarnation>,
}

/// The record of a process.
#[derive(Debug, Default)]
struct Process {
    /// The number of operations that the process has begun.
    begun: u64,
    /// The number of these operations that have not ended.
    under_way: u64,
    last_success: Option<Duration>,
    /// Times without success, from when to when.
    gaps: Vec<(Duration, Duration)>,
    ended: Option<(Duration, End)>,
    /// PUTs received by each interface, whenever that changed.
    received: BTreeMap<usize, Vec<(Duration, u64)>>,
}

/// The way in which a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All operations of the process had ended.
    AtRest,
    /// The process shut its node down with operations in flight, which never end.
    UnderLoad,
    /// The process was killed: events of its last moments may be unreported, too.
    Killed,
}

/// An operation that ended with an error.
#[derive(Clone, Debug)]
pub struct Failure {
    pub began: Duration,
    pub ended: Duration,
    pub text: String,
}

/// The ledger.
#[derive(Debug, Default)]
pub struct Ledger {
    entries: HashMap<Op, Entry>,
    processes: HashMap<Incarnation, Process>,
    /// The totals of operations that have no entry any more.
    settled: Totals,
    errors: Vec<String>,
    failures: Vec<Failure>,
    lost: Vec<Failure>,
}

/// The totals over all operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Operations that were begun by processes that were not killed before they reported their end.
    pub ops: u64,
    pub well: u64,
    /// Operations that ended with an error, by its text.
    pub failed: BTreeMap<String, u64>,
    /// PUTs that ended without error and did not arrive.
    pub lost: u64,
    /// Operations that ended more than once.
    pub ended_twice: u64,
    /// Operations that arrived more than once in one incarnation of the target.
    pub doubled: u64,
    /// Operations that arrived, or were answered, with other bytes.
    pub spoilt: u64,
    /// Operations that did not end within their timeout.
    pub endless: u64,
    /// Operations that were in flight to or from a process when it was stopped or killed; they prove nothing.
    pub orphaned: u64,
    /// The longest time of an operation that ended, with or without error.
    pub longest: Duration,
}

impl Totals {
    pub fn errors(&self) -> u64 {
        self.failed.values().sum()
    }

    /// The counts of events that must never occur, with their names.
    pub const fn sins(&self) -> [(&'static str, u64); 5] {
        [
            ("lost", self.lost),
            ("doubled", self.doubled),
            ("with other bytes", self.spoilt),
            ("ended twice", self.ended_twice),
            ("never ended", self.endless),
        ]
    }

    /// Describes each of these counts that is not 0.
    pub fn sins_in_words(&self) -> impl Iterator<Item = String> {
        self.sins().into_iter().filter(|(_, count)| *count > 0).map(|(sin, count)| format!("{count} {sin}"))
    }
}

/// The shortest gap that is recorded; shorter ones are pauses of the load itself.
const MIN_GAP: Duration = Duration::from_millis(20);

impl Ledger {
    /// Records a report of the process of this incarnation.
    pub fn note(&mut self, incarnation: Incarnation, report: &Report) {
        let at = report.at;
        match &report.what {
            ProcessEvent::Started { op, kind, len } => {
                let process = self.processes.entry(incarnation).or_default();
                process.begun = op.count() + 1;
                process.under_way += 1;
                self.entries.entry(*op).or_default().began = Some((at, *kind, *len));
            }
            ProcessEvent::Ended { op, wrong } => {
                let entry = self.entries.entry(*op).or_default();
                entry.ends += 1;
                entry.ended = Some(at);
                entry.wrong.clone_from(wrong);
                let process = self.processes.entry(incarnation).or_default();
                process.under_way = process.under_way.saturating_sub(u64::from(entry.ends == 1));
                if wrong.is_empty() {
                    let from = process.last_success.replace(at).unwrap_or(at);
                    if at - from > MIN_GAP {
                        process.gaps.push((from, at));
                    }
                }
            }
            ProcessEvent::GivenUp { op } => self.entries.entry(*op).or_default().given_up = true,
            ProcessEvent::Spoilt { op } => self.spoilt(*op, "was answered with other bytes"),
            ProcessEvent::Stray { op, text } => {
                self.settled.ended_twice += 1;
                self.error(format!("{op} had another event after its last one: {text}"));
            }
            ProcessEvent::Arrived { op, intact } => {
                if !intact {
                    self.spoilt(*op, "arrived with other bytes");
                }
                self.arrived(*op, incarnation);
            }
            ProcessEvent::Fetched { op } => self.arrived(*op, incarnation),
            ProcessEvent::Counted { card, received, .. } => {
                let process = self.processes.entry(incarnation).or_default();
                process.received.entry(*card).or_default().push((at, *received));
            }
            ProcessEvent::Ready
            | ProcessEvent::Stopped
            | ProcessEvent::Did { .. }
            | ProcessEvent::Note(_) => {}
        }
    }

    /// Records the end of the process of this incarnation.
    pub fn ended(&mut self, incarnation: Incarnation, at: Duration, how: End) {
        self.processes.entry(incarnation).or_default().ended = Some((at, how));
    }

    /// Begins a gap at the last success, unless there is one, so that `longest_stall` counts it although nothing succeeds any
    /// more: the gap lasts until `at`, at least.
    pub fn close_gaps(&mut self, incarnation: Incarnation, at: Duration) {
        let process = self.processes.entry(incarnation).or_default();
        if let Some(from) = process.last_success.filter(|from| *from + MIN_GAP < at) {
            process.gaps.push((from, at));
        }
    }

    /// The longest time that overlaps with that from `from` to `to` and in which no operation of this process succeeded.
    pub fn longest_stall(&self, incarnation: Incarnation, from: Duration, to: Duration) -> Duration {
        let Some(process) = self.processes.get(&incarnation) else { return Duration::ZERO };
        let gaps = process.gaps.iter().filter(|(begin, end)| *end > from && *begin < to);
        gaps.map(|(begin, end)| *end - *begin).max().unwrap_or_default()
    }

    /// The longest time from any moment between `from` and `to` until an operation of this process had succeeded that
    /// began at that moment or later. Where none did before `end` it lasts until then.
    pub fn longest_until_new_success(
        &self,
        incarnation: Incarnation,
        from: Duration,
        to: Duration,
        end: Duration,
    ) -> Duration {
        let succeeded = self.entries.iter().filter_map(|(op, entry)| {
            let (began, ended) = (entry.began?.0, entry.ended?);
            (op.incarnation() == incarnation && entry.wrong.is_empty() && began >= from)
                .then_some((began, ended))
        });
        let mut succeeded: Vec<_> = succeeded.collect();
        succeeded.sort_unstable_by(|one, other| other.cmp(one));
        // The loop goes from the last to the first: after each beginning, the next operation to succeed is one of those
        // before it in this order.
        let (mut next_success, mut longest) = (end, Duration::ZERO);
        for (began, ended) in succeeded {
            if began < to {
                longest = longest.max(next_success.saturating_sub(began));
            }
            next_success = next_success.min(ended);
        }
        longest.max(next_success.saturating_sub(from))
    }

    /// The operations that have succeeded and are not settled: when each ended, and its length in bytes.
    pub fn succeeded(&self) -> impl Iterator<Item = (Duration, u32)> {
        let entries = self.entries.values().filter(|entry| entry.wrong.is_empty());
        entries.filter_map(|entry| Some((entry.ended?, entry.began?.2)))
    }

    /// The time at which an operation of this process succeeded for the first time after `since`.
    pub fn first_success(&self, incarnation: Incarnation, since: Duration) -> Option<Duration> {
        let mine = self
            .entries
            .iter()
            .filter(|(op, entry)| op.incarnation() == incarnation && entry.wrong.is_empty());
        mine.filter_map(|(_, entry)| entry.ended.filter(|ended| *ended > since)).min()
    }

    /// The time at which a PUT came in by this card of the process for the first time after `since`.
    pub fn first_use(&self, incarnation: Incarnation, card: usize, since: Duration) -> Option<Duration> {
        let counts = self.processes.get(&incarnation)?.received.get(&card)?;
        let before = counts.iter().rfind(|(at, _)| *at <= since).map_or(0, |(_, count)| *count);
        counts.iter().find(|(at, count)| *at > since && *count > before).map(|(at, _)| *at)
    }

    /// Whether no operation of this process is in flight.
    pub fn is_quiet(&self, incarnation: Incarnation) -> bool {
        self.processes.get(&incarnation).is_none_or(|process| process.under_way == 0)
    }

    /// Closes all entries: nothing more is to come.
    pub fn close(&mut self) {
        for (op, entry) in std::mem::take(&mut self.entries) {
            self.settle(op, &entry);
        }
    }

    /// Descriptions of errors, up to [`MAX_TOLD`]; failed operations are not among them.
    pub fn errors(&self) -> &[String] {
        &self.errors
    }

    /// Closes the entries of operations that ended before `before`, which frees their memory. A further event of one of them
    /// counts as an error.
    pub fn settle_before(&mut self, before: Duration) {
        let is_over =
            |entry: &Entry| entry.began.is_some() && entry.ended.is_some_and(|ended| ended < before);
        let over: Vec<Op> =
            self.entries.iter().filter(|(_, entry)| is_over(entry)).map(|(op, _)| *op).collect();
        for op in over {
            if let Some(entry) = self.entries.remove(&op) {
                self.settle(op, &entry);
            }
        }
        for process in self.processes.values_mut() {
            process.gaps.retain(|(_, end)| *end > before);
        }
    }

    /// Takes the operations that ended with an error, or a part of them if there are very many.
    pub fn take_failures(&mut self) -> Vec<Failure> {
        std::mem::take(&mut self.failures)
    }

    /// Takes the settled operations that ended without error and did not arrive, at most [`MAX_FAILURES`].
    pub fn take_lost(&mut self) -> Vec<Failure> {
        std::mem::take(&mut self.lost)
    }

    /// The totals of the settled operations.
    pub const fn settled(&self) -> &Totals {
        &self.settled
    }

    fn arrived(&mut self, op: Op, incarnation: Incarnation) {
        let is_settled =
            self.processes.get(&op.incarnation()).is_some_and(|process| op.count() < process.begun)
                && !self.entries.contains_key(&op);
        let entry = self.entries.entry(op).or_default();
        if is_settled || entry.arrived.contains(&incarnation) {
            self.settled.doubled += 1;
            self.error(format!("{op} arrived twice in process {incarnation}"));
        } else {
            entry.arrived.push(incarnation);
        }
    }

    fn spoilt(&mut self, op: Op, how: &str) {
        self.settled.spoilt += 1;
        self.error(format!("{op} {how}"));
    }

    fn settle(&mut self, op: Op, entry: &Entry) {
        let Some((began, kind, len)) = entry.began else { return };
        let text = format!("{op} {kind:?} of {len} bytes, begun at {began:?},");
        let Some(ended) = entry.ended.filter(|_| !entry.given_up) else {
            let end = self.processes.get(&op.incarnation()).and_then(|process| process.ended);
            if end.is_some_and(|(_, how)| how != End::AtRest) {
                self.settled.orphaned += 1;
            } else {
                self.settled.ops += 1;
                self.settled.endless += 1;
                self.error(format!("{text} did not end by itself"));
            }
            return;
        };
        self.settled.ops += 1;
        self.settled.longest = self.settled.longest.max(ended - began);
        if entry.ends > 1 {
            self.settled.ended_twice += 1;
            self.error(format!("{text} ended {} times", entry.ends));
        }
        if !entry.wrong.is_empty() {
            *self.settled.failed.entry(entry.wrong.clone()).or_default() += 1;
            if self.failures.len() < MAX_FAILURES {
                let text = format!("{text} failed at {ended:?}: {}", entry.wrong);
                self.failures.push(Failure { began, ended, text });
            }
        } else if kind == Kind::Get || !entry.arrived.is_empty() {
            self.settled.well += 1;
        } else if self.died_about(op.incarnation(), ended) {
            self.settled.orphaned += 1;
        } else {
            self.settled.lost += 1;
            let text = format!("{text} went well at {ended:?}, and did not arrive");
            if self.lost.len() < MAX_FAILURES {
                self.lost.push(Failure { began, ended, text: text.clone() });
            }
            self.error(text);
        }
    }

    /// Whether another process was killed about then: its last events may be unreported.
    fn died_about(&self, by: Incarnation, at: Duration) -> bool {
        let others = self.processes.iter().filter(|(incarnation, _)| **incarnation != by);
        let mut ends = others.filter_map(|(_, process)| process.ended);
        ends.any(|(ended, how)| how == End::Killed && ended.abs_diff(at) < LAST_MOMENTS)
    }

    fn error(&mut self, text: String) {
        if self.errors.len() < MAX_TOLD {
            self.errors.push(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A report: the process, the time in milliseconds, and the event.
    type TimedEvent = (Incarnation, u64, ProcessEvent);

    const fn op(count: u64) -> Op {
        Op::new(0, count)
    }

    const fn began(count: u64, kind: Kind) -> TimedEvent {
        (0, 10 * count, ProcessEvent::Started { op: op(count), kind, len: 8 })
    }

    fn ended(count: u64, wrong: &str) -> TimedEvent {
        (0, 10 * count + 5, ProcessEvent::Ended { op: op(count), wrong: wrong.into() })
    }

    const fn arrived(count: u64, incarnation: Incarnation) -> TimedEvent {
        (incarnation, 10 * count + 3, ProcessEvent::Arrived { op: op(count), intact: true })
    }

    fn ledger_of(told: &[TimedEvent]) -> Ledger {
        let mut ledger = Ledger::default();
        for (incarnation, at, what) in told {
            ledger.note(*incarnation, &Report { at: Duration::from_millis(*at), what: what.clone() });
        }
        ledger
    }

    fn closed(mut ledger: Ledger) -> Totals {
        ledger.close();
        ledger.settled().clone()
    }

    #[test]
    fn each_operation_is_counted_by_its_outcome() {
        use Kind::{Get, Put, PutWithAck};
        let ok = |well| Totals { ops: 1, well, longest: Duration::from_millis(5), ..Totals::default() };
        let failed = |why: &str| Totals { failed: BTreeMap::from([(why.to_owned(), 1)]), ..ok(0) };
        let never = Totals { ops: 1, endless: 1, ..Totals::default() };
        let table: [(&[TimedEvent], Totals); 12] = [
            (&[began(1, Put), arrived(1, 1), ended(1, "")], ok(1)),
            // Told by the two processes in whichever order.
            (&[arrived(1, 1), began(1, PutWithAck), ended(1, "")], ok(1)),
            (&[began(1, Get), ended(1, "")], ok(1)),
            (&[began(1, Put), ended(1, "")], Totals { lost: 1, ..ok(0) }),
            (&[began(1, Put), ended(1, "Send: EIO")], failed("Send: EIO")),
            // An error may well come of something that arrived.
            (&[began(1, Put), arrived(1, 1), ended(1, "Ack: no answer")], failed("Ack: no answer")),
            (&[began(1, Put), arrived(1, 1), arrived(1, 1), ended(1, "")], Totals { doubled: 1, ..ok(1) }),
            (&[began(1, Put), arrived(1, 1), arrived(1, 2), ended(1, "")], ok(1)),
            (&[began(1, Put), arrived(1, 1), ended(1, ""), ended(1, "")], Totals { ended_twice: 1, ..ok(1) }),
            (&[began(1, Put), arrived(1, 1)], never.clone()),
            (&[began(1, Get), (0, 12, ProcessEvent::GivenUp { op: op(1) }), ended(1, "x")], never),
            (
                &[began(1, Get), (0, 12, ProcessEvent::Spoilt { op: op(1) }), ended(1, "")],
                Totals { spoilt: 1, ..ok(1) },
            ),
        ];
        for (told, totals) in table {
            assert_eq!(closed(ledger_of(told)), totals, "{told:?}");
            let mut in_parts = ledger_of(told);
            in_parts.settle_before(Duration::from_millis(16));
            assert_eq!(closed(in_parts), totals, "in parts: {told:?}");
        }
    }

    #[test]
    fn a_message_that_arrives_after_its_entry_is_closed_counts_as_a_duplicate() {
        let mut ledger = ledger_of(&[began(1, Kind::Put), arrived(1, 1), ended(1, "")]);
        ledger.settle_before(Duration::from_secs(1));
        ledger.note(
            1,
            &Report { at: Duration::from_secs(2), what: ProcessEvent::Arrived { op: op(1), intact: true } },
        );
        assert_eq!(closed(ledger).doubled, 1);
    }

    #[test]
    fn operations_in_flight_in_a_killed_or_stopped_process_are_not_judged() {
        let after = |incarnation, at, how, told: &[TimedEvent]| {
            let mut ledger = ledger_of(told);
            ledger.ended(incarnation, Duration::from_millis(at), how);
            closed(ledger)
        };
        let begun = [began(1, Kind::Put)];
        for (how, orphaned, endless) in [(End::Killed, 1, 0), (End::UnderLoad, 1, 0), (End::AtRest, 0, 1)] {
            let totals = after(0, 20, how, &begun);
            assert_eq!((totals.orphaned, totals.endless), (orphaned, endless), "{how:?}");
        }
        let sent = [began(1, Kind::Put), ended(1, "")];
        for (how, at, orphaned, lost) in
            [(End::Killed, 20, 1, 0), (End::Killed, 2000, 0, 1), (End::UnderLoad, 20, 0, 1)]
        {
            let totals = after(1, at, how, &sent);
            assert_eq!((totals.orphaned, totals.lost), (orphaned, lost), "{how:?} at {at}");
        }
    }

    #[test]
    fn a_stall_is_a_period_without_success() {
        let ms = Duration::from_millis;
        let ended = |at, wrong: &str| (0, at, ProcessEvent::Ended { op: op(at), wrong: wrong.into() });
        let mut ledger =
            ledger_of(&[ended(100, ""), ended(400, ""), ended(410, ""), ended(600, "x"), ended(700, "")]);
        assert_eq!(ledger.longest_stall(0, ms(0), ms(1000)), ms(300));
        assert_eq!(ledger.longest_stall(0, ms(400), ms(1000)), ms(290));
        assert_eq!(ledger.longest_stall(0, ms(401), ms(409)), ms(0));
        ledger.close_gaps(0, ms(5000));
        assert_eq!(ledger.longest_stall(0, ms(0), ms(1000)), ms(4300));
        assert_eq!(ledger.first_success(0, ms(500)), Some(ms(700)));
    }

    #[test]
    fn what_new_operations_wait_for_is_told_from_those_that_are_stuck() {
        let at = |count: u64, began: u64, ended: u64, wrong: &str| -> [TimedEvent; 2] {
            [
                (0, began, ProcessEvent::Started { op: op(count), kind: Kind::Get, len: 8 }),
                (0, ended, ProcessEvent::Ended { op: op(count), wrong: wrong.into() }),
            ]
        };
        let told = [
            at(1, 100, 110, ""),
            // Stuck until the end.
            at(2, 120, 900, ""),
            at(3, 130, 200, "Reply: no answer"),
            // The first that begins after the fault, and succeeds.
            at(4, 300, 350, ""),
            at(5, 360, 370, ""),
        ];
        let mut told = told.concat();
        told.sort_by_key(|(_, at, _)| *at);
        let ledger = ledger_of(&told);
        let ms = Duration::from_millis;
        let longest = |from, to| ledger.longest_until_new_success(0, ms(from), ms(to), ms(1000));
        // The stall lasts from just after the beginning of the first operation until the fourth succeeds.
        assert_eq!(longest(90, 360), ms(350 - 100));
        assert_eq!(longest(200, 360), ms(350 - 200));
        assert_eq!(longest(301, 340), ms(370 - 301));
        assert_eq!(longest(500, 600), ms(500), "nothing begins");
    }

    #[test]
    fn an_interface_counts_as_used_when_its_receive_counter_grows() {
        let counted = |at, received| (1, at, ProcessEvent::Counted { card: 1, sent: 0, received });
        let ledger = ledger_of(&[counted(10, 5), counted(20, 9), counted(30, 9), counted(40, 10)]);
        let ms = Duration::from_millis;
        assert_eq!(ledger.first_use(1, 1, ms(20)), Some(ms(40)));
        assert_eq!(ledger.first_use(1, 1, ms(40)), None);
        assert_eq!(ledger.first_use(1, 0, ms(0)), None);
    }
}
