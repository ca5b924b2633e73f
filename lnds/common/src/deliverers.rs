//! The threads that pass to the core what a driver has done, where event handlers of the program run: one thread at a time, and another
//! one when the handler keeps that thread.

use lnet_core::event::HandlerState;
use std::sync::Arc;
use std::thread::ThreadId;

/// What a deliverer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The driver's own thread.
    Owner,
    /// A thread of the application.
    Application,
}

/// The threads that deliver: the current deliverer, and those that it has replaced, which are inside a handler.
#[derive(Debug, Default)]
pub struct Deliverers {
    all: Vec<Deliverer>,
    /// The number of the deliverer; 0 for none.
    current: u64,
    last: u64,
}

#[derive(Debug)]
struct Deliverer {
    number: u64,
    role: Role,
    thread: ThreadId,
    handlers: Option<Arc<HandlerState>>,
}

impl Deliverers {
    fn current(&self) -> Option<&Deliverer> {
        self.all.iter().find(|its| its.number == self.current)
    }

    /// Whether there is a current deliverer.
    pub fn is_served(&self) -> bool {
        self.current != 0
    }

    /// Whether the deliverer with this number has not been replaced.
    pub fn is_current(&self, number: u64) -> bool {
        self.current == number
    }

    /// Whether a thread other than this one delivers, as the current deliverer or as one that has been replaced.
    pub fn has_others(&self, thread: ThreadId) -> bool {
        self.all.iter().any(|its| its.thread != thread)
    }

    /// The handler states of the current deliverer, by its role: of the owner, and of the application's thread.
    pub fn servers(&self) -> [Option<Arc<HandlerState>>; 2] {
        let of = |role| self.current().filter(|its| its.role == role).and_then(|its| its.handlers.clone());
        [of(Role::Owner), of(Role::Application)]
    }

    /// Makes the calling thread the deliverer. Returns its number.
    pub fn begin(&mut self, role: Role) -> u64 {
        self.last += 1;
        self.current = self.last;
        let handlers = HandlerState::with_own(Arc::clone);
        self.all.push(Deliverer { number: self.last, role, thread: std::thread::current().id(), handlers });
        self.last
    }

    /// Forgets a thread that delivers and does not return from its handler before the interface has ended. Returns what it was.
    pub fn leave(&mut self, thread: ThreadId) -> Option<Role> {
        let left = self.all.extract_if(.., |its| its.thread == thread);
        let (number, role) = left.map(|its| (its.number, its.role)).last()?;
        if self.current == number {
            self.current = 0;
        }
        Some(role)
    }

    /// Forgets the deliverer with this number.
    pub fn end(&mut self, number: u64) {
        self.all.retain(|its| its.number != number);
        if self.current == number {
            self.current = 0;
        }
    }

    /// Lets another thread become the deliverer, in place of one with this role.
    pub fn replace(&mut self, role: Role) {
        if self.current().is_some_and(|its| its.role == role) {
            self.current = 0;
        }
    }
}
