//! Several threads put, get, attach and unlink on the same descriptors of one node. The test counts that
//! each accepted operation has had its events, and each MD one last event and nothing after it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use lnet_core::{
    Core, CoreConfig, EqHandle, Errno, Event, EventKind, InsertPosition, MatchId, MdHandle, MdMemory,
    MdOptions, MdSpec, MeHandle, NiTunables, Target,
};
use lnet_wire::{Nid, Pid};
use lolnd::Lolnd;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

const PORTAL: u32 = 9;
const THREADS: u32 = 4;
const ROUNDS: usize = 4_000;
/// Number of descriptors that the threads share at any one time, for each purpose.
const SHARED: usize = 6;
const ROOM: usize = 64;
const MAX_LENGTH: usize = 16;

fn node() -> Arc<Core> {
    let core = Core::new(CoreConfig::new(Pid::LUSTRE, 42).without_discovery());
    core.admin().add_ni(Nid::LOOPBACK, NiTunables::default(), &Lolnd).unwrap();
    core
}

/// The expected and observed events of one MD, found by its `user_ptr`.
struct Account {
    memory: [AtomicU8; ROOM],
    /// Number of PUTs and GETs that the library accepted.
    accepted: AtomicU32,
    heard: Mutex<BTreeMap<u32, u32>>,
    in_handler: AtomicBool,
    ended: AtomicBool,
}

impl Account {
    fn new() -> Self {
        Self {
            memory: [const { AtomicU8::new(0) }; ROOM],
            accepted: AtomicU32::new(0),
            heard: Mutex::default(),
            in_handler: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        }
    }

    fn hear(&self, event: &Event) {
        assert!(!self.in_handler.swap(true, Ordering::SeqCst), "two handlers of one MD at once");
        assert!(!self.ended.load(Ordering::SeqCst), "an event after the last: {event:?}");
        assert_eq!(event.status, Ok(()));
        if event.kind == EventKind::Put {
            let (from, to) = (event.offset as usize, (event.offset + event.mlength) as usize);
            let arrived = self.memory[from..to].iter().map(|byte| byte.load(Ordering::Relaxed));
            assert!(arrived.eq(std::iter::repeat_n(event.hdr_data as u8, to - from)), "{event:?}");
        }
        *self.heard.lock().unwrap().entry(event.kind as u32).or_default() += 1;
        self.ended.store(event.unlinked, Ordering::SeqCst);
        self.in_handler.store(false, Ordering::SeqCst);
    }

    fn heard(&self, kind: EventKind) -> u32 {
        self.heard.lock().unwrap().get(&(kind as u32)).copied().unwrap_or(0)
    }
}

/// Handles by which the threads know one shared descriptor, which may be gone.
#[derive(Clone, Copy)]
struct Names {
    account: usize,
    md: MdHandle,
    me: Option<MeHandle>,
}

struct Stress {
    core: Arc<Core>,
    eq: EqHandle,
    accounts: Arc<Vec<Account>>,
    made: AtomicUsize,
    sources: [Mutex<Option<Names>>; SHARED],
    sinks: [Mutex<Option<Names>>; SHARED],
    targets: [Mutex<Option<Names>>; SHARED],
}

impl Stress {
    fn new() -> Self {
        let core = node();
        let accounts: Arc<Vec<_>> =
            Arc::new((0..THREADS as usize * ROUNDS).map(|_| Account::new()).collect());
        let told = Arc::clone(&accounts);
        let eq = core
            .data_path()
            .eq_alloc(0, Some(Box::new(move |event| told[event.md.user_ptr].hear(event))))
            .unwrap();
        let (sources, sinks, targets) = Default::default();
        Self { core, eq, accounts, made: AtomicUsize::new(0), sources, sinks, targets }
    }

    /// Describes new memory: `length` bytes, each the low byte of the account's number.
    fn describe(&self, length: usize, threshold: i32, options: u32, fill: bool) -> (MdSpec, MdMemory) {
        let account = self.made.fetch_add(1, Ordering::Relaxed);
        let memory = &self.accounts[account].memory;
        if fill {
            memory.iter().for_each(|byte| byte.store(account as u8, Ordering::Relaxed));
        }
        let (start, max_size, eq) = (memory.as_ptr() as usize, MAX_LENGTH as i32, Some(self.eq));
        let length = length as u32;
        let options = MdOptions(options);
        let spec = MdSpec { start, length, threshold, max_size, options, user_ptr: account, eq };
        (spec, MdMemory::contiguous(start, length))
    }

    fn bind(&self, length: usize, dice: &mut Dice) -> Names {
        let (spec, memory) = self.describe(length, dice.threshold(), 0, true);
        let md = self.core.data_path().md_bind(spec, memory, dice.flip()).unwrap();
        Names { account: spec.user_ptr, md, me: None }
    }

    /// Attaches an MD that takes as much as its own offset leaves space for, so that no two PUTs write to the same place.
    fn attach(&self, dice: &mut Dice) -> Names {
        let options = MdOptions::OP_PUT.0 | MdOptions::OP_GET.0 | MdOptions::TRUNCATE.0;
        let options = options | if dice.flip() { MdOptions::MAX_SIZE.0 } else { 0 };
        let options = options | if dice.below(4) == 0 { MdOptions::ACK_DISABLE.0 } else { 0 };
        let (spec, memory) = self.describe(ROOM, dice.threshold(), options, false);
        let bits = dice.below(SHARED as u64);
        let me = self
            .core
            .data_path()
            .me_attach(PORTAL, MatchId::ANY, bits, dice.below(2), dice.flip(), InsertPosition::After)
            .unwrap();
        let mut md = None;
        self.core
            .data_path()
            .md_attach(me, spec, memory, dice.flip(), &mut |handle| md = Some(handle))
            .unwrap();
        Names { account: spec.user_ptr, md: md.unwrap(), me: Some(me) }
    }

    fn unlink(&self, names: Names, by_entry: bool) {
        let done = match names.me.filter(|_| by_entry) {
            Some(me) => self.core.data_path().me_unlink(me),
            None => self.core.data_path().md_unlink(names.md),
        };
        // The MD may have been unlinked by itself, or by another thread.
        assert!(matches!(done, Ok(()) | Err(Errno::NotFound)));
        // An entry that outlives its MD.
        let _ = names.me.map(|me| self.core.data_path().me_unlink(me));
    }

    fn replace(&self, place: &Mutex<Option<Names>>, new: Names, dice: &mut Dice) {
        let old = place.lock().unwrap().replace(new);
        if let Some(old) = old {
            self.unlink(old, dice.flip());
        }
    }

    fn send(&self, place: &Mutex<Option<Names>>, get: bool, dice: &mut Dice) {
        let Some(Names { account, md, .. }) = *place.lock().unwrap() else { return };
        let target = Target {
            nid: Some(Nid::LOOPBACK),
            pid: Pid::LUSTRE,
            portal: PORTAL,
            match_bits: dice.below(SHARED as u64),
            offset: 0,
        };
        let sent = match get {
            true => self.core.data_path().get(None, md, target),
            false => self.core.data_path().put(None, md, dice.flip(), target, account as u64),
        };
        match sent {
            Ok(()) => _ = self.accounts[account].accepted.fetch_add(1, Ordering::Relaxed),
            Err(errno) => assert_eq!(errno, Errno::NotFound),
        }
    }

    fn step(&self, dice: &mut Dice) {
        let at = dice.below(SHARED as u64) as usize;
        match dice.below(16) {
            0 => {
                let length = 1 + dice.below(MAX_LENGTH as u64) as usize;
                self.replace(&self.sources[at], self.bind(length, dice), dice);
            }
            // No bytes, as several replies at once would write to the same place.
            1 => self.replace(&self.sinks[at], self.bind(0, dice), dice),
            2..=4 => self.replace(&self.targets[at], self.attach(dice), dice),
            5 => {
                let names = *self.targets[at].lock().unwrap();
                names.into_iter().for_each(|names| self.unlink(names, dice.flip()));
            }
            6 => self.core.data_path().set_lazy_portal(PORTAL).unwrap(),
            7 => self.core.data_path().clear_lazy_portal(PORTAL).unwrap(),
            8..=10 => self.send(&self.sinks[at], true, dice),
            _ => self.send(&self.sources[at], false, dice),
        }
    }

    fn total(&self, kind: EventKind) -> u64 {
        self.accounts.iter().map(|account| u64::from(account.heard(kind))).sum()
    }
}

/// A sequence of pseudo-random numbers (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) % end
    }

    fn flip(&mut self) -> bool {
        self.below(2) == 0
    }

    fn threshold(&mut self) -> i32 {
        self.below(5) as i32 - 1
    }
}

#[test]
fn every_accepted_operation_ends_in_its_events_and_every_md_once() {
    let stress = Stress::new();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let stress = &stress;
            scope.spawn(move || {
                let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ u64::from(thread) << 40);
                (0..ROUNDS).for_each(|_| stress.step(&mut dice));
            });
        }
    });
    stress.core.data_path().clear_lazy_portal(PORTAL).unwrap();
    for place in stress.sources.iter().chain(&stress.sinks).chain(&stress.targets) {
        place.lock().unwrap().take().into_iter().for_each(|names| stress.unlink(names, false));
    }

    let made = stress.made.load(Ordering::Relaxed);
    for (number, account) in stress.accounts[..made].iter().enumerate() {
        assert!(account.ended.load(Ordering::SeqCst), "MD {number} never ended: {:?}", account.heard);
        assert_eq!(account.heard(EventKind::Send), account.accepted.load(Ordering::Relaxed), "MD {number}");
    }
    // Every message that was not dropped was reported at its target, and none was lost or reported twice.
    let counters = stress.core.counters();
    assert_eq!(counters.sent.put, counters.received.put + counters.dropped.put);
    assert_eq!(counters.sent.get, counters.received.get + counters.dropped.get);
    assert_eq!(stress.total(EventKind::Send), counters.sent.put + counters.sent.get);
    assert_eq!(stress.total(EventKind::Put), counters.received.put);
    assert_eq!(stress.total(EventKind::Get), counters.received.get);
    assert_eq!(stress.total(EventKind::Get), counters.sent.reply);
    assert_eq!(stress.total(EventKind::Reply), counters.received.reply);
    assert_eq!(stress.total(EventKind::Ack), counters.received.ack);
    assert!(counters.received.put > 0 && counters.received.get > 0 && counters.received.reply > 0);
    assert!(counters.received.ack > 0 && counters.dropped.put > 0);
    assert_eq!(stress.core.data_path().eq_free(stress.eq), Ok(()));
}

/// TRAP-3, from every thread that may see the last event first.
#[test]
fn a_queue_can_be_freed_as_soon_as_its_last_event_was_read() {
    let core = node();
    let memory = [0_u8; 8];
    let target =
        Target { nid: Some(Nid::LOOPBACK), pid: Pid::LUSTRE, portal: PORTAL, match_bits: 1, offset: 0 };
    let (hand_over, queues) = channel();
    std::thread::scope(|scope| {
        let core = &core;
        scope.spawn(move || {
            for (eq, heard) in queues {
                let heard: std::sync::mpsc::Receiver<()> = heard;
                heard.recv().unwrap();
                assert_eq!(core.data_path().eq_free(eq), Ok(()));
                assert_eq!(core.data_path().eq_free(eq), Err(Errno::NotFound));
            }
        });
        for round in 0..2_000 {
            let (tell, heard) = channel();
            let handler = Box::new(move |event: &Event| {
                if event.unlinked {
                    tell.send(()).unwrap();
                }
            });
            let eq = core.data_path().eq_alloc(0, Some(handler)).unwrap();
            let (start, length) = (memory.as_ptr() as usize, 8);
            let (options, eq_of_md) = (MdOptions(0), Some(eq));
            let spec =
                MdSpec { start, length, threshold: 1, max_size: 0, options, user_ptr: 0, eq: eq_of_md };
            let md = core.data_path().md_bind(spec, MdMemory::contiguous(start, length), true).unwrap();
            hand_over.send((eq, heard)).unwrap();
            match round % 2 {
                0 => core.data_path().put(None, md, false, target, 0).unwrap(),
                _ => core.data_path().md_unlink(md).unwrap(),
            }
            assert_eq!(core.data_path().md_unlink(md), Err(Errno::NotFound));
        }
        drop(hand_over);
    });
}
