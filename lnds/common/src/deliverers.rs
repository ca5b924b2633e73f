//! The threads that pass to the core what a driver has done, where event handlers of the program run: one thread at a time, the current
//! deliverer, and another one when a handler keeps that thread.
//!
//! A thread that has something to deliver calls [`Deliverers::begin`], and leaves it to the current deliverer if there is one. A deliverer
//! asks after each step whether it still is the current one ([`Deliverers::is_current`]), and stops if not: another thread has gone on
//! while a handler kept it. At the end it calls [`Deliverers::end`]. If it was the current one until then, it looks once more for something
//! to deliver, as other threads have left that to it.
//!
//! The driver finds threads that are kept by [`crate::handler_watch`], which reads [`Deliverers::servers`], and calls
//! [`Deliverers::replace`] for them.

use crate::sync::lock;
use lnet_core::event::HandlerState;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

/// What a deliverer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The driver's own thread.
    Owner,
    /// A thread of the application.
    Application,
}

/// The number of a deliverer. A thread that delivers again has another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelivererId(u64);

/// The threads that deliver: the current deliverer, and those that it has replaced, which are inside a handler.
#[derive(Debug, Default)]
pub struct Deliverers {
    table: Mutex<Table>,
    /// A thread does not deliver any more, and others wait for that.
    ended: Condvar,
}

impl Deliverers {
    /// Makes the calling thread the current deliverer; `None` if there is one already.
    pub fn begin(&self, role: Role) -> Option<DelivererId> {
        let mut table = lock(&self.table);
        table.current.is_none().then(|| table.begin(role))
    }

    /// Waits until no other thread delivers, and makes the calling thread the current deliverer, also if it is inside a handler that it
    /// has called as a deliverer.
    pub fn begin_after_others(&self, role: Role) -> DelivererId {
        self.when_others_have_ended(thread::current().id()).begin(role)
    }

    /// Whether this is the current deliverer.
    pub fn is_current(&self, deliverer: DelivererId) -> bool {
        lock(&self.table).current == Some(deliverer)
    }

    /// Forgets a deliverer. Returns whether it was the current one.
    pub fn end(&self, deliverer: DelivererId) -> bool {
        let mut table = lock(&self.table);
        table.all.retain(|its| its.id != deliverer);
        self.tell_waiting(&table);
        table.current.take_if(|current| *current == deliverer).is_some()
    }

    /// Forgets a thread that is inside a handler which does not return before other threads have ended, so that they do not wait for it.
    /// Returns what it was; `None` if it is no deliverer.
    pub fn leave(&self, thread: ThreadId) -> Option<Role> {
        let mut table = lock(&self.table);
        let left = table.all.extract_if(.., |its| its.thread == thread).last()?;
        table.current.take_if(|current| *current == left.id);
        self.tell_waiting(&table);
        Some(left.role)
    }

    /// Waits until no thread but this one delivers.
    pub fn wait_for_others(&self, thread: ThreadId) {
        drop(self.when_others_have_ended(thread));
    }

    /// Lets another thread become the current deliverer, if that has this role. Called when a handler keeps that thread.
    pub fn replace(&self, role: Role) {
        let mut table = lock(&self.table);
        if table.current().is_some_and(|its| its.role == role) {
            table.current = None;
        }
    }

    /// Whether there is a current deliverer, for [`crate::handler_watch::Served::is_served`].
    pub fn is_served(&self) -> bool {
        lock(&self.table).current.is_some()
    }

    /// The handler state of the current deliverer, as that of the owner or that of the app poller, for
    /// [`crate::handler_watch::Served::servers`].
    pub fn servers(&self) -> [Option<Arc<HandlerState>>; 2] {
        let table = lock(&self.table);
        [Role::Owner, Role::Application]
            .map(|role| table.current().filter(|its| its.role == role).and_then(|its| its.handlers.clone()))
    }

    fn when_others_have_ended(&self, thread: ThreadId) -> MutexGuard<'_, Table> {
        let mut table = lock(&self.table);
        table.waiting += 1;
        while table.all.iter().any(|its| its.thread != thread) {
            table = self.ended.wait(table).unwrap_or_else(PoisonError::into_inner);
        }
        table.waiting -= 1;
        table
    }

    /// Wakes the threads that wait for others. Without one there is no system call.
    fn tell_waiting(&self, table: &Table) {
        if table.waiting > 0 {
            self.ended.notify_all();
        }
    }
}

#[derive(Debug, Default)]
struct Table {
    all: Vec<Deliverer>,
    current: Option<DelivererId>,
    last: u64,
    /// The number of threads that wait for others.
    waiting: u32,
}

#[derive(Debug)]
struct Deliverer {
    id: DelivererId,
    role: Role,
    thread: ThreadId,
    handlers: Option<Arc<HandlerState>>,
}

impl Table {
    fn current(&self) -> Option<&Deliverer> {
        self.all.iter().find(|its| Some(its.id) == self.current)
    }

    /// Makes the calling thread the current deliverer.
    fn begin(&mut self, role: Role) -> DelivererId {
        self.last += 1;
        let id = DelivererId(self.last);
        self.current = Some(id);
        let handlers = HandlerState::with_own(Arc::clone);
        self.all.push(Deliverer { id, role, thread: thread::current().id(), handlers });
        id
    }
}

#[cfg(test)]
mod tests {
    use super::Role::{Application, Owner};
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Calls `f` on another thread. Returns what it returns, and the thread.
    fn elsewhere<T: Send>(f: impl FnOnce() -> T + Send) -> (T, ThreadId) {
        thread::scope(|scope| scope.spawn(|| (f(), thread::current().id())).join().unwrap())
    }

    fn me() -> ThreadId {
        thread::current().id()
    }

    #[test]
    fn one_thread_delivers_at_a_time() {
        let deliverers = Deliverers::default();
        for (role, others) in [(Owner, Application), (Owner, Owner), (Application, Owner)] {
            let first = deliverers.begin(role).unwrap();
            assert!(deliverers.is_served() && deliverers.is_current(first), "{role:?}");
            assert_eq!(elsewhere(|| deliverers.begin(others)).0, None, "{others:?} beside {role:?}");
            assert_eq!(deliverers.begin(others), None, "{others:?} in a handler of {role:?}");
            assert!(deliverers.end(first), "{role:?}");
            assert!(!deliverers.is_served() && !deliverers.is_current(first), "{role:?}");
            let (second, _) = elsewhere(|| deliverers.begin(others).unwrap());
            assert!(second != first && deliverers.end(second), "{others:?} after {role:?}");
        }
    }

    #[test]
    fn a_deliverer_that_is_replaced_is_not_the_current_one_any_more() {
        for (role, other) in [(Owner, Application), (Application, Owner)] {
            let deliverers = Deliverers::default();
            let first = deliverers.begin(role).unwrap();
            deliverers.replace(other);
            assert!(deliverers.is_current(first), "{other:?} is kept, but {role:?} delivers");
            deliverers.replace(role);
            assert!(!deliverers.is_current(first) && !deliverers.is_served(), "{role:?}");
            let (second, _) = elsewhere(|| deliverers.begin(other).unwrap());
            assert!(!deliverers.end(first), "{role:?} was not the current one at its end");
            assert!(deliverers.is_current(second) && deliverers.end(second), "{other:?}");
        }
    }

    #[test]
    fn the_watch_sees_the_handlers_of_the_current_deliverer_in_its_role() {
        let deliverers = Deliverers::default();
        let mine = HandlerState::with_own(Arc::clone).unwrap();
        let seen =
            || deliverers.servers().map(|server| server.is_some_and(|server| Arc::ptr_eq(&server, &mine)));
        assert_eq!(seen(), [false, false]);
        for (role, expected) in [(Owner, [true, false]), (Application, [false, true])] {
            let first = deliverers.begin(role).unwrap();
            assert_eq!(seen(), expected, "{role:?}");
            deliverers.replace(role);
            assert_eq!(seen(), [false, false], "{role:?}, replaced");
            let (second, _) = elsewhere(|| deliverers.begin(role).unwrap());
            assert_eq!(seen(), [false, false], "{role:?} on another thread");
            assert!(!deliverers.end(first) && deliverers.end(second), "{role:?}");
        }
    }

    #[test]
    fn the_last_deliverer_waits_until_each_other_thread_has_ended_or_left() {
        type WayOut = fn(&Deliverers, DelivererId, ThreadId);
        let ends: WayOut = |deliverers, id, _| _ = deliverers.end(id);
        let leaves: WayOut = |deliverers, _, thread| _ = deliverers.leave(thread);
        for (name, ways_out) in
            [("end", [ends, ends]), ("end, leave", [ends, leaves]), ("leave", [leaves, leaves])]
        {
            let deliverers = Deliverers::default();
            let kept = elsewhere(|| deliverers.begin(Owner).unwrap());
            deliverers.replace(Owner);
            let current = elsewhere(|| deliverers.begin(Application).unwrap());
            let are_gone = AtomicBool::new(false);
            thread::scope(|scope| {
                let waiter = scope.spawn(|| {
                    let last = deliverers.begin_after_others(Owner);
                    assert!(are_gone.load(Ordering::SeqCst), "{name}");
                    assert!(deliverers.end(last), "{name}");
                });
                while lock(&deliverers.table).waiting == 0 && !waiter.is_finished() {
                    thread::yield_now();
                }
                ways_out[0](&deliverers, kept.0, kept.1);
                are_gone.store(true, Ordering::SeqCst);
                ways_out[1](&deliverers, current.0, current.1);
            });
        }
    }

    #[test]
    fn a_thread_that_leaves_is_not_waited_for() {
        for role in [Owner, Application] {
            for is_replaced in [false, true] {
                let deliverers = Deliverers::default();
                let (id, thread) = elsewhere(|| deliverers.begin(role).unwrap());
                if is_replaced {
                    deliverers.replace(role);
                }
                assert_eq!(deliverers.leave(me()), None, "this thread is no deliverer");
                assert_eq!(deliverers.leave(thread), Some(role), "replaced: {is_replaced}");
                assert_eq!(deliverers.leave(thread), None, "{role:?} has left already");
                deliverers.wait_for_others(me());
                assert!(!deliverers.is_served(), "{role:?}, replaced: {is_replaced}");
                assert!(!deliverers.is_current(id) && !deliverers.end(id), "{role:?}");
            }
        }
    }

    #[test]
    fn a_thread_that_ends_the_interface_in_its_own_handler_does_not_wait_for_itself() {
        let deliverers = Deliverers::default();
        let outer = deliverers.begin(Application).unwrap();
        deliverers.wait_for_others(me());
        let last = deliverers.begin_after_others(Owner);
        assert!(deliverers.is_current(last) && !deliverers.is_current(outer));
        assert!(deliverers.end(last));
        assert!(!deliverers.end(outer));
    }
}
