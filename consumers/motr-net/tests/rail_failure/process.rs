//! The processes of the testbed: a server that fetches the data it is offered and puts it back, and a client that offers data.

use crate::support::machine::{Event, TestMachine};
use crate::support::machine_process::respond;
use m0net::net::queue::Queue;
use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

const BULK: usize = 300_000;
const DESCRIPTOR: usize = 48;
const IN_FLIGHT: usize = 8;
/// The least number of transfers of the load.
const MIN_TRANSFERS: u64 = 200;
/// The seconds after which an operation fails: more than LNet needs to send over another rail.
const TIMEOUT: u64 = 40;

/// Runs the role of a process: `server ADDRESS`, or `client ADDRESS SERVER`.
pub(crate) fn run(role: &str) {
    let words: Vec<&str> = role.split(' ').collect();
    match words[..] {
        ["server", address] => serve(address),
        ["client", address, server] => offer(address, server),
        _ => unreachable!("{role}"),
    }
}

/// Serves clients. A message has the slot of the client, the descriptor of the offered data, and that of its destination.
fn serve(address: &str) {
    let mut machine = TestMachine::start(address);
    for _ in 0..4 {
        let index = machine.buffer(64 << 10);
        machine.receive(index, 256, 200);
    }
    let receive_buffers = 4;
    let mut free: Vec<usize> = (0..2 * IN_FLIGHT).map(|_| machine.buffer(BULK)).collect();
    // The destination of the data by buffer, for data that is being fetched.
    let mut destinations: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
    respond("ready");
    std::thread::spawn(|| {
        std::io::stdin().lock().lines().map_while(Result::ok).for_each(drop);
        std::process::exit(0);
    });
    let mut failed = BTreeMap::<(u32, i32), u64>::new();
    loop {
        let Ok(Event::Buffer { index, queue, status, message, queued, .. }) = machine.events.recv() else {
            return;
        };
        if index < receive_buffers {
            if status == 0 {
                let (from, to) = message[8..].split_at(DESCRIPTOR);
                // A client that has its data may continue before the operation that sent it has ended here.
                let buffer = free.pop().unwrap_or_else(|| machine.buffer(BULK));
                machine.bytes(buffer, BULK);
                assert_eq!(machine.transfer(buffer, Queue::ActiveBulkRecv, from, TIMEOUT), 0);
                destinations.insert(buffer, to.to_vec());
            }
            if !queued {
                machine.receive(index, 256, 200);
            }
            continue;
        }
        if status != 0 {
            *failed.entry((queue as u32, status)).or_default() += 1;
            eprintln!("server: {failed:?}");
        }
        match destinations.remove(&index) {
            Some(to) if status == 0 => {
                assert_eq!(machine.transfer(index, Queue::ActiveBulkSend, &to, TIMEOUT), 0);
            }
            _ => free.push(index),
        }
    }
}

struct Slot {
    out: usize,
    back: usize,
    message: usize,
    number: u64,
    /// The number of `out`, `back` and `message` that have not ended.
    pending: usize,
    ok: bool,
}

/// The data of a transfer: a different part of the same bytes for each.
fn pattern(number: u64) -> &'static [u8] {
    static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let mut bytes = vec![0; BULK + 1021];
        fastrand::Rng::with_seed(7).fill(&mut bytes);
        bytes
    });
    &BYTES[(number % 1021) as usize..][..BULK]
}

fn offer(address: &str, server: &str) {
    let mut machine = TestMachine::start(address);
    let mut slots: Vec<Slot> = (0..IN_FLIGHT)
        .map(|_| Slot {
            out: machine.buffer(BULK),
            back: machine.buffer(BULK),
            message: machine.buffer(4096),
            number: 0,
            pending: 0,
            ok: true,
        })
        .collect();
    let ends = Arc::new(AtomicBool::new(false));
    let ends_of_reader = Arc::clone(&ends);
    respond("ready");
    std::thread::spawn(move || {
        std::io::stdin().lock().lines().map_while(Result::ok).next();
        ends_of_reader.store(true, Ordering::Release);
    });
    let (mut succeeded, mut failed, mut corrupted, mut next) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut statuses = BTreeMap::<(u32, i32), u64>::new();
    for at in 0..slots.len() {
        next += 1;
        begin(&mut machine, &mut slots, at, next, server);
    }
    loop {
        let Ok(Event::Buffer { index, queue, status, length, .. }) = machine.events.recv() else { return };
        let at = slots.iter().position(|it| [it.out, it.back, it.message].contains(&index)).unwrap();
        let slot = &mut slots[at];
        slot.pending -= 1;
        if status != 0 || queue == Queue::PassiveBulkRecv && length != BULK {
            *statuses.entry((queue as u32, status)).or_default() += 1;
            slot.ok = false;
        }
        if slot.pending > 0 {
            continue;
        }
        let (number, back) = (slot.number, slot.back);
        if !slot.ok {
            failed += 1;
        } else if *machine.bytes(back, BULK) == *pattern(number) {
            succeeded += 1;
        } else {
            corrupted += 1;
        }
        if !ends.load(Ordering::Acquire) || succeeded + failed < MIN_TRANSFERS {
            next += 1;
            begin(&mut machine, &mut slots, at, next, server);
        } else if slots.iter().all(|it| it.pending == 0) {
            break;
        }
    }
    respond(&format!("succeeded {succeeded} failed {failed} corrupted {corrupted} {statuses:?}"));
}

fn begin(machine: &mut TestMachine, slots: &mut [Slot], at: usize, number: u64, server: &str) {
    let slot = &mut slots[at];
    (slot.number, slot.pending, slot.ok) = (number, 3, true);
    machine.bytes(slot.out, BULK).copy_from_slice(pattern(number));
    machine.bytes(slot.back, BULK).fill(0);
    let from = machine.offer(slot.out, Queue::PassiveBulkSend, Some(TIMEOUT));
    let to = machine.offer(slot.back, Queue::PassiveBulkRecv, Some(TIMEOUT));
    let message = [&number.to_ne_bytes()[..], &from, &to].concat();
    assert_eq!(machine.send(slot.message, server, &message), 0);
}
