//! Every interleaving of two sides of a small ring: records arrive whole and in order, none is overwritten before it was read, and who
//! sleeps is woken. A side that is not woken is a deadlock, which loom reports.

use super::*;
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

/// The switches from one thread to the other at which they might go on, at most: without a bound a run takes minutes.
const PREEMPTIONS: usize = 4;
const RECORDS: u32 = 2;

struct Ring(Arc<Vec<AtomicU64>>);

impl Deref for Ring {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        &self.0
    }
}

/// A counter as the kernel's eventfd is one.
#[derive(Default)]
struct Signal {
    count: Mutex<u32>,
    changed: Condvar,
}

impl Signal {
    fn set(&self, wake: Wake) {
        if wake != Wake::NotNeeded {
            *self.count.lock().unwrap() += 1;
            self.changed.notify_one();
        }
    }

    fn wait(&self) {
        let mut count = self.count.lock().unwrap();
        while *count == 0 {
            count = self.changed.wait(count).unwrap();
        }
        *count = 0;
    }
}

/// The sides of a ring of two words, with a signal for each.
fn sides() -> (Producer<Ring>, Consumer<Ring>, Arc<[Signal; 2]>) {
    let words = Arc::new((0..PREFIX + 2).map(|_| AtomicU64::new(0)).collect::<Vec<_>>());
    let producer = Producer::new(Ring(Arc::clone(&words))).unwrap();
    (producer, Consumer::new(Ring(words)).unwrap(), Arc::default())
}

fn push_all(mut producer: Producer<Ring>, signals: &[Signal; 2], records: u32) {
    for number in 1..=records {
        let body = u64::from(number).to_ne_bytes();
        if number % 2 == 0 && producer.push_array(number, [u64::from(number)]) {
            signals[0].set(producer.publish());
            continue;
        }
        // A record fills the ring.
        while producer.push(number, &body).is_err() {
            if producer.begin_wait(body.len()).unwrap() {
                signals[1].wait();
            }
            producer.end_wait();
        }
        signals[0].set(producer.publish());
    }
}

/// The two threads of the consumer take turns; as they never sleep at the same time, one stands for both.
fn pop_all(mut consumer: Consumer<Ring>, signals: &[Signal; 2], records: u32) {
    let mut body = Vec::new();
    for number in 1..=records {
        let kind = loop {
            if consumer.has_record().unwrap()
                && let Some(words) = consumer.pop_array::<1>(1)
            {
                body = words.flat_map(u64::to_ne_bytes).collect();
                break 1;
            }
            if let Some(kind) = consumer.pop(&mut body).unwrap() {
                break kind;
            }
            let sleeps = match number % 2 {
                1 => consumer.begin_sleep(),
                _ => consumer.begin_sleep_of_second(),
            };
            if sleeps.unwrap() {
                signals[0].wait();
            }
            consumer.end_sleep();
        };
        assert_eq!((kind, &body[..]), (number, &u64::from(number).to_ne_bytes()[..]));
        signals[1].set(consumer.release());
    }
}

#[test]
fn loom_both_sides_know_the_same_of_what_was_read_when_the_ring_is_closed() {
    loom::model(|| {
        let words = Arc::new((0..PREFIX + 2).map(|_| AtomicU64::new(0)).collect::<Vec<_>>());
        let mut producer = Producer::new(Ring(Arc::clone(&words))).unwrap();
        let mut consumer = Consumer::new(Ring(words)).unwrap();
        // Two records of a word.
        producer.push(1, &[]).unwrap();
        producer.push(2, &[]).unwrap();
        _ = producer.publish();
        let reading = thread::spawn(move || {
            let mut body = Vec::new();
            let mut commit = || consumer.pop(&mut body).unwrap().is_some() && consumer.commit().is_ok();
            (0..2).take_while(|_| commit()).count() as u64
        });
        let known = producer.close().unwrap();
        assert_eq!(reading.join().unwrap(), known);
    });
}

#[test]
fn loom_records_arrive_whole_and_sleepers_are_woken() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(PREEMPTIONS);
    model.check(|| {
        let (producer, consumer, signals) = sides();
        let theirs = Arc::clone(&signals);
        let pushing = thread::spawn(move || push_all(producer, &theirs, RECORDS));
        pop_all(consumer, &signals, RECORDS);
        pushing.join().unwrap();
    });
}
