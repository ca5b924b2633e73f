//! Counts of messages and of their bytes, each of which one atomic instruction raises.

use crate::sync::{Mutex, lock};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers of messages of `N` kinds, with their payload in bytes.
#[derive(Debug)]
pub(super) struct PackedCounts<const N: usize> {
    /// The latest messages of each kind: their number in the lower [`COUNT_BITS`], their bytes above.
    latest: [AtomicU64; N],
    /// All others, which were moved here before either number could overflow.
    earlier: OnceLock<Box<Mutex<[KindCounts; N]>>>,
}

/// A number of messages, and of their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct KindCounts {
    pub(super) messages: u64,
    pub(super) bytes: u64,
}

const COUNT_BITS: u32 = 20;
const COUNT: u64 = (1 << COUNT_BITS) - 1;
/// The bits that are set once either number has reached half of what has room. Both are moved then, before as many more are counted.
const HALF_FULL: u64 = 1 << 63 | 1 << (COUNT_BITS - 1);

impl<const N: usize> PackedCounts<N> {
    /// Counts a message of the kind with this index.
    #[inline]
    pub(super) fn add(&self, kind: usize, bytes: u32) {
        let Some(latest) = self.latest.get(kind) else { return };
        let more = 1 + (u64::from(bytes) << COUNT_BITS);
        let before = latest.fetch_add(more, Ordering::Relaxed);
        if before.wrapping_add(more) & HALF_FULL != 0 {
            self.move_latest();
        }
    }

    /// A snapshot of all numbers.
    pub(super) fn read(&self) -> [KindCounts; N] {
        let earlier = self.earlier.get().map(|earlier| lock(earlier));
        let latest =
            std::array::from_fn(|kind| KindCounts::unpack(self.latest[kind].load(Ordering::Acquire)));
        match (earlier, self.earlier.get()) {
            (Some(earlier), _) => std::array::from_fn(|kind| earlier[kind].plus(latest[kind])),
            (None, None) => latest,
            // The first move may have been between the two.
            (None, Some(_)) => self.read(),
        }
    }

    /// Sets all to 0.
    pub(super) fn reset(&self) {
        let earlier = self.earlier.get().map(|earlier| lock(earlier));
        self.latest.iter().for_each(|latest| latest.store(0, Ordering::Relaxed));
        if let Some(mut earlier) = earlier {
            *earlier = [KindCounts::default(); N];
        }
    }

    #[cold]
    fn move_latest(&self) {
        let earlier = self.earlier.get_or_init(|| Box::new(Mutex::new([KindCounts::default(); N])));
        let mut earlier = lock(earlier);
        for (earlier, latest) in earlier.iter_mut().zip(&self.latest) {
            *earlier = earlier.plus(KindCounts::unpack(latest.swap(0, Ordering::AcqRel)));
        }
    }
}

impl<const N: usize> Default for PackedCounts<N> {
    fn default() -> Self {
        Self { latest: std::array::from_fn(|_| AtomicU64::new(0)), earlier: OnceLock::new() }
    }
}

impl KindCounts {
    const fn unpack(packed: u64) -> Self {
        Self { messages: packed & COUNT, bytes: packed >> COUNT_BITS }
    }

    const fn plus(self, other: Self) -> Self {
        Self { messages: self.messages + other.messages, bytes: self.bytes + other.bytes }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn no_message_and_no_byte_is_lost_however_many_there_are() {
        for (messages, bytes) in
            [(3_u64, 0_u32), (5 << COUNT_BITS, 7), (1 << 13, u32::MAX), (1 << 21, 1 << 20)]
        {
            let counts = PackedCounts::<2>::default();
            (0..messages).for_each(|_| counts.add(1, bytes));
            let expected = KindCounts { messages, bytes: messages * u64::from(bytes) };
            assert_eq!(counts.read(), [KindCounts::default(), expected]);
            counts.add(0, 5);
            counts.reset();
            assert_eq!(counts.read(), [KindCounts::default(); 2]);
        }
    }

    /// Fails if a reader sees fewer messages than before, or another number of bytes than goes with them.
    #[test]
    fn a_reader_misses_nothing_while_threads_count() {
        const COUNT_OF_EACH: u64 = 3 << COUNT_BITS;
        let counts = PackedCounts::<1>::default();
        std::thread::scope(|scope| {
            let threads: [_; 2] =
                std::array::from_fn(|_| scope.spawn(|| (0..COUNT_OF_EACH).for_each(|_| counts.add(0, 1))));
            let mut last = 0;
            while !threads.iter().all(std::thread::ScopedJoinHandle::is_finished) {
                let [KindCounts { messages, bytes }] = counts.read();
                assert!(messages >= last && bytes == messages, "{last} {messages} {bytes}");
                last = messages;
            }
        });
        assert_eq!(counts.read(), [KindCounts { messages: 2 * COUNT_OF_EACH, bytes: 2 * COUNT_OF_EACH }]);
    }
}
