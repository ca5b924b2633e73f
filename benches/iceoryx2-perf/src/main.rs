//! Measures messages between two processes through iceoryx2: publishers and subscribers of slices of bytes, in shared memory. Both sides look
//! for messages again and again, and never sleep.
//!
//! ```text
//! iceoryx2-perf serve NAME SIZE                         answers each message by one of SIZE bytes; prints `ready`
//! iceoryx2-perf round-trip NAME SIZE SECONDS            a message and an answer of the same size; prints microseconds for both
//! iceoryx2-perf put NAME SIZE IN_FLIGHT SECONDS         messages that are answered; prints bytes per second
//! ```
//!
//! NAME is the same on both sides, and that of no others. A message is copied once, from the sender's memory to that of the service; the
//! receiver looks at it there. Both commands also print the number of messages from start to end, warm-up included, without the answers to
//! `put`. The client tells the server to end.
#![forbid(unsafe_code)]

use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;
use std::error::Error;
use std::hint::spin_loop;
use std::thread::yield_now;
use std::time::{Duration, Instant};

const USAGE: &str = "usage: serve NAME SIZE | round-trip NAME SIZE SECONDS | put NAME SIZE IN_FLIGHT SECONDS";
const WARM_UP: Duration = Duration::from_millis(100);
/// The number of messages that a subscriber may have before it: the most in flight.
const MAX_IN_FLIGHT: usize = 64;
/// The first byte of a message, and that of the last one, after which the server ends.
const MESSAGE: u8 = 0x5a;
const LAST: u8 = 0;
/// The number of looks in vain after which other processes may run.
const LOOKS_PER_YIELD: u32 = 1000;

type Any<T> = Result<T, Box<dyn Error>>;

fn main() -> Any<()> {
    set_log_level(LogLevel::Error);
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["serve", name, size] => serve(name, size.parse()?),
        ["round-trip", name, size, seconds] => {
            let size: usize = size.parse()?;
            let run = measure(&mut Side::new(name, "there", "back", size)?, size, 1, seconds)?;
            let microseconds = run.seconds * 1e6 / run.operations as f64;
            println!("microseconds {microseconds:.4} messages {}", 2 * run.operations_in_all);
            Ok(())
        }
        ["put", name, size, in_flight, seconds] => {
            let size: usize = size.parse()?;
            let in_flight = in_flight.parse()?;
            let run = measure(&mut Side::new(name, "there", "back", size)?, size, in_flight, seconds)?;
            let rate = size as f64 * run.operations as f64 / run.seconds;
            println!("bytes_per_second {rate:.0} messages {}", run.operations_in_all);
            Ok(())
        }
        _ => Err(USAGE.into()),
    }
}

/// One side: where it sends to, and where it receives from.
struct Side {
    to: Publisher<ipc::Service, [u8], ()>,
    from: Subscriber<ipc::Service, [u8], ()>,
    /// The bytes of a message that it sends.
    memory: Vec<u8>,
    _node: Node<ipc::Service>,
}

impl Side {
    fn new(name: &str, to: &str, from: &str, size: usize) -> Any<Self> {
        if size == 0 {
            return Err("a message has at least one byte".into());
        }
        let node = NodeBuilder::new().create::<ipc::Service>()?;
        let service = |way: &str| -> Any<_> {
            let service = node.service_builder(&format!("{name}/{way}").as_str().try_into()?);
            let service = service.publish_subscribe::<[u8]>().max_publishers(1).max_subscribers(1);
            let service = service.subscriber_max_buffer_size(MAX_IN_FLIGHT).history_size(0);
            Ok(service.enable_safe_overflow(false).open_or_create()?)
        };
        let from = service(from)?.subscriber_builder().create()?;
        let to = service(to)?.publisher_builder().initial_max_slice_len(size).create()?;
        Ok(Self { to, from, memory: vec![MESSAGE; size], _node: node })
    }

    fn send(&self) -> Any<()> {
        self.to.loan_slice_uninit(self.memory.len())?.write_from_slice(&self.memory).send()?;
        Ok(())
    }

    /// Waits for a message, and returns its first byte.
    fn receive(&self) -> Any<u8> {
        let mut looks = 0_u32;
        loop {
            if let Some(message) = self.from.receive()? {
                return Ok(message.first().copied().unwrap_or(LAST));
            }
            looks = looks.wrapping_add(1);
            if looks.is_multiple_of(LOOKS_PER_YIELD) { yield_now() } else { spin_loop() }
        }
    }
}

fn serve(name: &str, size: usize) -> Any<()> {
    let side = Side::new(name, "back", "there", size)?;
    println!("ready");
    while side.receive()? == MESSAGE {
        side.send()?;
    }
    Ok(())
}

struct Run {
    seconds: f64,
    operations: u64,
    operations_in_all: u64,
}

fn measure(side: &mut Side, size: usize, in_flight: usize, seconds: &str) -> Any<Run> {
    if !(1..=MAX_IN_FLIGHT).contains(&in_flight) {
        return Err(format!("1 to {MAX_IN_FLIGHT} messages may be in flight").into());
    }
    let duration = Duration::try_from_secs_f64(seconds.parse()?)?;
    let warm_up = repeat(side, in_flight, WARM_UP)?;
    let begin = Instant::now();
    let operations = repeat(side, in_flight, duration)?;
    let seconds = begin.elapsed().as_secs_f64();
    side.memory = vec![LAST; size];
    side.send()?;
    Ok(Run { seconds, operations, operations_in_all: warm_up + operations })
}

/// Keeps a number of messages in flight for a time, and waits for their answers.
fn repeat(side: &Side, in_flight: usize, duration: Duration) -> Any<u64> {
    let begin = Instant::now();
    for _ in 0..in_flight {
        side.send()?;
    }
    let (mut sent, mut answered) = (in_flight as u64, 0);
    while answered < sent {
        side.receive()?;
        answered += 1;
        if begin.elapsed() < duration {
            side.send()?;
            sent += 1;
        }
    }
    Ok(answered)
}
