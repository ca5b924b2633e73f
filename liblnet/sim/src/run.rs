//! Steps of the world: messages arrive, results are reported, nodes wake.

use crate::driver::HeldRx;
use crate::events::SimEvent;
use crate::link::{InterfaceId, LinkKey};
use crate::network::{Arrival, Confirmed, Finding, Finished, Meeting, Notice, PathCheck, Waiting};
use crate::node::lock;
use crate::trace::NodeId;
use crate::world::World;
use lnet_core::lnd::{DeferredRx, RxAction, SendOutcome, Upcalls};
use lnet_core::{ArrivingMessage, Clock, Core, Errno, OutgoingMessage, Time};
use lnet_wire::Nid;
use lolnd::copy::fill_payload_of;
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

/// Time and events.
impl World {
    /// The present time of the world.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Runs the next event that is due. False when none is left, or after a [`Violation`](crate::Violation). With
    /// [`Order::Chosen`](crate::Order::Chosen) messages do not arrive by themselves.
    pub fn step(&mut self) -> bool {
        if self.violation.is_some() {
            return false;
        }
        let next = self.network.lock().events.take_next();
        let Some((at, due)) = next else { return false };
        self.clock.advance_to(at);
        self.happen(due, at);
        true
    }

    fn happen(&mut self, due: SimEvent, at: Time) {
        if self.network.lock().postpones(due) {
            return;
        }
        match due {
            SimEvent::Arrival(key, token) => {
                let holds = self.network.lock().is_armed(key, token);
                if holds {
                    self.deliver(key);
                }
            }
            SimEvent::Finish(number) => {
                let finished = self.network.lock().take_finished(number);
                if let Some(Finished { upcalls, node, message, result }) = finished {
                    upcalls.finalize(message, result);
                    self.settle(node);
                }
            }
            SimEvent::Ack(number) => {
                let finished = self.network.lock().take_ack(number);
                if let Some(Finished { upcalls, node, message, result }) = finished {
                    upcalls.finalize(message, result);
                    self.settle(node);
                }
            }
            SimEvent::Confirmation(number) => {
                let confirmed = self.network.lock().take_confirmation(number);
                if let Some(Confirmed { upcalls, node, from, id, confirmation }) = confirmed {
                    upcalls.confirmed(from, id, confirmation);
                    self.settle(node);
                }
            }
            SimEvent::ConnectionsEnded(place, peer) => {
                let whose = self.network.lock().whose_connections(place);
                if let Some((ni, upcalls)) = whose {
                    upcalls.connections_ended(&ni, peer);
                    self.settle(place.node);
                }
            }
            SimEvent::StarvedCheck(number) => self.network.lock().check_starved(number),
            SimEvent::ArrivalFailed(number) => self.network.lock().abandon(number),
            SimEvent::ReceptionLost(number) => self.lose_reception(number),
            SimEvent::Connect(from, peer) => self.connect_again(from, peer),
            SimEvent::PathCheck(from, peer) => self.check_path(from, peer),
            SimEvent::Wake(node) => self.wake(node, at),
        }
    }

    /// Checks the path from an interface to a peer NI, as its driver does.
    fn check_path(&mut self, from: InterfaceId, peer: Nid) {
        let Some(core) = self.core(from.node) else { return };
        let timeout = Duration::from_secs(core.settings().lnd_timeout().max(1).into());
        let look = self.network.lock().check_path(from, peer, timeout);
        if let Some(PathCheck { ni, upcalls, finding }) = look {
            match finding {
                Finding::Responsive => upcalls.path_is_responsive(&ni, peer),
                Finding::Late => {
                    if upcalls.path_is_late(&ni, peer) {
                        let stuck = self.network.lock().take_credits(from, peer);
                        stuck.into_iter().for_each(|credits| upcalls.release_credits(credits));
                    }
                }
                Finding::Unresponsive => {
                    let all_may_move = upcalls.path_is_unresponsive(&ni, peer);
                    self.note(from.node, || format!("{} -> {peer} is unresponsive", ni.nid()));
                    let may_move = |message: &OutgoingMessage| upcalls.may_change_path(message);
                    let stuck = self.network.lock().leave_path(from, peer, all_may_move, may_move);
                    stuck.into_iter().for_each(|credits| upcalls.release_credits(credits));
                }
            }
            self.settle(from.node);
        }
    }

    /// Sends the messages that wait for a connection from an interface to a peer NI, as their driver does once it has one.
    fn connect_again(&mut self, from: InterfaceId, peer: Nid) {
        let Some((ni, upcalls)) = self.network.lock().whose_connections(from) else { return };
        let meeting = self.network.lock().meet(from, peer);
        if let Some(Meeting { incarnation, .. }) = meeting {
            upcalls.connected(&ni, peer, incarnation);
        }
        let waiting = self.network.lock().take_waiting(from, peer);
        for (message, since) in waiting {
            let is_outdated = upcalls.is_for_earlier_incarnation(&message);
            let mut network = self.network.lock();
            let outcome = match is_outdated {
                true => network.hand_back(from, message),
                false => network.send_waiting(from, message, since),
            };
            drop(network);
            if let SendOutcome::Done(message, result) = outcome {
                upcalls.finalize(message, result);
            }
        }
        self.settle(from.node);
    }

    fn wake(&mut self, node: NodeId, at: Time) {
        let Some(it) = self.nodes.get_mut(node.0 as usize) else { return };
        if it.wake == Some(at) {
            it.wake = None;
            self.settle(node);
        }
    }

    /// Runs all events until then.
    pub fn run_until(&mut self, then: Time) {
        self.run_until_within(then, usize::MAX);
    }

    /// Runs all events until then; [`Violation`](crate::Violation) if that takes more than `most` steps.
    pub fn run_until_within(&mut self, then: Time, most: usize) {
        for _ in 0..most {
            let next = self.network.lock().events.next_at();
            if next.is_none_or(|at| at > then) || !self.step() {
                if self.violation.is_none() {
                    self.clock.advance_to(then);
                }
                return;
            }
        }
        self.fail(format!("more than {most} steps before {:?}", then.0));
    }

    /// Runs the events until then, or until an operation has ended that [`World::take_ended_ops`] returns.
    pub fn run_until_op_ends(&mut self, then: Time) {
        loop {
            if lock(&self.ledger).ended.as_ref().is_some_and(|ended| !ended.is_empty()) {
                return;
            }
            let next = self.network.lock().events.next_at();
            if next.is_none_or(|at| at > then) || !self.step() {
                if self.violation.is_none() {
                    self.clock.advance_to(then);
                }
                return;
            }
        }
    }

    /// Runs until only pings to unhealthy interfaces are left; [`Violation`](crate::Violation) if that takes more than
    /// `most` steps.
    pub fn run_until_quiet(&mut self, most: usize) {
        for _ in 0..most {
            let quiet = self.network.lock().only_recovers();
            if quiet || !self.step() {
                return;
            }
        }
        self.fail(format!("still not quiet after {most} steps"));
    }

    /// Runs the steps that need no choice: reports of results. With `all` also timed events.
    pub(crate) fn step_unchosen(&mut self, all: bool) -> bool {
        let due = {
            let network = self.network.lock();
            all && !network.only_recovers()
                || matches!(
                    network.events.peek(),
                    Some(SimEvent::Finish(_) | SimEvent::ReceptionLost(_) | SimEvent::ArrivalFailed(_))
                )
        };
        due && self.step()
    }

    /// Delivers everything, connection by connection, until no event is left, even if the caller otherwise chooses the
    /// order.
    pub fn run_in_order(&mut self) {
        for _ in 0..ENDLESS {
            while self.step_unchosen(false) {}
            match self.ready().first() {
                Some(key) => self.deliver(*key),
                None if self.step_unchosen(true) => {}
                None => return,
            }
        }
        self.fail("does not come to an end".to_owned());
    }

    /// Returns the connections of which a message may arrive next.
    pub fn ready(&self) -> Vec<LinkKey> {
        self.network.lock().ready()
    }

    /// Delivers the next message of a connection.
    pub fn deliver(&mut self, key: LinkKey) {
        if self.violation.is_some() {
            return;
        }
        let node = key.receiver();
        if !self.deliver_part(key) {
            let arrival = self.network.lock().take_arrival(key);
            if let Some(arrival) = arrival {
                self.arrive(arrival);
            }
        }
        self.settle(node);
    }

    /// Returns the notices of which one may arrive next: the first from one node to another.
    pub fn notices(&self) -> Vec<Notice> {
        self.network.lock().notices()
    }

    /// Delivers a notice.
    pub fn tell(&mut self, notice: Notice) {
        if self.violation.is_some() {
            return;
        }
        let due = self.network.lock().events.take(notice.number);
        if let Some(due) = due {
            self.happen(due, self.now());
        }
    }

    fn arrive(&mut self, arrival: Arrival) {
        let action = self.receive(&arrival);
        match action {
            (RxAction::Deliver(message), _) => {
                place(&*arrival.upcalls, message, arrival.in_flight.payload.as_deref(), Ok(()));
            }
            (RxAction::Discard, _) => {}
            (RxAction::Defer, Some(number)) => self.network.lock().hold(number, arrival),
            (RxAction::Defer, None) => self.fail("a message is to wait, and for nothing".to_owned()),
            (RxAction::Reject(violation), _) => {
                self.fail(format!("{} refuses a message: {violation}", arrival.key.receiver()));
            }
        }
    }

    /// Passes a message to the core. Returns the core's decision, with the number by which a message that is to wait is resumed.
    pub(crate) fn receive(&self, arrival: &Arrival) -> (RxAction, Option<u64>) {
        let meeting = self.network.lock().be_met(arrival);
        if let Some(Meeting { ni, upcalls, incarnation }) = meeting {
            upcalls.connected(&ni, arrival.from, incarnation);
        }
        let asked = Cell::new(None);
        let make_deferred = || {
            let number = self.network.lock().next_number();
            asked.set(Some(number));
            Arc::new(HeldRx { network: self.network.clone(), number }) as Arc<dyn DeferredRx>
        };
        let action = arrival.upcalls.receive(
            &arrival.ni,
            arrival.from,
            &arrival.in_flight.header,
            &arrival.provenance,
            &make_deferred,
        );
        (action, asked.into_inner())
    }

    /// Completes an action on a node: delivers messages that waited for it, and runs its monitor
    /// and its discovery.
    pub(crate) fn settle(&mut self, node: NodeId) {
        if self.violation.is_some() {
            return;
        }
        for _ in 0..SPINS {
            self.network.lock().plan_losses();
            self.drain(node);
            let Some(core) = self.core(node) else { return };
            let wake = earliest(core.monitor().run(), self.discovery(&core));
            self.give_up_send_failed();
            let now = self.clock.now();
            if self.network.lock().resumed.is_empty() && wake.is_none_or(|at| at > now) {
                self.plan_wake(node, wake);
                self.check(node);
                return;
            }
        }
        self.fail(format!("{node} always wants to run its discovery again"));
    }

    fn discovery(&mut self, core: &Core) -> Option<Time> {
        let Some((clock, slowest)) = &mut self.slowest_discovery else {
            return core.monitor().run_discovery();
        };
        let before = clock();
        let wake = core.monitor().run_discovery();
        *slowest = clock().saturating_sub(before).max(*slowest);
        wake
    }

    fn plan_wake(&mut self, node: NodeId, wake: Option<Time>) {
        let Some(it) = self.nodes.get_mut(node.0 as usize) else { return };
        if let Some(at) = wake.filter(|_| it.wake != wake) {
            self.network.lock().events.plan(at, |_| SimEvent::Wake(node));
        }
        it.wake = wake;
    }

    /// Delivers the messages that waited for a buffer and have one.
    pub(crate) fn drain(&mut self, node: NodeId) {
        self.resume_parts();
        loop {
            let resumed = self.network.lock().take_resumed();
            let Some((Waiting { upcalls, in_flight, broken, .. }, action)) = resumed else { return };
            match action {
                RxAction::Deliver(message) => {
                    let result = if broken { Err(Errno::ConnectionReset) } else { Ok(()) };
                    place(&*upcalls, message, in_flight.payload.as_deref(), result);
                }
                RxAction::Discard => {}
                RxAction::Defer | RxAction::Reject(_) => {
                    self.fail(format!("{node} decides on a message that waited and does not decide"));
                }
            }
        }
    }
}

fn earliest(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    a.into_iter().chain(b).min()
}

/// Maximum number of steps until the world is quiet.
const ENDLESS: usize = 100_000;

/// Maximum number of rounds of discovery without anything new; more never come to an end.
const SPINS: usize = 1000;

/// Stores the payload, and reports the message to the core.
fn place(upcalls: &dyn Upcalls, message: ArrivingMessage, payload: Option<&[u8]>, result: Result<(), Errno>) {
    if let (Some(payload), Ok(())) = (payload, result) {
        fill_payload_of(&message, payload);
    }
    upcalls.received(message, result);
}
