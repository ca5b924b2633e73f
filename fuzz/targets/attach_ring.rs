//! A ring that a hostile program writes: each side ends with an error or with nothing more, and a record that can be read is written as the
//! same words.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lnet_attach::record::{
    EVENT, EVENT_WORDS, Message, Operation, PUT, PUT_WORDS, PlainPut, Report, decode_event, encode_event,
    untold_event,
};
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
    while consumer.has_record() == Ok(true) {
        if let Some(words) = consumer.pop_array::<EVENT_WORDS>(EVENT) {
            let (words, mut event): (Vec<u64>, _) = (words.collect(), untold_event());
            read += words.len();
            if let Ok(number) = decode_event(words.iter().copied(), &mut event) {
                assert_eq!(encode_event(number, &event).map(Vec::from), Some(words));
            }
            continue;
        }
        if let Some(words) = consumer.pop_array::<PUT_WORDS>(PUT) {
            let words: Vec<u64> = words.collect();
            read += words.len();
            if let Some((number, put)) = words[..].try_into().ok().and_then(PlainPut::decode) {
                assert_eq!(put.encode(number).map(Vec::from), Some(words));
            }
            continue;
        }
        let Ok(Some(kind)) = consumer.pop_words(&mut body) else { break };
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
