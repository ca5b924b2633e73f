//! The state of the live view, which is derived from samples and keys. Pure, with the time as an argument.

use super::numbers::{clock, count, mib, seconds, size, time};
use super::view::{InterfaceState, Row, View, set_shares};
use crate::cli::Sort;
use lnet_dlc::ops::sample::{Rates, Sample};
use lnet_dlc::request::{LnetStats, LocalNi, NiStatus, Peer};
use lnet_settings::MAX_HEALTH;
use lnet_wire::Reachability;
use lnet_wire::latency::Delay;
use std::time::Duration;

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// `q`, Escape, Ctrl-C
    Quit,
    /// `p`, blank
    Pause,
    /// `s`
    Sort,
    /// `k`
    Up,
    /// `j`
    Down,
    /// A screen of peers back.
    PageUp,
    /// Scrolls forward by a screen of peers.
    PageDown,
    /// Scrolls to the first peer.
    Home,
    /// Scrolls to the last peer.
    End,
}

/// Whether the view continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The view continues.
    Continue,
    /// The view ends.
    End,
}

/// The state that is kept from one sample to the next.
#[derive(Debug)]
pub struct Watch {
    interval: Duration,
    sort: Sort,
    paused: bool,
    /// Peers above the first that is shown.
    skipped: usize,
    last: Option<(Sample, Duration)>,
    rates: Rates,
    delays: String,
    problem: Option<String>,
}

impl Watch {
    /// A watch without a sample.
    pub fn new(interval: Duration, sort: Sort) -> Self {
        Self {
            interval,
            sort,
            paused: false,
            skipped: 0,
            last: None,
            rates: Rates::default(),
            delays: String::new(),
            problem: None,
        }
    }

    /// Takes a sample, or the reason why there is none; `at` is on the clock of the view. While paused, nothing
    /// changes. While the node cannot be reached, the last sample stays, without rates.
    pub fn sampled(&mut self, at: Duration, found: Result<Sample, String>) {
        if self.paused {
            return;
        }
        match found {
            Ok(sample) => {
                self.rates = match &self.last {
                    Some((before, then)) => Rates::between(before, &sample, at.saturating_sub(*then)),
                    None => Rates::default(),
                };
                self.delays = delays(self.last.as_ref().map(|(before, _)| before), &sample);
                self.skipped = self.skipped.min(sample.peers.len().saturating_sub(1));
                self.last = Some((sample, at));
                self.problem = None;
            }
            Err(problem) => {
                self.rates = Rates::default();
                self.problem = Some(problem);
            }
        }
    }

    /// Carries out the action of a key. `page`: peers that fit on the screen.
    pub fn press(&mut self, key: Key, page: usize) -> Flow {
        let peers = self.last.as_ref().map_or(0, |(sample, _)| sample.peers.len());
        let furthest = peers.saturating_sub(page);
        let skipped = self.skipped.min(furthest);
        self.skipped = match key {
            Key::Quit => return Flow::End,
            Key::Pause => {
                self.paused = !self.paused;
                skipped
            }
            Key::Sort => {
                self.sort = match self.sort {
                    Sort::Traffic => Sort::Nid,
                    Sort::Nid => Sort::Health,
                    Sort::Health => Sort::Credits,
                    Sort::Credits => Sort::Traffic,
                };
                0
            }
            Key::Up => skipped.saturating_sub(1),
            Key::Down => (skipped + 1).min(furthest),
            Key::PageUp => skipped.saturating_sub(page),
            Key::PageDown => skipped.saturating_add(page).min(furthest),
            Key::Home => 0,
            Key::End => furthest,
        };
        Flow::Continue
    }

    /// Returns the view at the time `now`.
    pub fn view(&self, now: Duration) -> View {
        let watching = format!("{}  every {} s", clock(now), seconds(self.interval));
        let Some((sample, _)) = &self.last else {
            return View { watching, problem: self.problem.clone(), ..View::default() };
        };
        let stats = &sample.stats;
        let mut rails: Vec<Row> = sample.nis.iter().map(|ni| self.rail(ni)).collect();
        set_shares(&mut rails);
        let mut order: Vec<&Peer> = sample.other_peers().collect();
        order.sort_by(|one, other| self.compare(one, other));
        let shown = order.len();
        let mut peers: Vec<Row> = order.into_iter().map(|peer| self.peer(peer)).collect();
        set_shares(&mut peers);
        View {
            node: match &sample.node.selftest {
                Some(selftest) => format!("{} [selftest: {selftest}]", sample.node.name),
                None => sample.node.name.clone(),
            },
            watching,
            paused: self.paused,
            totals: [
                format!("sent {} msgs {}", stats.send_count, size(stats.send_length)),
                format!("received {} msgs {}", stats.recv_count, size(stats.recv_length)),
                format!("dropped {}", stats.drop_count),
            ]
            .join("   "),
            rates: [
                format!(
                    "out {} msgs/s {} MiB/s",
                    count(self.rates.node.sent),
                    mib(self.rates.node.sent_bytes)
                ),
                format!(
                    "in {} msgs/s {} MiB/s",
                    count(self.rates.node.received),
                    mib(self.rates.node.received_bytes)
                ),
            ]
            .join("   "),
            delays: self.delays.clone(),
            health: health(sample),
            rails,
            peers,
            peer_count: sample.peer_count.saturating_sub(sample.peers.len() - shown),
            skipped: self.skipped,
            sort: match self.sort {
                Sort::Traffic => "traffic",
                Sort::Nid => "nid",
                Sort::Health => "health",
                Sort::Credits => "credits",
            },
            problem: self.problem.clone(),
        }
    }

    fn rail(&self, ni: &LocalNi) -> Row {
        let health = ni.health.value;
        let no_health = ni.nid.is_loopback();
        let rate = self.rates.nis.get(&ni.nid).copied().unwrap_or_default();
        Row {
            nid: ni.nid.to_string(),
            detail: ni.interface.clone().unwrap_or_default(),
            state: InterfaceState::of(ni),
            health: if no_health { "-".to_owned() } else { health.to_string() },
            credits: format!("{}/{}", ni.tx_credits, ni.min_tx_credits),
            ..Row::with_rate(rate)
        }
    }

    /// The row of a peer: the worst health and the sums of credits over all its NIDs.
    fn peer(&self, peer: &Peer) -> Row {
        let broken = peer.nis.iter().all(|ni| ni.alive == Some(false) || usable_health(ni) == 0);
        let rate = self.rates.peers.get(&peer.primary).copied().unwrap_or_default();
        let sum = |it: fn(&lnet_dlc::request::PeerNi) -> i32| -> i64 {
            peer.nis.iter().map(|ni| i64::from(it(ni))).sum()
        };
        Row {
            nid: peer.primary.to_string(),
            detail: match peer.nis.len() {
                1 => "1 nid".to_owned(),
                nids => format!("{nids} nids"),
            },
            state: match (peer.reachability, InterfaceState::new(broken, worst_health(peer))) {
                (Some(its), _) if its.state == Reachability::Unreachable => InterfaceState::Unreachable,
                (Some(its), InterfaceState::Active) if its.state == Reachability::Degraded => {
                    InterfaceState::Degraded
                }
                (Some(its), InterfaceState::Active) if its.state == Reachability::Unknown => {
                    InterfaceState::Unknown
                }
                (_, InterfaceState::Active)
                    if peer.nis.iter().any(|ni| !ni.health.unresponsive_from.is_empty()) =>
                {
                    InterfaceState::Degraded
                }
                (_, state) => state,
            },
            health: worst_health(peer).to_string(),
            credits: format!("{}/{}", sum(|ni| ni.tx_credits), sum(|ni| ni.min_tx_credits)),
            ..Row::with_rate(rate)
        }
    }

    /// Compares peers by the order of the view; equal ones by NID, so that rows keep their place.
    fn compare(&self, one: &Peer, other: &Peer) -> std::cmp::Ordering {
        let rate = |peer: &Peer| self.rates.peers.get(&peer.primary).copied().unwrap_or_default();
        let credits = |peer: &Peer| peer.nis.iter().map(|ni| ni.tx_credits).min();
        let by_sort = match self.sort {
            Sort::Traffic => {
                let (one, other) = (rate(one), rate(other));
                let by_bytes = other.bytes().total_cmp(&one.bytes());
                by_bytes.then(other.messages().total_cmp(&one.messages()))
            }
            Sort::Nid => std::cmp::Ordering::Equal,
            Sort::Health => worst_health(one).cmp(&worst_health(other)),
            Sort::Credits => credits(one).cmp(&credits(other)),
        };
        by_sort.then_with(|| one.primary.cmp(&other.primary))
    }
}

/// Text about the delays of requests since the sample before: the bounds that half of them and 99 in 100 were below. Without a sample
/// before, since the node began.
fn delays(before: Option<&Sample>, sample: &Sample) -> String {
    let shown = [
        ("put acked", Delay::PutAck),
        ("get replied", Delay::GetReply),
        ("wait for credits", Delay::CreditWait),
    ];
    let texts = shown.map(|(name, delay)| {
        let all = sample.delay(delay);
        let recent = before.map_or_else(|| all.clone(), |before| all.since(&before.delay(delay)));
        let bound = |thousandths| recent.quantile(thousandths).map_or_else(|| "long".to_owned(), time);
        match recent.count() {
            0 => format!("{name} -"),
            _ => format!("{name} < {} (99% < {})", bound(500), bound(990)),
        }
    });
    texts.join("   ")
}

/// Text about health: messages resent since the node began, unreachable peers, and unhealthy interfaces, local ones first, each
/// with its health value or the reason.
fn health(sample: &Sample) -> String {
    let LnetStats { resend_count, response_timeout_count, .. } = sample.stats;
    let own = sample.nis.iter().filter(|ni| InterfaceState::of(ni) != InterfaceState::Active).map(|ni| {
        match ni.status {
            NiStatus::Down => format!("{} down", ni.nid),
            NiStatus::Up => format!("{} {}", ni.nid, ni.health.value),
        }
    });
    let unreachable =
        |peer: &&Peer| peer.reachability.is_some_and(|its| its.state == Reachability::Unreachable);
    let gone = sample.other_peers().filter(unreachable).map(|peer| {
        let seconds = peer.reachability.map_or(0, |its| its.seconds);
        format!("{} unreachable for {seconds} s", peer.primary)
    });
    let peers = sample.other_peers().filter(|peer| !unreachable(peer));
    let peers = peers.flat_map(|peer| &peer.nis).filter_map(|ni| {
        let unresponsive = ni.health.unresponsive_from.first();
        match (usable_health(ni), unresponsive) {
            _ if ni.reported_down => Some(format!("{} down", ni.nid)),
            (MAX_HEALTH.., None) => None,
            (MAX_HEALTH.., Some(own)) => Some(format!("{} unresponsive from {own}", ni.nid)),
            (health, _) => Some(format!("{} {health}", ni.nid)),
        }
    });
    let unhealthy: Vec<String> = gone.chain(own).chain(peers).collect();
    let resent = format!("resent {resend_count} msgs   unanswered {response_timeout_count}");
    match unhealthy.len() {
        0 => format!("{resent}   all healthy"),
        number => format!("{resent}   {number} unhealthy: {}", unhealthy.join(", ")),
    }
}

fn worst_health(peer: &Peer) -> u32 {
    peer.nis.iter().map(usable_health).min().unwrap_or(0)
}

/// The health that selection uses: 0 for a peer NI that its node reports as down.
const fn usable_health(ni: &lnet_dlc::request::PeerNi) -> u32 {
    if ni.reported_down { 0 } else { ni.health.value }
}
