//! The state of the live view, which is derived from samples and keys. Pure, with the time as an argument.

use crate::cli::Sort;
use lnet_dlc::ops::sample::{Rate, Rates, Sample};
use lnet_dlc::request::{LnetStats, LocalNi, NiState, NiStatus, Peer};
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

/// The health value of an interface that never failed, or has recovered.
const MAX_HEALTH: u32 = 1000;

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

/// A delay in the largest unit that keeps it at 1 or more.
fn time(delay: Duration) -> String {
    match delay.as_nanos() {
        0..1000 => format!("{} ns", delay.as_nanos()),
        1000..1_000_000 => format!("{} us", delay.as_micros()),
        1_000_000..1_000_000_000 => format!("{} ms", delay.as_millis()),
        _ => format!("{} s", delay.as_secs()),
    }
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

/// The bar of each row: its part of the fastest one's rate, by bytes, or by messages where no bytes go.
fn set_shares(rows: &mut [Row]) {
    let of = |bytes: bool, row: &Row| if bytes { row.rate.bytes() } else { row.rate.messages() };
    let bytes = rows.iter().any(|row| row.rate.bytes() > 0.0);
    let most = rows.iter().map(|row| of(bytes, row)).fold(0.0, f64::max);
    for row in rows {
        row.share = if most > 0.0 { of(bytes, row) / most } else { 0.0 };
    }
}

/// The content of the screen, as text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// The node's name; empty while none was seen.
    pub node: String,
    /// The time since the view began, and the interval between samples.
    pub watching: String,
    /// Whether the picture stands still.
    pub paused: bool,
    /// The node's message counters since it began.
    pub totals: String,
    /// The node's message and byte rates in the last interval.
    pub rates: String,
    /// The delays of requests in the last interval.
    pub delays: String,
    /// Resent messages, unreachable peers, and unhealthy interfaces.
    pub health: String,
    /// The node's interfaces, net by net.
    pub rails: Vec<Row>,
    /// Peers, in order.
    pub peers: Vec<Row>,
    /// The number of all peers, sampled or not.
    pub peer_count: usize,
    /// Peers above the first that is shown.
    pub skipped: usize,
    /// The name of the peers' order.
    pub sort: &'static str,
    /// The reason why the last sample failed.
    pub problem: Option<String>,
}

/// A rail or a peer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The interface's NID; the primary NID of a peer.
    pub nid: String,
    /// The name of an interface; for a peer, the number of its NIDs.
    pub detail: String,
    /// The state of the interface.
    pub state: InterfaceState,
    /// The health value, 0 to 1000.
    pub health: String,
    /// The send credits: now, and the lowest number so far.
    pub credits: String,
    /// Messages per second, in both directions.
    pub messages: String,
    /// MiB sent per second.
    pub sent: String,
    /// MiB received per second.
    pub received: String,
    /// The rate as a part of the fastest row's, 0 to 1.
    pub share: f64,
    rate: Rate,
}

impl Row {
    fn with_rate(rate: Rate) -> Self {
        Self {
            messages: count(rate.messages()),
            sent: mib(rate.sent_bytes),
            received: mib(rate.received_bytes),
            rate,
            ..Self::default()
        }
    }
}

/// The state of an interface (dbg-030): derived, not stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InterfaceState {
    /// The interface works.
    #[default]
    Active,
    /// The interface works, but its health is below 1000.
    Degraded,
    /// The interface does not work.
    Failed,
    /// A peer to which no path can be used.
    Unreachable,
    /// A peer from which nothing has ever arrived.
    Unknown,
}

impl InterfaceState {
    /// The state of a local interface: as the node reports it, or derived from its health if the node reports none.
    fn of(ni: &LocalNi) -> Self {
        match ni.health.state {
            Some(NiState::Active) => Self::Active,
            Some(NiState::Degraded) => Self::Degraded,
            Some(NiState::Failed) => Self::Failed,
            None => {
                let no_health = ni.nid.is_loopback();
                let broken = ni.status == NiStatus::Down || ni.health.fatal_error;
                match no_health {
                    true => Self::new(broken, MAX_HEALTH),
                    false => Self::new(broken || ni.health.value == 0, ni.health.value),
                }
            }
        }
    }

    const fn new(broken: bool, health: u32) -> Self {
        match (broken, health) {
            (true, _) => Self::Failed,
            (false, 0..MAX_HEALTH) => Self::Degraded,
            (false, _) => Self::Active,
        }
    }

    /// The state in at most four letters.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Active => "up",
            Self::Degraded => "degr",
            Self::Failed => "fail",
            Self::Unreachable => "down",
            Self::Unknown => "unkn",
        }
    }
}

/// An interval that people can read.
fn seconds(time: Duration) -> String {
    let text = format!("{:.1}", time.as_secs_f64());
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// A time as hours, minutes and seconds.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// A number in at most six characters.
fn count(number: f64) -> String {
    match number {
        0.0..9.95 if number.fract() != 0.0 => format!("{number:.1}"),
        ..999_999.5 => format!("{number:.0}"),
        ..999_950_000.0 => format!("{:.1}M", number / 1e6),
        _ => format!("{:.1}G", number / 1e9),
    }
}

/// MiB in at most seven characters.
fn mib(bytes: f64) -> String {
    let mib = bytes / f64::from(1 << 20);
    match mib {
        ..9999.995 => format!("{mib:.2}"),
        _ => format!("{mib:.0}"),
    }
}

/// A number of bytes with a unit.
fn size(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = bytes as f64;
    let mut name = "B";
    for unit in units {
        if value < 1024.0 {
            break;
        }
        (value, name) = (value / 1024.0, unit);
    }
    if name == "B" { format!("{bytes} B") } else { format!("{value:.1} {name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_within_their_columns() {
        let table = [
            (0.0, "0"),
            (0.5, "0.5"),
            (3.0, "3"),
            (9.96, "10"),
            (999_999.0, "999999"),
            (1.5e6, "1.5M"),
            (2e9, "2.0G"),
        ];
        for (number, expected) in table {
            assert_eq!(count(number), expected, "{number}");
        }
        let table = [(0.0, "0.00"), (1048576.0, "1.00"), (12e9, "11444"), (1e3, "0.00"), (1e4, "0.01")];
        for (bytes, expected) in table {
            assert_eq!(mib(bytes), expected, "{bytes}");
        }
        let table = [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (u64::MAX, "16.0 EiB")];
        for (bytes, expected) in table {
            assert_eq!(size(bytes), expected, "{bytes}");
        }
        assert_eq!(clock(Duration::from_secs(3661)), "01:01:01");
    }

    #[test]
    fn a_state_is_derived_from_health() {
        let table = [
            ((false, 1000), InterfaceState::Active),
            ((false, 999), InterfaceState::Degraded),
            ((false, 0), InterfaceState::Degraded),
            ((true, 1000), InterfaceState::Failed),
        ];
        for ((broken, health), expected) in table {
            assert_eq!(InterfaceState::new(broken, health), expected, "{broken} {health}");
        }
    }
}
