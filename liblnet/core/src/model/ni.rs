//! A network interface of this node.

use super::failure_counts::CauseCounters;
use super::families::{AddressFamilies, AddressFamily};
use super::last_use::LastUse;
use super::lnd::{LndNi, StartError, start_error};
use super::message::{OutgoingMessage, Pooled};
use super::message_turn::MessageTurn;
use super::net_usage::NetUsage;
use super::priority::LOWEST_PRIORITY;
use super::recovery_state::{Recovery, RecoveryState};
use crate::credit::{Credits, SharedNiPool, ni_credits_per_cpt};
use crate::stats::{Counters, Latencies};
use lnet_settings::MAX_HEALTH;
use lnet_wire::nid::{Address, cpt_of_nid};
use lnet_wire::{Errno, Nid};
use std::net::IpAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The tunables of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NiTunables {
    /// The number of messages that the driver may have at a time, for the interface (`credits`).
    pub credits: u32,
    /// The number of messages that the driver may have at a time, for each peer NI (`peer_credits`).
    pub peer_credits: u32,
    /// Router buffers that one peer may occupy; 0: as many as `peer_credits` (`peer_buffer_credits`).
    pub peer_buffer_credits: u32,
    /// The seconds without a message after which a router treats a peer as down; 0: never (`peer_timeout`).
    pub peer_timeout: u32,
    /// For drivers with connections: the number of connections to each peer NI; `None`: the driver's setting.
    pub conns_per_peer: Option<u16>,
}

impl NiTunables {
    /// The router buffers of one CPT that a peer may occupy.
    pub(crate) const fn router_share(&self) -> u32 {
        if self.peer_buffer_credits > 0 { self.peer_buffer_credits } else { self.peer_credits }
    }
}

impl Default for NiTunables {
    fn default() -> Self {
        Self {
            credits: 256,
            peer_credits: 8,
            peer_buffer_credits: 0,
            peer_timeout: 180,
            conns_per_peer: None,
        }
    }
}

/// Who reports that an interface has a fatal error. Each recovers for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FatalReporter {
    /// The host: the link or the address is gone.
    Host = 1,
    /// The driver: the device cannot be used.
    Driver = 2,
}

/// The configuration of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NiConfig {
    /// The tunables.
    pub tunables: NiTunables,
    /// The numbers that an operator gives the driver for this interface, by the driver's names for them.
    pub lnd_numbers: Vec<(&'static str, u32)>,
    /// The name of the network interface of the machine, if it has one.
    pub interface: Option<String>,
    /// The CPU partitions that the interface is bound to; empty: all (cfg-025, cfg-035).
    pub cpts: Vec<u32>,
    /// The CPU partition of the interface's device, if known.
    pub device_cpt: Option<u32>,
    /// The link of the machine that has the interface's address, unless that is the loopback.
    pub device: Option<String>,
    /// The IP address that the driver uses, on whose link and address the state of the interface depends.
    pub ip_address: Option<IpAddr>,
}

impl From<NiTunables> for NiConfig {
    fn from(tunables: NiTunables) -> Self {
        Self { tunables, ..Self::default() }
    }
}

/// A network interface of this node.
pub struct Ni {
    nid: Nid,
    config: NiConfig,
    health: AtomicU32,
    /// The reporters of a fatal error, a bit for each.
    fatal: AtomicU8,
    /// Whether other nodes reach this node on the interface's net, as far as a router can tell.
    net_alive: AtomicBool,
    /// Whether the interface is reported as down because of its health.
    reported_unhealthy: AtomicBool,
    /// One bit of 64 that distinguishes the interface from the node's other interfaces.
    mark: AtomicU64,
    /// The prefix length of the machine's address; 0: unknown.
    prefix_len: AtomicU32,
    /// The bits of the families of NIDs that the interface reaches.
    families: AtomicU8,
    lnd: OnceLock<Arc<dyn LndNi>>,
    down: AtomicBool,
    tx: Box<[SharedNiPool<Pooled<OutgoingMessage>>]>,
    /// The credits over all CPU partitions when none is in use.
    max_credits: Credits,
    /// The priority by selection rules.
    priority: AtomicU32,
    /// The interface's turn among the interfaces on its net.
    turn: MessageTurn,
    /// The last use of the interface among the interfaces of this node.
    last_use: LastUse,
    /// The use of the net that the interface is on.
    net_usage: OnceLock<Arc<NetUsage>>,
    counters: Counters,
    latencies: Latencies,
    failures: CauseCounters,
    recovery_state: RecoveryState,
}

impl Ni {
    /// An interface without a driver, on a node with `cpts` CPU partitions. [`Errno::Invalid`] for no credits (CR-2)
    /// and for a partition that does not exist.
    pub(crate) fn new(nid: Nid, config: NiConfig, cpts: NonZeroUsize) -> Result<Self, StartError> {
        let tunables = config.tunables;
        if tunables.credits == 0 || tunables.peer_credits == 0 {
            return Err(start_error!(
                Errno::Invalid,
                "NI {nid}: not started (credits and peer_credits must be at least 1)"
            ));
        }
        if let Some(wrong) = config.cpts.iter().find(|cpt| **cpt as usize >= cpts.get()) {
            let last = cpts.get() - 1;
            return Err(start_error!(
                Errno::Invalid,
                "NI {nid}: not started (CPT {wrong} is not within 0 to {last}, which are the node's CPU partitions)"
            ));
        }
        let bound_to = NonZeroUsize::new(config.cpts.len()).unwrap_or(cpts);
        let per_cpt = ni_credits_per_cpt(tunables.credits, tunables.peer_credits, bound_to);
        let tx: Box<[_]> = (0..bound_to.get()).map(|_| SharedNiPool::new(per_cpt)).collect();
        let max_credits = Credits(tx.iter().map(|pool| pool.credits().0).sum());
        Ok(Self {
            nid,
            config,
            health: AtomicU32::new(MAX_HEALTH),
            fatal: AtomicU8::new(0),
            net_alive: AtomicBool::new(true),
            reported_unhealthy: AtomicBool::new(false),
            mark: AtomicU64::new(0),
            prefix_len: AtomicU32::new(0),
            families: AtomicU8::new(AddressFamilies::only(AddressFamily::of(nid)).bits()),
            lnd: OnceLock::new(),
            down: AtomicBool::new(false),
            tx,
            max_credits,
            priority: AtomicU32::new(LOWEST_PRIORITY),
            turn: MessageTurn::default(),
            last_use: LastUse::default(),
            net_usage: OnceLock::new(),
            counters: Counters::default(),
            latencies: Latencies::default(),
            failures: CauseCounters::default(),
            recovery_state: RecoveryState::default(),
        })
    }

    /// The NID of the interface. For TCP the address part is the IP address to bind.
    pub const fn nid(&self) -> Nid {
        self.nid
    }

    /// The tunables of the interface.
    pub const fn tunables(&self) -> NiTunables {
        self.config.tunables
    }

    /// The configuration of the interface.
    pub const fn config(&self) -> &NiConfig {
        &self.config
    }

    /// The health value: 0 to [`MAX_HEALTH`].
    pub fn health(&self) -> u32 {
        self.health.load(Ordering::Relaxed)
    }

    pub(crate) fn set_health(&self, value: u32) {
        self.health.store(value.min(MAX_HEALTH), Ordering::Relaxed);
    }

    /// Whether the interface has a fatal error, as its driver or the machine reports. It is used only if all others on its net
    /// have one.
    pub fn is_fatal(&self) -> bool {
        self.fatal.load(Ordering::Relaxed) != 0
    }

    /// Whether the interface is reported as up, to peers and in output. It is also reported as down where no node reaches
    /// this router (RT-32), and where it has no health.
    pub fn is_reported_up(&self) -> bool {
        !self.is_fatal() && self.net_alive.load(Ordering::Relaxed) && !self.is_reported_unhealthy()
    }

    /// Whether the interface is reported as down because of its health.
    pub(crate) fn is_reported_unhealthy(&self) -> bool {
        self.reported_unhealthy.load(Ordering::Relaxed)
    }

    pub(crate) fn set_reported_unhealthy(&self, unhealthy: bool) {
        self.reported_unhealthy.store(unhealthy, Ordering::Relaxed);
    }

    pub(crate) fn set_net_alive(&self, alive: bool) {
        self.net_alive.store(alive, Ordering::Relaxed);
    }

    /// Stores whether `reporter` knows of a fatal error.
    pub(crate) fn set_fatal(&self, reporter: FatalReporter, fatal: bool) {
        let bit = reporter as u8;
        match fatal {
            true => self.fatal.fetch_or(bit, Ordering::Relaxed),
            false => self.fatal.fetch_and(!bit, Ordering::Relaxed),
        };
    }

    /// Those who know of a fatal error.
    pub(crate) fn fatal_reporters(&self) -> impl Iterator<Item = FatalReporter> {
        let bits = self.fatal.load(Ordering::Relaxed);
        [FatalReporter::Host, FatalReporter::Driver].into_iter().filter(move |it| bits & *it as u8 != 0)
    }

    /// The number of connections to each peer NI, if the driver has connections.
    pub fn conns_per_peer(&self) -> Option<u16> {
        self.lnd().and_then(LndNi::conns_per_peer)
    }

    /// The driver's numbers for the interface.
    pub fn lnd_numbers(&self) -> Vec<(&'static str, u32)> {
        self.lnd().map_or_else(Vec::new, LndNi::numbers)
    }

    /// The delays of messages by the interface.
    pub const fn latencies(&self) -> &Latencies {
        &self.latencies
    }

    /// The message counters.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The failures by cause: the local ones, and [`crate::Cause::NetworkTimeout`].
    pub const fn failures(&self) -> &CauseCounters {
        &self.failures
    }

    /// The time of the next recovery ping, if the interface is unhealthy.
    pub fn recovery(&self) -> Recovery {
        self.recovery_state.get()
    }

    pub(crate) const fn recovery_state(&self) -> &RecoveryState {
        &self.recovery_state
    }

    /// Sets the number of the interface. With more than 64 interfaces some have the same mark.
    pub(crate) fn set_number(&self, number: u32) {
        self.mark.store(1 << (number % u64::BITS), Ordering::Relaxed);
    }

    pub(crate) fn mark(&self) -> u64 {
        self.mark.load(Ordering::Relaxed)
    }

    /// Sets the prefix length of the interface's link: addresses with the same prefix are neighbours. Until then the
    /// interface has no known neighbours.
    pub fn set_prefix_len(&self, bits: u32) {
        self.prefix_len.store(bits, Ordering::Relaxed);
    }

    /// Whether the NID is known to be on the same link.
    pub(crate) fn is_neighbour(&self, nid: Nid) -> bool {
        let bits = self.prefix_len.load(Ordering::Relaxed);
        bits > 0 && nid.net() == self.nid.net() && share_prefix(self.nid, nid, bits)
    }

    /// Available send credits, over all CPU partitions: the configured number, less the messages that are with the
    /// driver or wait for it.
    pub fn credits(&self) -> Credits {
        match &self.tx[..] {
            [only] => only.credits(),
            pools => Credits(pools.iter().map(|pool| pool.credits().0).sum()),
        }
    }

    /// The credits over all CPU partitions when none is in use.
    pub(crate) const fn max_credits(&self) -> Credits {
        self.max_credits
    }

    /// The lowest value of the credits: the sum of the lowest values of all partitions.
    pub fn min_credits(&self) -> Credits {
        Credits(self.tx.iter().map(|pool| pool.low_water().0).sum())
    }

    /// The driver, from its start until its shutdown.
    pub(crate) fn lnd(&self) -> Option<&dyn LndNi> {
        if self.down.load(Ordering::Acquire) { None } else { self.lnd.get().map(|lnd| &**lnd) }
    }

    /// Sets the number of connections to each peer NI, if the driver has connections: see
    /// [`LndNi::set_conns_per_peer`].
    pub fn set_conns_per_peer(&self, connections: u16) {
        if let Some(lnd) = self.lnd() {
            lnd.set_conns_per_peer(connections);
        }
    }

    /// The priority by selection rules; `u32::MAX` is none.
    pub fn priority(&self) -> u32 {
        self.priority.load(Ordering::Relaxed)
    }

    /// The number of messages in a turn of the interface among those on its net, if selection rules count messages there.
    pub fn messages_of_turn(&self) -> Option<NonZeroU32> {
        self.turn.messages()
    }

    pub(crate) fn set_priority(&self, priority: u32) {
        self.priority.store(priority, Ordering::Relaxed);
    }

    pub(crate) const fn turn(&self) -> &MessageTurn {
        &self.turn
    }

    pub(crate) const fn last_use(&self) -> &LastUse {
        &self.last_use
    }

    /// Sets the use of the net that the interface is on.
    pub(super) fn set_net_usage(&self, usage: &Arc<NetUsage>) {
        // Called once, when the interface is added to the net.
        let _ = self.net_usage.set(Arc::clone(usage));
    }

    /// The most recent use of the other interfaces on its net.
    pub(crate) fn latest_use_of_others(&self) -> u64 {
        self.net_usage.get().map_or(0, |usage| usage.latest_ni_use().of_others(&self.last_use))
    }

    /// Records that the interface is used now; `others` is the most recent use of those that are selected in turn with it.
    pub(crate) fn note_use(&self, others: u64) {
        if let Some(usage) = self.net_usage.get() {
            usage.latest_ni_use().note_after(&self.last_use, others);
        }
    }

    /// Records that the interface is used now, among those on its net only.
    #[inline]
    pub(crate) fn note_turn(&self) {
        if let Some(usage) = self.net_usage.get() {
            usage.latest_ni_use().note_turn(&self.last_use);
        }
    }

    /// The families of NIDs that the interface reaches: that of its own NID, and those that its driver names.
    pub fn families(&self) -> AddressFamilies {
        AddressFamilies::from_bits(self.families.load(Ordering::Relaxed))
    }

    /// Whether the interface reaches NIDs of this family.
    pub fn reaches(&self, family: AddressFamily) -> bool {
        self.families().contains(family)
    }

    /// Adds families to those that the interface reaches.
    pub(crate) fn add_families(&self, others: AddressFamilies) {
        self.families.fetch_or(others.bits(), Ordering::Relaxed);
    }

    pub(crate) fn set_lnd(&self, lnd: Arc<dyn LndNi>) {
        self.add_families(lnd.other_families());
        // Called once, by the thread that starts the interface.
        let _ = self.lnd.set(lnd);
    }

    /// Stops sending; returns the driver, which the caller shuts down.
    pub(crate) fn take_down(&self) -> Option<&dyn LndNi> {
        self.down.store(true, Ordering::Release);
        self.lnd.get().map(|lnd| &**lnd)
    }

    /// The CPU partition that handles messages to or from `nid` on this interface, among those that the interface is bound to
    /// (OM-11).
    pub fn cpt_of(&self, nid: Nid) -> u32 {
        let place = self.place_of(nid);
        self.config.cpts.get(place).copied().unwrap_or(place as u32)
    }

    /// The send credits for messages whose next hop is `nid` (PS-40).
    #[inline]
    pub(crate) fn tx(&self, nid: &Nid) -> &SharedNiPool<Pooled<OutgoingMessage>> {
        match &self.tx[..] {
            [only] => only,
            pools => &pools[self.place_of(*nid)],
        }
    }

    /// The index of the partition among those that the interface is bound to.
    fn place_of(&self, nid: Nid) -> usize {
        match NonZeroUsize::new(self.tx.len()) {
            None | Some(NonZeroUsize::MIN) => 0,
            Some(bound_to) => cpt_of_nid(nid, bound_to),
        }
    }

    pub(crate) fn all_tx(&self) -> &[SharedNiPool<Pooled<OutgoingMessage>>] {
        &self.tx
    }
}

impl std::fmt::Debug for Ni {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ni").field("nid", &self.nid).finish_non_exhaustive()
    }
}

/// Whether the first `bits` bits of two addresses are equal.
fn share_prefix(a: Nid, b: Nid, bits: u32) -> bool {
    let same = |a: u128, b: u128, width: u32| {
        let rest = width.saturating_sub(bits);
        a.checked_shr(rest).unwrap_or(0) == b.checked_shr(rest).unwrap_or(0)
    };
    match (a.address(), b.address()) {
        (Address::Short(a), Address::Short(b)) => same(a.into(), b.into(), 32),
        (Address::Long(a), Address::Long(b)) => same(u128::from_be_bytes(a), u128::from_be_bytes(b), 128),
        _ => false,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_has_an_address_with_the_same_prefix() {
        let nid = |text: &str| text.parse::<Nid>().unwrap();
        let a = nid("10.1.2.3@tcp");
        let table = [("10.1.2.200@tcp", 24, true), ("10.1.3.3@tcp", 24, false), ("10.1.3.3@tcp", 16, true)];
        for (other, bits, expected) in table {
            assert_eq!(share_prefix(a, nid(other), bits), expected, "{other}/{bits}");
        }
        assert!(share_prefix(a, nid("1.2.3.4@tcp"), 0) && !share_prefix(a, nid("10.1.2.2@tcp"), 32));
    }
}
