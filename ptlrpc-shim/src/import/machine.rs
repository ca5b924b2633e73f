//! How far an import is: pure decisions over its state (PR-61, PR-62).

use crate::message::body::ExportCookie;
use std::time::{Duration, Instant};

/// How far an import is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has never been connected.
    New,
    /// It was connected, or would like to be.
    Disconnected,
    /// A connect request is under way.
    Connecting,
    /// Requests may be sent.
    Full,
    /// It will not be used again.
    Closed,
}

/// One of the ways to the target.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    last_tried: Option<Instant>,
    /// Since the last time that anything went well.
    tried: bool,
}

/// What to do about connecting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Which of the ways.
    pub way: usize,
    /// The generation that it makes.
    pub conn_cnt: u32,
    /// It is the first of all.
    pub initial: bool,
    /// What the network is reckoned to need.
    pub network: Duration,
}

/// What came of a try to connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The server's name for the connection.
    pub handle: ExportCookie,
    /// It knew this client.
    pub reconnect: bool,
}

/// Who may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Requests may go out, in the name of this connection.
    Go(Link),
    /// Not yet.
    Wait,
    /// Never again.
    Closed,
}

/// The connection that there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Which of the ways.
    pub way: usize,
    /// The server's name for the connection.
    pub handle: ExportCookie,
    /// Its generation.
    pub conn_cnt: u32,
    /// Which life of the server it is: what one has been told another does not know.
    pub life: u32,
}

/// The state.
#[derive(Debug)]
pub struct Machine {
    state: State,
    ways: Vec<Way>,
    current: usize,
    conn_cnt: u32,
    handle: ExportCookie,
    life: u32,
    /// What the network is reckoned to need, by the tries that have failed.
    network: Duration,
    /// Tries that failed in a row.
    failures: u32,
    /// Not before.
    next: Option<Instant>,
}

/// After a round of all ways in which none worked the network is reckoned to need so much more.
const NETWORK_STEP: Duration = Duration::from_secs(5);
/// The first wait after such a round; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

impl Machine {
    /// With so many ways, at least one.
    pub fn new(ways: usize) -> Self {
        Self {
            state: State::New,
            ways: vec![Way::default(); ways.max(1)],
            current: 0,
            conn_cnt: 0,
            handle: ExportCookie::NONE,
            life: 0,
            network: Duration::ZERO,
            failures: 0,
            next: None,
        }
    }

    /// How far it is.
    pub const fn state(&self) -> State {
        self.state
    }

    /// The generation of the last try to connect.
    pub const fn conn_cnt(&self) -> u32 {
        self.conn_cnt
    }

    /// The server's name for the last connection.
    pub const fn handle(&self) -> ExportCookie {
        self.handle
    }

    /// Who may send now.
    pub const fn admit(&self) -> Admission {
        match self.state {
            State::Full => Admission::Go(Link {
                way: self.current,
                handle: self.handle,
                conn_cnt: self.conn_cnt,
                life: self.life,
            }),
            State::Closed => Admission::Closed,
            State::New | State::Disconnected | State::Connecting => Admission::Wait,
        }
    }

    /// It is to be connected. Whether that is news.
    pub fn want(&mut self) -> bool {
        let news = self.state == State::New;
        if news {
            self.state = State::Disconnected;
        }
        news
    }

    /// When to try next; `None`: there is nothing to be tried.
    pub fn due(&self, now: Instant) -> Option<Instant> {
        (self.state == State::Disconnected).then(|| self.next.unwrap_or(now))
    }

    /// Begins a try: by the first way that has not been tried since anything went well, or else by that which has not been tried
    /// for the longest time (PR-62). `max_network` bounds what is added for the network.
    pub fn begin(&mut self, now: Instant, max_network: Duration) -> Option<Attempt> {
        if self.due(now).is_none_or(|due| due > now) {
            return None;
        }
        if self.ways.iter().all(|way| way.tried) {
            self.ways.iter_mut().for_each(|way| way.tried = false);
            self.network = (self.network + NETWORK_STEP).min(max_network);
        }
        let untried = self.ways.iter().position(|way| !way.tried && way.last_tried.is_none());
        let oldest = || {
            let ways = self.ways.iter().enumerate().filter(|(_, way)| !way.tried);
            ways.min_by_key(|(_, way)| way.last_tried).map(|(at, _)| at)
        };
        let way = untried.or_else(oldest)?;
        self.ways[way] = Way { last_tried: Some(now), tried: true };
        let initial = self.handle == ExportCookie::NONE;
        self.current = way;
        self.conn_cnt += 1;
        self.state = State::Connecting;
        Some(Attempt { way, conn_cnt: self.conn_cnt, initial, network: self.network })
    }

    /// A try has worked. Whether it still counts.
    pub fn accepted(&mut self, conn_cnt: u32, accepted: Accepted) -> bool {
        if self.state != State::Connecting || conn_cnt != self.conn_cnt {
            return false;
        }
        // A server that did not know this client, or gives another name to what it says it knew, has forgotten all.
        if !accepted.reconnect || accepted.handle != self.handle {
            self.life += 1;
        }
        self.state = State::Full;
        self.handle = accepted.handle;
        self.network = Duration::ZERO;
        self.failures = 0;
        self.next = None;
        self.ways.iter_mut().for_each(|way| way.tried = false);
        true
    }

    /// A try has failed. Whether it still counts.
    pub fn refused(&mut self, conn_cnt: u32, now: Instant) -> bool {
        if self.state != State::Connecting || conn_cnt != self.conn_cnt {
            return false;
        }
        self.state = State::Disconnected;
        let rounds = self.failures / self.ways.len() as u32;
        self.failures = self.failures.saturating_add(1);
        let full_round = self.ways.iter().all(|way| way.tried);
        let pause = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(rounds)).min(LONGEST_PAUSE);
        self.next = full_round.then(|| now + pause);
        true
    }

    /// What was sent in this generation got no answer. Whether that ends the connection that there is (PR-60).
    pub fn failed(&mut self, conn_cnt: u32) -> bool {
        let counts = self.state == State::Full && conn_cnt == self.conn_cnt;
        if counts {
            self.state = State::Disconnected;
            self.next = None;
        }
        counts
    }

    /// It will not be used again; the connection that there was.
    pub fn close(&mut self) -> Option<Link> {
        let link = match self.admit() {
            Admission::Go(link) => Some(link),
            _ => None,
        };
        self.state = State::Closed;
        link
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: Duration = Duration::from_secs(50);

    fn accepted(handle: u64, reconnect: bool) -> Accepted {
        Accepted { handle: ExportCookie(handle), reconnect }
    }

    fn link(machine: &Machine) -> Link {
        match machine.admit() {
            Admission::Go(link) => link,
            other => panic!("{other:?}"),
        }
    }

    /// PR-62.
    #[test]
    fn ways_are_tried_in_turn_and_each_full_round_gives_the_network_more_time() {
        let (start, mut machine) = (Instant::now(), Machine::new(3));
        assert_eq!(machine.begin(start, MAX), None);
        assert!(machine.want() && !machine.want());
        let mut now = start;
        let mut tried = Vec::new();
        for _ in 0..8 {
            now = machine.due(now).unwrap().max(now);
            let attempt = machine.begin(now, MAX).unwrap();
            assert!(attempt.initial && machine.begin(now, MAX).is_none());
            tried.push((attempt.way, attempt.conn_cnt, attempt.network.as_secs()));
            now += Duration::from_millis(1);
            assert!(machine.refused(attempt.conn_cnt, now));
        }
        let wanted =
            [(0, 1, 0), (1, 2, 0), (2, 3, 0), (0, 4, 5), (1, 5, 5), (2, 6, 5), (0, 7, 10), (1, 8, 10)];
        assert_eq!(tried, wanted);
        // Two rounds, each with a wait behind it: 100 and 200 ms.
        assert!(now - start > Duration::from_millis(300) && now - start < Duration::from_millis(320));
    }

    #[test]
    fn waits_grow_and_end_when_a_try_works() {
        let (mut now, mut machine) = (Instant::now(), Machine::new(1));
        machine.want();
        let mut waits = Vec::new();
        for _ in 0..7 {
            let attempt = machine.begin(now, MAX).unwrap();
            machine.refused(attempt.conn_cnt, now);
            let due = machine.due(now).unwrap();
            assert_eq!(machine.begin(due - Duration::from_millis(1), MAX), None);
            waits.push((due - now).as_millis());
            now = due;
        }
        assert_eq!(waits, [100, 200, 400, 800, 1600, 2000, 2000]);
        let attempt = machine.begin(now, MAX).unwrap();
        assert!(machine.accepted(attempt.conn_cnt, accepted(7, false)));
        assert!(machine.failed(attempt.conn_cnt));
        assert_eq!(machine.due(now), Some(now), "at once");
    }

    #[test]
    fn what_belongs_to_an_earlier_generation_does_not_count() {
        let (now, mut machine) = (Instant::now(), Machine::new(1));
        machine.want();
        let first = machine.begin(now, MAX).unwrap();
        assert!(!machine.failed(first.conn_cnt), "not connected yet");
        machine.refused(first.conn_cnt, now);
        let second = machine.begin(machine.due(now).unwrap(), MAX).unwrap();
        assert!(!machine.accepted(first.conn_cnt, accepted(7, false)));
        assert!(!machine.refused(first.conn_cnt, now));
        assert!(machine.accepted(second.conn_cnt, accepted(7, false)));
        assert!(!machine.failed(first.conn_cnt));
        assert_eq!(link(&machine), Link { way: 0, handle: ExportCookie(7), conn_cnt: 2, life: 1 });
    }

    #[test]
    fn a_server_that_has_forgotten_this_client_is_in_another_life() {
        let (now, mut machine) = (Instant::now(), Machine::new(1));
        machine.want();
        let mut lives = Vec::new();
        for (handle, reconnect) in [(7, false), (7, true), (8, false), (8, true), (9, true)] {
            let attempt = machine.begin(now, MAX).unwrap();
            assert!(machine.accepted(attempt.conn_cnt, accepted(handle, reconnect)));
            lives.push(link(&machine).life);
            assert!(machine.failed(attempt.conn_cnt));
        }
        assert_eq!(lives, [1, 1, 2, 2, 3]);
    }

    #[test]
    fn who_is_closed_stays_closed() {
        let (now, mut machine) = (Instant::now(), Machine::new(1));
        machine.want();
        let attempt = machine.begin(now, MAX).unwrap();
        assert_eq!(machine.close(), None);
        assert!(!machine.accepted(attempt.conn_cnt, accepted(7, false)));
        assert!(!machine.want() && machine.due(now).is_none());
        assert_eq!(machine.admit(), Admission::Closed);
    }
}
