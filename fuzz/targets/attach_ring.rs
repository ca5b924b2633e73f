//! A ring that a hostile program writes: each side ends with an error or with nothing more, and a record that can be read is written as the
//! same words.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lnet_attach::record::{Message, Operation, Report};
use lnet_ring::{Consumer, Producer, PushError, size_in_words};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const CAPACITY: usize = 4096;

#[derive(Clone)]
struct Words(Arc<[AtomicU64]>);

impl Deref for Words {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        &self.0
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some(size) = size_in_words(CAPACITY) else { return };
    let words = Words((0..size).map(|_| AtomicU64::new(0)).collect());
    for (word, bytes) in words.iter().zip(bytes.chunks_exact(8)) {
        word.store(bytes.try_into().map_or(0, u64::from_ne_bytes), Ordering::Relaxed);
    }
    let (Ok(mut consumer), Ok(mut producer)) = (Consumer::new(words.clone()), Producer::new(words)) else {
        return;
    };
    let (mut body, mut again) = (Vec::new(), Vec::new());
    let mut read = 0;
    while let Ok(Some(kind)) = consumer.pop_words(&mut body) {
        read += body.len();
        assert!(read <= CAPACITY);
        if let Ok((number, operation)) = Operation::decode(kind, &body) {
            assert_eq!((operation.encode(number, &mut again), &again), (kind, &body));
        }
        if let Ok((number, report)) = Report::decode(kind, &body) {
            assert_eq!((report.encode(number, &mut again), &again), (kind, &body));
        }
    }
    for _ in 0..100 {
        if let Err(PushError::TooLong(_) | PushError::Corrupt(_)) = producer.push_words(1, &[1; 125]) {
            break;
        }
        _ = producer.publish();
    }
});
