use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;

const CAPACITY: usize = 4096;

type Shared = Arc<Box<[AtomicU64]>>;

/// Both sides deref to the words.
#[derive(Clone, Debug)]
struct Ring(Shared);

impl Deref for Ring {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        &self.0
    }
}

fn ring(capacity: usize) -> (Ring, Producer<Ring>, Consumer<Ring>) {
    let words = (0..size_in_words(capacity).unwrap()).map(|_| AtomicU64::new(0)).collect();
    let ring = Ring(Arc::new(words));
    (ring.clone(), Producer::new(ring.clone()).unwrap(), Consumer::new(ring).unwrap())
}

#[test]
fn only_sizes_of_rings_are_taken() {
    for size in [0, 32, 33, 32 + 2048, 32 + 4095, 33 + 4096] {
        let words = Ring(Arc::new((0..size).map(|_| AtomicU64::new(0)).collect()));
        assert_eq!(Producer::new(words.clone()).unwrap_err(), Corrupt::Size(size));
        assert_eq!(Consumer::new(words).unwrap_err(), Corrupt::Size(size));
    }
}

#[derive(Clone, Debug)]
enum Step {
    Push(u32, usize),
    Publish,
    Pop,
    Release,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (any::<u32>(), prop_oneof![0..64_usize, 0..=MAX_BODY]).prop_map(|(kind, len)| Step::Push(kind, len)),
        3 => Just(Step::Publish),
        6 => Just(Step::Pop),
        2 => Just(Step::Release),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Against a queue: records come out once, in order, whole, when they are published; and there is room exactly for what fits.
    #[test]
    fn a_ring_is_a_queue_of_limited_length(steps in prop::collection::vec(step(), 1..400)) {
        let (_, mut producer, mut consumer) = ring(CAPACITY);
        let (mut pushed, mut published) = (VecDeque::new(), VecDeque::new());
        // The words that were pushed and not released, and those of them that were popped.
        let (mut used, mut popped) = (0, 0);
        let mut body = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Push(kind, len) => {
                    let bytes: Vec<u8> = (0..len).map(|i| (i + number) as u8).collect();
                    let result = producer.push(kind, &bytes);
                    if used + words_of(len) <= CAPACITY as u64 {
                        prop_assert_eq!(result, Ok(()));
                        used += words_of(len);
                        pushed.push_back((kind, bytes));
                    } else {
                        prop_assert_eq!(result, Err(PushError::Full));
                        // Nobody reads what is not published.
                        prop_assert_eq!(producer.begin_wait(len), Ok(true));
                        producer.end_wait();
                    }
                }
                Step::Publish => {
                    prop_assert_eq!(producer.publish(), Wake::NotNeeded);
                    published.append(&mut pushed);
                }
                Step::Pop => {
                    let got = consumer.pop(&mut body).unwrap().map(|kind| (kind, body.clone()));
                    popped += got.as_ref().map_or(0, |(_, body)| words_of(body.len()));
                    prop_assert_eq!(got, published.pop_front());
                }
                Step::Release => {
                    prop_assert_eq!(consumer.release(), Wake::NotNeeded);
                    used -= std::mem::take(&mut popped);
                }
            }
        }
    }

    /// Against a queue: records of a known length are records as all others, whichever way they are written and read.
    #[test]
    fn arrays_are_records_of_words(
        records in prop::collection::vec((0..3_u32, 0..8_usize, any::<[bool; 3]>()), 1..2000),
    ) {
        const WORDS: usize = 5;
        let (_, mut producer, mut consumer) = ring(CAPACITY);
        let mut queue = VecDeque::new();
        let mut body = Vec::new();
        for (number, (kind, len, [as_array, pops, pops_array])) in records.into_iter().enumerate() {
            let words: Vec<u64> = (0..len as u64).map(|word| word + number as u64).collect();
            let array = <[u64; WORDS]>::try_from(&words[..]).ok().filter(|_| as_array);
            if !array.is_some_and(|array| producer.push_array(kind, array)) {
                prop_assert_eq!(producer.push_words(kind, &words), Ok(()));
            }
            _ = producer.publish();
            queue.push_back((kind, words));
            while pops && consumer.has_record() == Ok(true) {
                let expected = queue.pop_front().unwrap();
                prop_assert!(consumer.pop_array::<WORDS>(expected.0 + 1).is_none(), "another kind");
                prop_assert!(consumer.pop_array::<{ WORDS + 8 }>(expected.0).is_none(), "another length");
                let array = if pops_array { consumer.pop_array::<WORDS>(expected.0) } else { None };
                let got = match array.map(Iterator::collect::<Vec<u64>>) {
                    Some(words) => (expected.0, words),
                    None => (consumer.pop_words(&mut body).unwrap().unwrap(), body.clone()),
                };
                prop_assert_eq!(got, expected);
                _ = consumer.release();
            }
            // Full.
            if queue.len() > 400 {
                break;
            }
        }
        prop_assert_eq!(consumer.has_record(), Ok(!queue.is_empty()));
    }

    /// Whatever is in the memory, a side ends with an error or with nothing more, and reads no more than the ring has.
    #[test]
    fn hostile_memory_costs_an_error_at_most(
        head in prop_oneof![0..10_000_u64, any::<u64>()],
        records in prop::collection::vec(prop_oneof![0..200_u64, any::<u64>()], 0..64),
        tail in prop_oneof![0..10_000_u64, any::<u64>()],
    ) {
        let (memory, mut producer, mut consumer) = ring(CAPACITY);
        memory[HEAD].store(head, Ordering::Relaxed);
        memory[TAIL].store(tail, Ordering::Relaxed);
        for (at, word) in records.iter().enumerate() {
            memory[PREFIX + at].store(*word, Ordering::Relaxed);
        }
        let mut body = Vec::new();
        let mut read = 0;
        loop {
            let array = match consumer.has_record() {
                Ok(true) => consumer.pop_array::<1>(0).map(Iterator::count),
                _ => None,
            };
            match array {
                Some(words) => read += 1 + words as u64,
                None => match consumer.pop(&mut body) {
                    Ok(Some(_)) => read += words_of(body.len()),
                    _ => break,
                },
            }
            prop_assert!(read <= CAPACITY as u64);
            _ = consumer.release();
            // As the release moves the end of what may be published on, the head has to stay.
            memory[TAIL].store(tail, Ordering::Relaxed);
        }
        for _ in 0..5000 {
            match producer.push(1, &[0; 100]) {
                Ok(()) | Err(PushError::Full) => _ = producer.publish(),
                Err(_) => break,
            }
        }
    }
}

#[test]
fn impossible_positions_and_lengths_are_told_from_an_empty_ring() {
    let capacity = CAPACITY as u64;
    for (head, first, expected) in [
        (0, 0, Ok(None)),
        (1, 0, Ok(Some(0))),
        (1, 7 << 32, Ok(Some(7))),
        (1, 1, Err(Corrupt::Length { bytes: 1, words: 1 })),
        (2, 8, Ok(Some(0))),
        (2, 9, Err(Corrupt::Length { bytes: 9, words: 2 })),
        (capacity, 0xffff_ffff, Err(Corrupt::Length { bytes: u32::MAX, words: capacity })),
        (capacity, 1 + MAX_BODY as u64, Err(Corrupt::Length { bytes: 1 + MAX_BODY as u32, words: capacity })),
        (capacity + 1, 0, Err(Corrupt::Position { claimed: capacity + 1, own: 0, capacity })),
        (u64::MAX, 0, Err(Corrupt::Position { claimed: u64::MAX, own: 0, capacity })),
    ] {
        let (memory, _, mut consumer) = ring(CAPACITY);
        memory[HEAD].store(head, Ordering::Relaxed);
        memory[PREFIX].store(first, Ordering::Relaxed);
        assert_eq!(consumer.pop(&mut Vec::new()), expected, "{head} {first}");
    }
    let (memory, mut producer, _) = ring(CAPACITY);
    producer.push(1, &[0; MAX_BODY]).unwrap();
    _ = producer.publish();
    // The consumer claims to have read more than there is.
    memory[TAIL].store(5000, Ordering::Relaxed);
    let error = Corrupt::Position { claimed: 5000, own: words_of(MAX_BODY), capacity };
    assert_eq!(producer.push(1, &[0; MAX_BODY]), Err(error.into()));
}

#[test]
fn the_fill_is_what_was_published_and_not_released_whatever_the_sides_write() {
    let (memory, mut producer, mut consumer) = ring(CAPACITY);
    let fill = Fill::new(memory.clone()).unwrap();
    producer.push(1, &[0; 12]).unwrap();
    assert_eq!((fill.in_use(), fill.capacity()), (0, CAPACITY as u64 * 8));
    _ = producer.publish();
    consumer.pop(&mut Vec::new()).unwrap();
    assert_eq!(fill.in_use(), words_of(12) * 8);
    _ = consumer.release();
    assert_eq!(fill.in_use(), 0);
    for (head, tail, expected) in
        [(0, 1, CAPACITY as u64 * 8), (u64::MAX, 0, CAPACITY as u64 * 8), (9, 7, 16)]
    {
        memory[HEAD].store(head, Ordering::Relaxed);
        memory[TAIL].store(tail, Ordering::Relaxed);
        assert_eq!(fill.in_use(), expected, "{head} {tail}");
    }
}

#[test]
fn what_is_read_after_the_ring_was_closed_counts_for_neither_side() {
    for commits in 0..=3 {
        let (_, mut producer, mut consumer) = ring(CAPACITY);
        (0..3).for_each(|number| producer.push(number, &[0; 8]).unwrap());
        _ = producer.publish();
        let mut body = Vec::new();
        for _ in 0..commits {
            consumer.pop(&mut body).unwrap();
            assert!(consumer.commit().is_ok());
        }
        assert_eq!(producer.read_by_consumer(), Ok(2 * commits));
        assert_eq!((producer.pushed(), producer.close()), (6, Ok(2 * commits)));
        // A commit of nothing changes nothing, so nothing is wrong with it.
        let read = consumer.pop(&mut body).unwrap();
        assert_eq!(consumer.commit().is_err(), read.is_some(), "{commits}");
    }
}

#[test]
fn a_record_is_added_to_what_was_read_before() {
    let (_, mut producer, mut consumer) = ring(CAPACITY);
    producer.push(1, b"one").unwrap();
    producer.push(2, b"two").unwrap();
    _ = producer.publish();
    let mut body = b"0".to_vec();
    assert_eq!((consumer.pop_more(&mut body), consumer.pop_more(&mut body)), (Ok(Some(1)), Ok(Some(2))));
    assert_eq!(body, b"0onetwo");
}

#[test]
fn who_waits_for_reading_is_told_of_the_next_commit() {
    let (_, mut producer, mut consumer) = ring(CAPACITY);
    producer.push(1, &[]).unwrap();
    _ = producer.publish();
    assert_eq!(producer.begin_wait_for_reading(), Ok(true));
    consumer.pop(&mut Vec::new()).unwrap();
    assert_eq!(consumer.commit(), Ok(Wake::Needed));
    producer.end_wait();
    assert_eq!(producer.begin_wait_for_reading(), Ok(false));
}

#[test]
fn who_sleeps_is_woken_once() {
    let (_, mut producer, mut consumer) = ring(CAPACITY);
    let mut body = Vec::new();
    assert_eq!(consumer.begin_sleep(), Ok(true));
    producer.push(1, b"one").unwrap();
    producer.push(2, b"two").unwrap();
    assert_eq!((producer.publish(), producer.publish()), (Wake::Needed, Wake::NotNeeded));
    producer.push(3, b"three").unwrap();
    assert_eq!(producer.publish(), Wake::NotNeeded);
    consumer.end_sleep();
    assert_eq!(consumer.pop(&mut body), Ok(Some(1)));
    // There is more.
    assert_eq!(consumer.begin_sleep(), Ok(false));
    consumer.end_sleep();
    while producer.push(4, &[0; 1000]).is_ok() {}
    _ = producer.publish();
    assert_eq!(producer.begin_wait(1000), Ok(true));
    assert_eq!(consumer.release(), Wake::Needed);
    producer.end_wait();
}

#[test]
fn two_threads_exchange_many_records() {
    let (_, mut producer, mut consumer) = ring(CAPACITY);
    const RECORDS: u32 = 100_000;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0..RECORDS {
                let body = number.to_ne_bytes().repeat(number as usize % 37);
                while producer.push(number, &body).is_err() {
                    _ = producer.publish();
                    std::thread::yield_now();
                }
                if number % 5 == 0 {
                    _ = producer.publish();
                }
            }
            _ = producer.publish();
        });
        let mut body = Vec::new();
        for number in 0..RECORDS {
            let kind = loop {
                match consumer.pop(&mut body).unwrap() {
                    Some(kind) => break kind,
                    None => std::thread::yield_now(),
                }
            };
            assert_eq!((kind, body.len()), (number, 4 * (number as usize % 37)));
            assert!(body.chunks(4).all(|four| four == number.to_ne_bytes()));
            if number % 3 == 0 {
                _ = consumer.release();
            }
        }
    });
}
