//! What a program is told: the ring of reports, and those that wait for room in it.

use super::rings::RingMemory;
use lnd_common::sync::lock;
use lnet_attach::record::{EVENT, Message, Report, encode_event};
use lnet_core::Event;
use lnet_os::descriptor::wake;
use lnet_os::stop_point;
use lnet_ring::{Producer, PushError, Wake};
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

/// The reports to one program. Any thread may push.
#[derive(Debug)]
pub(super) struct Reports {
    state: Mutex<State>,
    wake_program: OwnedFd,
    /// Wakes the program's thread that reads the reports itself.
    wake_reader: OwnedFd,
    wake_node: Arc<OwnedFd>,
    max_unread: usize,
}

#[derive(Debug)]
struct State {
    /// `None` when the attachment has ended.
    producer: Option<Producer<RingMemory>>,
    /// Reports for which the ring has no room, in order: the kind and the body.
    waiting: VecDeque<(u32, Vec<u64>)>,
    body: Vec<u64>,
    failure: Option<String>,
    counts: ReportCounts,
}

/// What was done for one program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ReportCounts {
    /// Reports that the program was given.
    pub(super) reports: u64,
    /// Reports that had to wait for room.
    pub(super) delayed: u64,
    /// Times that the program had to be woken.
    pub(super) wakeups: u64,
}

impl Reports {
    pub(super) fn new(
        producer: Producer<RingMemory>,
        [wake_program, wake_reader]: [OwnedFd; 2],
        wake_node: Arc<OwnedFd>,
        max_unread: usize,
    ) -> Self {
        let state = State {
            producer: Some(producer),
            waiting: VecDeque::new(),
            body: Vec::new(),
            failure: None,
            counts: ReportCounts::default(),
        };
        Self { state: Mutex::new(state), wake_program, wake_reader, wake_node, max_unread }
    }

    /// Tells the program something. If there is no room it is told later.
    pub(super) fn push(&self, number: u64, report: &Report) {
        self.push_report(&mut lock(&self.state), number, report);
    }

    /// Tells the program an event, as [`Reports::push`] does.
    #[inline]
    pub(super) fn push_event(&self, number: u64, event: &Event) {
        let state = &mut *lock(&self.state);
        if let Some(body) = encode_event(number, event)
            && state.waiting.is_empty()
            && let Some(producer) = &mut state.producer
            && producer.push_array(EVENT, body)
        {
            state.counts.reports += 1;
            stop_point::reach("node: report written");
            let wake = producer.publish();
            self.wake(&mut state.counts, wake);
            return stop_point::reach("node: report sent");
        }
        self.push_report(state, number, &Report::Happened { event: *event });
    }

    /// Tells the program something, says what is wrong with the ring, or lets the report wait.
    fn push_report(&self, state: &mut State, number: u64, report: &Report) {
        let mut body = std::mem::take(&mut state.body);
        let kind = report.encode(number, &mut body);
        self.push_record(state, kind, &body);
        state.body = body;
    }

    fn push_record(&self, state: &mut State, kind: u32, body: &[u64]) {
        let Some(producer) = &mut state.producer else { return };
        state.counts.reports += 1;
        if state.waiting.is_empty() {
            match producer.push_words(kind, body) {
                Ok(()) => return self.pushed(state),
                Err(PushError::Full) => {}
                Err(error) => return self.fail(state, error.to_string()),
            }
        }
        if state.waiting.len() >= self.max_unread {
            let text = format!("it has not read {} reports", self.max_unread);
            return self.fail(state, text);
        }
        state.counts.delayed += 1;
        state.waiting.push_back((kind, body.to_vec()));
        if state.waiting.len() == 1 {
            self.wait_for_room(state);
        }
    }

    /// Shows the program a report that was pushed.
    #[inline]
    fn pushed(&self, state: &mut State) {
        stop_point::reach("node: report written");
        self.publish(state);
        stop_point::reach("node: report sent");
    }

    /// Tells the program what has waited for room, as far as there is room now.
    pub(super) fn flush(&self) {
        let state = &mut *lock(&self.state);
        if !state.waiting.is_empty() {
            self.wait_for_room(state);
        }
    }

    /// The reason why the attachment has to end, once there is one.
    pub(super) fn failure(&self) -> Option<String> {
        lock(&self.state).failure.clone()
    }

    /// Tells the program nothing any more.
    pub(super) fn end(&self) {
        let state = &mut *lock(&self.state);
        state.producer = None;
        state.waiting = VecDeque::new();
    }

    pub(super) fn counts(&self) -> ReportCounts {
        lock(&self.state).counts
    }

    /// Pushes what waits until there is no more room; the program wakes the node when there is.
    fn wait_for_room(&self, state: &mut State) {
        while let (Some(producer), Some((kind, body))) = (&mut state.producer, state.waiting.front()) {
            let pushed = match producer.push_words(*kind, body) {
                Err(PushError::Full) => {
                    let wake = producer.publish();
                    self.wake(&mut state.counts, wake);
                    match producer.begin_wait(size_of_val(&body[..])) {
                        Ok(true) => return,
                        Ok(false) => {
                            producer.end_wait();
                            continue;
                        }
                        Err(error) => Err(error.into()),
                    }
                }
                other => other,
            };
            match pushed {
                Ok(()) => _ = state.waiting.pop_front(),
                Err(error) => return self.fail(state, error.to_string()),
            }
        }
        self.publish(state);
    }

    fn publish(&self, state: &mut State) {
        if let Some(producer) = &mut state.producer {
            let wake = producer.publish();
            self.wake(&mut state.counts, wake);
        }
    }

    fn wake(&self, counts: &mut ReportCounts, needed: Wake) {
        let sleeper = match needed {
            Wake::Needed => &self.wake_program,
            Wake::NeededBySecond => &self.wake_reader,
            Wake::NotNeeded => return,
        };
        counts.wakeups += 1;
        wake(sleeper);
    }

    fn fail(&self, state: &mut State, failure: String) {
        state.failure.get_or_insert(failure);
        state.producer = None;
        state.waiting = VecDeque::new();
        wake(&self.wake_node);
    }
}
