//! A lock for data that a thread holds for a moment, in which it neither sleeps nor calls the program.
//!
//! Such a lock is released by a plain store, where that of the standard library needs an atomic instruction, which takes as long as some
//! twenty others: nobody sleeps until it is released. A thread that finds it held looks again for a moment, then lets others have the
//! processor, and in the end sleeps for a short time, as the thread that holds it may be one that does not run meanwhile.

use std::cell::Cell;
use std::hint;
use std::thread;
use std::time::Duration;

/// A mutex whose waiting threads look again and again. A panic of the thread that holds it releases it.
pub type Spinlock<T> = spin::mutex::SpinMutex<T, LookAgain>;
/// The guard of a [`Spinlock`].
pub type SpinlockGuard<'a, T> = spin::mutex::SpinMutexGuard<'a, T, LookAgain>;

/// The pause of a thread between two looks at a [`Spinlock`] that another holds.
#[derive(Debug)]
pub struct LookAgain;

/// Number of looks of a thread after each of which, but the last ones, it looks again at once.
const LOOKS: u32 = 64;
/// Number of times that a thread then lets others have the processor, before it sleeps.
const YIELDS: u32 = 16;
/// The time for which it sleeps: others run, whatever their priority is.
const SLEEP: Duration = Duration::from_micros(50);

impl spin::RelaxStrategy for LookAgain {
    fn relax() {
        thread_local! {
            /// Number of looks in vain, of all locks: they need not begin anew with each.
            static IN_VAIN: Cell<u32> = const { Cell::new(0) };
        }
        let in_vain = IN_VAIN.get();
        IN_VAIN.set(in_vain.wrapping_add(1));
        match in_vain % (LOOKS + YIELDS + 1) {
            look if look < LOOKS => hint::spin_loop(),
            yields if yields < LOOKS + YIELDS => thread::yield_now(),
            _ => thread::sleep(SLEEP),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_change_is_lost_while_many_threads_wait_for_the_lock() {
        const THREADS: u64 = 8;
        const CHANGES: u64 = 20_000;
        let count = Spinlock::<u64>::new(0);
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| (0..CHANGES).for_each(|_| *count.lock() += 1));
            }
        });
        assert_eq!(*count.lock(), THREADS * CHANGES);
    }

    #[test]
    fn a_panic_releases_the_lock() {
        let lock = Spinlock::<u32>::new(1);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _guard = lock.lock();
            panic!("on purpose");
        }));
        assert!(panicked.is_err());
        assert_eq!(*lock.lock(), 1);
    }
}
