//! The arrival of a payload that a router sends on before all of it is there (cut-through).
//!
//! Two messages share an [`Arrival`]: the one that is received, whose driver reports what has arrived, and the one that is sent on, whose
//! driver writes that and waits for more. The memory returns to the router's buffers with the second, which therefore does not end
//! before the arrival has.

use crate::memory::{MdMemory, MemSlice, RecvBuffer};
use crate::sync::{Mutex, lock};
use std::fmt::{Debug, Formatter};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// The arrival of the payload of one message.
pub struct Arrival {
    /// The memory, which the receiving driver may still fill when the message that is sent on has failed.
    memory: RecvBuffer,
    bytes: MdMemory,
    /// The number of bytes at the beginning that have arrived.
    arrived: AtomicUsize,
    state: Mutex<ArrivalState>,
}

/// A sender that waits for more of a payload.
pub trait ArrivalWaiter: Send + Sync {
    /// More of the payload, or all of it, has arrived. Called without a lock; may send.
    fn on_arrival(self: Arc<Self>);

    /// The rest of the payload will not arrive. The caller may hold locks of a driver, so that the call only makes another thread
    /// continue.
    fn on_arrival_failed(self: Arc<Self>);
}

/// The part of a payload that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// This number of bytes, and more may follow.
    Part(usize),
    /// The payload is complete.
    Whole,
    /// The rest of the payload will not arrive.
    Failed,
}

enum ArrivalState {
    Arriving(Option<Weak<dyn ArrivalWaiter>>),
    Whole,
    Failed,
}

impl Arrival {
    /// The arrival of a payload into `memory`, of which `arrived` bytes are there.
    pub(crate) fn new(memory: RecvBuffer, arrived: usize) -> Self {
        Self {
            bytes: memory.memory(),
            memory,
            arrived: AtomicUsize::new(arrived),
            state: Mutex::new(ArrivalState::Arriving(None)),
        }
    }

    /// An arrival like [`Arrival::new`], in the memory of one that has ended and that nobody else refers to; in new memory otherwise.
    pub(crate) fn renew(spare: Option<Arc<Self>>, memory: &RecvBuffer, arrived: usize) -> Arc<Self> {
        if let Some(mut spare) = spare
            && let Some(unused) = Arc::get_mut(&mut spare)
        {
            *unused = Self::new(memory.clone(), arrived);
            return spare;
        }
        Arc::new(Self::new(memory.clone(), arrived))
    }

    /// The first `len` bytes of the memory.
    pub(crate) fn payload(&self, len: u32) -> MemSlice<'_> {
        self.bytes.slice(0, len)
    }

    /// The part of the payload that has arrived.
    pub fn arrived(&self) -> Arrived {
        match *lock(&self.state) {
            ArrivalState::Arriving(_) => Arrived::Part(self.arrived.load(Ordering::Acquire)),
            ArrivalState::Whole => Arrived::Whole,
            ArrivalState::Failed => Arrived::Failed,
        }
    }

    /// Makes the arrival call `waiter` once: when more than `known` bytes have arrived, or the arrival ends. Returns false if that is so
    /// already; then it does not call.
    pub fn wait(&self, known: usize, new_waiter: Weak<dyn ArrivalWaiter>) -> bool {
        match &mut *lock(&self.state) {
            ArrivalState::Arriving(waiter) if self.arrived.load(Ordering::Acquire) <= known => {
                *waiter = Some(new_waiter);
                true
            }
            _ => false,
        }
    }

    /// Reports that `arrived` bytes are in the memory. Not for a thread with a lock of a driver.
    pub fn advance(&self, arrived: usize) {
        let waiter = match &mut *lock(&self.state) {
            ArrivalState::Arriving(waiter) => {
                let before = self.arrived.fetch_max(arrived, Ordering::AcqRel);
                if before < arrived { waiter.take() } else { None }
            }
            _ => None,
        };
        if let Some(waiter) = waiter.and_then(|waiter| waiter.upgrade()) {
            waiter.on_arrival();
        }
    }

    /// Ends the arrival: the payload is complete. Not for a thread with a lock of a driver.
    pub(crate) fn complete(&self) {
        if let Some(waiter) = self.end(ArrivalState::Whole) {
            waiter.on_arrival();
        }
    }

    /// Ends the arrival: no more will come.
    pub(crate) fn fail(&self) {
        if let Some(waiter) = self.end(ArrivalState::Failed) {
            waiter.on_arrival_failed();
        }
    }

    fn end(&self, state: ArrivalState) -> Option<Arc<dyn ArrivalWaiter>> {
        match std::mem::replace(&mut *lock(&self.state), state) {
            ArrivalState::Arriving(waiter) => waiter?.upgrade(),
            ArrivalState::Whole | ArrivalState::Failed => None,
        }
    }
}

impl Debug for Arrival {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { memory, arrived, .. } = self;
        write!(f, "Arrival({} of {})", arrived.load(Ordering::Relaxed), memory.len())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[derive(Default)]
    struct Calls {
        arrived: AtomicU32,
        failed: AtomicU32,
    }

    impl ArrivalWaiter for Calls {
        fn on_arrival(self: Arc<Self>) {
            self.arrived.fetch_add(1, Ordering::Relaxed);
        }

        fn on_arrival_failed(self: Arc<Self>) {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl Calls {
        fn weak(self: &Arc<Self>) -> Weak<dyn ArrivalWaiter> {
            Arc::downgrade(self) as Weak<dyn ArrivalWaiter>
        }

        fn so_far(&self) -> (u32, u32) {
            (self.arrived.load(Ordering::Relaxed), self.failed.load(Ordering::Relaxed))
        }
    }

    fn arrival(arrived: usize) -> Arc<Arrival> {
        Arrival::renew(None, &RecvBuffer::new(100), arrived)
    }

    #[test]
    fn a_waiter_is_called_once_when_more_has_arrived() {
        let (arrival, calls) = (arrival(10), Arc::new(Calls::default()));
        assert!(!arrival.wait(9, calls.weak()), "a tenth byte is there");
        assert!(arrival.wait(10, calls.weak()));
        arrival.advance(10);
        assert_eq!(calls.so_far(), (0, 0), "nothing new");
        arrival.advance(20);
        arrival.advance(30);
        assert_eq!((calls.so_far(), arrival.arrived()), ((1, 0), Arrived::Part(30)));
        arrival.advance(25);
        assert_eq!(arrival.arrived(), Arrived::Part(30), "a late report takes nothing back");
    }

    #[test]
    fn the_end_of_an_arrival_is_final_and_calls_the_waiter() {
        let (complete, failed, calls) = (arrival(10), arrival(10), Arc::new(Calls::default()));
        assert!(complete.wait(10, calls.weak()) && failed.wait(10, calls.weak()));
        complete.complete();
        failed.fail();
        assert_eq!(calls.so_far(), (1, 1));
        complete.complete();
        failed.fail();
        complete.advance(50);
        failed.advance(50);
        assert_eq!((complete.arrived(), failed.arrived()), (Arrived::Whole, Arrived::Failed));
        assert!(!complete.wait(100, calls.weak()) && !failed.wait(100, calls.weak()));
        assert_eq!(calls.so_far(), (1, 1));
    }

    #[test]
    fn an_arrival_that_someone_still_refers_to_is_not_used_again() {
        let memory = RecvBuffer::new(100);
        let first = arrival(10);
        let late = Arc::clone(&first);
        let second = Arrival::renew(Some(first), &memory, 5);
        late.advance(90);
        assert_eq!(second.arrived(), Arrived::Part(5));
        let address = Arc::as_ptr(&second);
        let third = Arrival::renew(Some(second), &memory, 7);
        assert_eq!((Arc::as_ptr(&third), third.arrived()), (address, Arrived::Part(7)));
    }
}
