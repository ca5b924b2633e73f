//! Requests that are under way at once, and the one who waits for them.

use super::drive::{Driven, Purpose};
use super::wake::Wake;
use super::{Reply, Request};
use crate::errno::Errno;
use crate::import::Import;
use crate::lnet::Node;
use std::sync::Arc;
use std::time::Instant;

/// Called at the end of a request that nobody waits for.
pub(crate) type Done = Box<dyn FnOnce(Result<Reply, Errno>) + Send>;

/// Names a request of a [`Set`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(usize);

/// Requests that one thread has under way. They go on only while it waits here.
///
/// Whoever drops a set does not want what is under way any more; LNet lets go of its memory soon.
#[derive(Default)]
pub struct Set {
    board: Board<()>,
    node: Option<Arc<Node>>,
}

impl Set {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends a request, or has it wait for a connection.
    pub fn add(&mut self, import: &Arc<Import>, request: Request) -> Ticket {
        let now = Instant::now();
        self.node.get_or_insert_with(|| Arc::clone(import.shared_node()));
        let which = self.board.add(Driven::new(import, request, Purpose::Use, now), ());
        self.board.drive(which, now);
        Ticket(which)
    }

    /// Waits until one has ended, or until then; whether one has.
    pub fn wait_any(&mut self, until: Option<Instant>) -> bool {
        loop {
            if self.board.any_over() || self.board.is_empty() {
                return self.board.any_over();
            }
            let is_last = until.is_some_and(|until| until <= Instant::now());
            self.board.turn(until, self.node.as_deref());
            if is_last {
                return self.board.any_over();
            }
        }
    }

    /// Goes on with what has news, without waiting; whether one has ended.
    pub fn check(&mut self) -> bool {
        self.board.turn(Some(Instant::now()), None);
        self.board.any_over()
    }

    /// Waits until all have ended.
    pub fn wait(&mut self) {
        while !self.board.all_over() {
            self.board.turn(None, self.node.as_deref());
        }
    }

    /// What came of a request that has ended, which the set forgets. `None`: it has not, or was taken.
    pub fn take(&mut self, ticket: Ticket) -> Option<Result<Reply, Errno>> {
        self.board.take(ticket.0).map(|(result, ())| result)
    }

    /// One that has ended, and what came of it.
    pub fn take_any(&mut self) -> Option<(Ticket, Result<Reply, Errno>)> {
        let which = self.board.first_over()?;
        self.board.take(which).map(|(result, ())| (Ticket(which), result))
    }

    /// A request is not wanted any more: it ends, with [`Errno::INTERRUPTED`] if it has not ended already.
    pub fn abort(&mut self, ticket: Ticket) {
        self.board.abort(ticket.0);
    }

    /// Early replies to a request so far.
    pub fn early_replies(&self, ticket: Ticket) -> u32 {
        self.board.early_count(ticket.0)
    }

    /// How many have been added and not been taken.
    pub fn len(&self) -> usize {
        self.board.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.board.is_empty()
    }
}

/// Requests, each with something of its owner's.
pub(crate) struct Board<T> {
    pub(crate) wake: Arc<Wake>,
    places: Vec<Option<Place<T>>>,
    free: Vec<usize>,
}

struct Place<T> {
    driven: Driven,
    next: Option<Instant>,
    owners: T,
}

impl<T> Default for Board<T> {
    fn default() -> Self {
        Self { wake: Arc::default(), places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Board<T> {
    pub(crate) fn add(&mut self, driven: Driven, owners: T) -> usize {
        let place = Some(Place { driven, next: None, owners });
        match self.free.pop() {
            Some(which) => {
                self.places[which] = place;
                which
            }
            None => {
                self.places.push(place);
                self.places.len() - 1
            }
        }
    }

    pub(crate) fn drive(&mut self, which: usize, now: Instant) {
        let waker = self.wake.waker(which);
        if let Some(Some(place)) = self.places.get_mut(which) {
            place.next = place.driven.drive(&waker, now);
        }
    }

    /// Waits for news, at most until then, and goes on with those that have some.
    pub(crate) fn turn(&mut self, until: Option<Instant>, node: Option<&Node>) {
        let first = self.places().filter_map(|(_, place)| place.next).chain(until).min();
        let mut which = self.wake.wait(first, node);
        let now = Instant::now();
        if first.is_some_and(|first| first <= now) {
            which.extend(self.places().filter(|(_, it)| it.next.is_some_and(|at| at <= now)).map(|it| it.0));
        }
        which.sort_unstable();
        which.dedup();
        which.into_iter().for_each(|which| self.drive(which, now));
    }

    pub(crate) fn take(&mut self, which: usize) -> Option<(Result<Reply, Errno>, T)> {
        let result = self.places.get_mut(which)?.as_mut()?.driven.take()?;
        let place = self.places[which].take()?;
        self.free.push(which);
        Some((result, place.owners))
    }

    pub(crate) fn first_over(&self) -> Option<usize> {
        self.places().find(|(_, place)| place.driven.is_over()).map(|(which, _)| which)
    }

    fn abort(&mut self, which: usize) {
        if let Some(Some(place)) = self.places.get_mut(which) {
            place.driven.abort();
            self.drive(which, Instant::now());
        }
    }

    fn early_count(&self, which: usize) -> u32 {
        self.places.get(which).and_then(Option::as_ref).map_or(0, |place| place.driven.early_count())
    }

    fn any_over(&self) -> bool {
        self.first_over().is_some()
    }

    fn all_over(&self) -> bool {
        self.places().all(|(_, place)| place.driven.is_over())
    }

    fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn places(&self) -> impl Iterator<Item = (usize, &Place<T>)> {
        self.places.iter().enumerate().filter_map(|(which, place)| Some((which, place.as_ref()?)))
    }
}
