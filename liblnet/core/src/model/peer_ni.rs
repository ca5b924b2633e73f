//! A peer NI: one interface of another node, with all state that this node keeps about it.

use super::exchange::{Exchange, ExchangeCell};
use super::failure_counts::CauseCounters;
use super::families::AddressFamily;
use super::incarnation::KnownIncarnation;
use super::last_use::{LastUse, LatestUse};
use super::message::{MessagePool, OutgoingMessage, Pooled};
use super::ni::Ni;
use super::partners::{Partner, Partners};
use super::path_state::UnresponsiveFrom;
use super::peer::{Peer, PeerCell, ReadyPaths};
use super::peer_ni_criteria::PeerNiCriteria;
use super::recovery_state::{Recovery, RecoveryState};
use super::routing_marks::RoutingMarks;
use super::sender_pace::SenderPace;
use crate::credit::{Credits, SharedPool, WaivedLengths};
use crate::environment::time::Time;
use crate::stats::{Counters, Latencies};
use arc_swap::{ArcSwapOption, Guard};
use lnet_settings::MAX_HEALTH;
use lnet_wire::Nid;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};

/// [`PeerNiCriteria`] with the messages to the peer NI.
pub(crate) type Criteria = PeerNiCriteria<Pooled<OutgoingMessage>>;

/// An interface of another node.
pub struct PeerNi {
    nid: Nid,
    number: u64,
    pub(crate) peer: PeerCell,
    criteria: Arc<Criteria>,
    /// The local NID on which a peer that is not multi-rail was first met (PS-30, OM-22).
    sticky: ArcSwapOption<Nid>,
    spare: MessagePool,
    /// The number of pending responses to the peer NI.
    pending_responses: AtomicU32,
    counters: Counters,
    latencies: Latencies,
    failures: CauseCounters,
    recovery_state: RecoveryState,
    exchange: ExchangeCell,
    incarnation: KnownIncarnation,
    unresponsive: UnresponsiveFrom,
    /// Whether nothing but recovery pings was sent to the peer NI.
    only_probed: AtomicBool,
    /// Whether the NID is the rest of a shortened IPv6 NID, which no node has.
    truncated: AtomicBool,
    /// The marks of the local NIs on which something has arrived from the peer NI since the path was last unresponsive.
    heard_by: AtomicU64,
    /// The marks of the local NIs on which anything has ever arrived from the peer NI.
    ever_heard_by: AtomicU64,
    /// The marks of the local NIs from which the peer NI is suspect: nothing has arrived since the path, or another one to the
    /// peer, became late or unresponsive.
    suspect_from: AtomicU64,
    /// The marks of those local NIs from which the path itself is late.
    late_from: AtomicU64,
    /// The number of times that connections to the peer NI have ended.
    connection_epoch: AtomicU32,
    /// Whether the peer has turned out not to accept origins, as it is of another implementation.
    takes_no_origins: AtomicBool,
    /// Whether the peer NI did not respond when it was last sent to over a gateway.
    unresponsive_behind_gateways: AtomicBool,
    /// The lowest number of router credits that the peer NI ever had.
    min_router_credits: AtomicI32,
    pace: SenderPace,
    waived: WaivedLengths,
    /// The findings of messages that pass gateways.
    routing: RoutingMarks,
}

impl PeerNi {
    pub(crate) fn new(nid: Nid, peer: Arc<Peer>, criteria: Arc<Criteria>) -> Self {
        Self {
            nid,
            number: peer.order.load(Ordering::Relaxed),
            peer: PeerCell::new(nid.net(), peer),
            criteria,
            sticky: ArcSwapOption::empty(),
            spare: MessagePool::default(),
            pending_responses: AtomicU32::new(0),
            counters: Counters::default(),
            latencies: Latencies::default(),
            failures: CauseCounters::default(),
            recovery_state: RecoveryState::default(),
            exchange: ExchangeCell::default(),
            incarnation: KnownIncarnation::default(),
            unresponsive: UnresponsiveFrom::default(),
            only_probed: AtomicBool::new(false),
            truncated: AtomicBool::new(false),
            heard_by: AtomicU64::new(0),
            ever_heard_by: AtomicU64::new(0),
            suspect_from: AtomicU64::new(0),
            late_from: AtomicU64::new(0),
            connection_epoch: AtomicU32::new(0),
            takes_no_origins: AtomicBool::new(false),
            unresponsive_behind_gateways: AtomicBool::new(false),
            min_router_credits: AtomicI32::new(i32::MAX),
            pace: SenderPace::default(),
            waived: WaivedLengths::default(),
            routing: RoutingMarks::default(),
        }
    }

    /// The lowest number of router credits when a message came from the peer NI; at first the configured number.
    pub(crate) fn min_router_credits(&self) -> i32 {
        self.min_router_credits.load(Ordering::Relaxed)
    }

    /// Records the present number of router credits.
    #[inline]
    pub(crate) fn note_router_credits(&self, credits: i64) {
        if credits < self.min_router_credits().into() {
            let credits = i32::try_from(credits).unwrap_or(i32::MIN);
            self.min_router_credits.fetch_min(credits, Ordering::Relaxed);
        }
    }

    /// How large messages for other nodes arrive from the peer NI.
    pub(crate) const fn pace(&self) -> &SenderPace {
        &self.pace
    }

    /// The messages to the peer NI that need no credits for now.
    pub(crate) const fn waived(&self) -> &WaivedLengths {
        &self.waived
    }

    /// The latest known incarnation of the peer NI's node.
    pub(crate) const fn incarnation(&self) -> &KnownIncarnation {
        &self.incarnation
    }

    /// A number that changes when connections to the peer NI have ended.
    pub(crate) fn connection_epoch(&self) -> u32 {
        self.connection_epoch.load(Ordering::SeqCst)
    }

    /// Records that connections to the peer NI have ended.
    pub(crate) fn note_connections_ended(&self) {
        self.connection_epoch.fetch_add(1, Ordering::SeqCst);
    }

    /// Whether messages that need their origins are not sent over the peer NI.
    pub(crate) fn takes_no_origins(&self) -> bool {
        self.takes_no_origins.load(Ordering::Relaxed)
    }

    /// Records whether the peer accepts origins.
    pub(crate) fn note_takes_origins(&self, takes: bool) {
        if takes == self.takes_no_origins() {
            self.takes_no_origins.store(!takes, Ordering::Relaxed);
        }
    }

    /// Whether the peer NI did not respond the last time it was sent to over a gateway that worked: it was not reached, or
    /// its response did not arrive in time.
    pub fn is_unresponsive_behind_gateways(&self) -> bool {
        self.unresponsive_behind_gateways.load(Ordering::Relaxed)
    }

    /// Stores that; returns whether it has changed.
    pub(crate) fn note_unresponsive_behind_gateways(&self, unresponsive: bool) -> bool {
        self.is_unresponsive_behind_gateways() != unresponsive
            && self.unresponsive_behind_gateways.swap(unresponsive, Ordering::Relaxed) != unresponsive
    }

    /// Counts a pending response.
    pub(crate) fn begin_response(&self) {
        self.pending_responses.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends a pending response.
    pub(crate) fn end_response(&self) {
        self.pending_responses.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether no message to the peer NI is in flight or waits, and no response to it is pending.
    pub(crate) fn is_idle(&self) -> bool {
        self.pending_responses() == 0 && self.criteria.tx.credits() >= self.criteria.tx.size()
    }

    /// The number of pending responses to the peer NI.
    pub(crate) fn pending_responses(&self) -> u32 {
        self.pending_responses.load(Ordering::Relaxed)
    }

    /// Whether the NID is the rest of a shortened IPv6 NID, which no node has: its requests are answered, and nothing else is sent to it.
    pub(crate) fn is_truncated(&self) -> bool {
        self.truncated.load(Ordering::Relaxed)
    }

    /// Stores whether the NID is the rest of a shortened one.
    pub(crate) fn set_truncated(&self, truncated: bool) {
        self.truncated.store(truncated, Ordering::Relaxed);
    }

    /// The NID of the peer NI.
    pub const fn nid(&self) -> Nid {
        self.nid
    }

    /// The peer that the peer NI belongs to.
    pub fn peer(&self) -> Arc<Peer> {
        self.peer.load_full()
    }

    /// The peer that the peer NI belongs to, for a short access.
    pub(crate) fn peer_now(&self) -> Guard<Arc<Peer>> {
        self.peer.load()
    }

    /// The primary NID of its peer.
    #[inline]
    pub fn primary(&self) -> Nid {
        self.peer.primary()
    }

    /// Whether its peer has no other NID.
    pub(crate) fn is_alone(&self) -> bool {
        self.peer.is_alone()
    }

    /// The most recent use of the NIs of its peer, if those are few and all on one net.
    #[inline(always)]
    pub(crate) fn latest_use_of_few(&self) -> Option<&LatestUse> {
        self.peer.latest_use_of_few()
    }

    /// A number that spreads peer NIs over the shards of counters.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// Available send credits.
    pub fn credits(&self) -> Credits {
        self.criteria.tx.credits()
    }

    /// The number of messages that may be in flight to the peer NI.
    pub fn max_credits(&self) -> u32 {
        self.criteria.tx.size().0.unsigned_abs()
    }

    /// The lowest number of send credits so far.
    pub fn min_credits(&self) -> Credits {
        self.criteria.tx.low_water()
    }

    /// Bytes that wait for a credit or are in flight, headers included.
    pub fn queued_bytes(&self) -> u64 {
        self.criteria.tx.bytes()
    }

    /// The health value: 0 to [`MAX_HEALTH`].
    pub fn health(&self) -> u32 {
        self.criteria.health.load(Ordering::Relaxed)
    }

    pub(crate) fn set_health(&self, value: u32) {
        self.criteria.health.store(value.min(MAX_HEALTH), Ordering::Relaxed);
    }

    /// Whether the peer reports the peer NI as down.
    pub fn is_reported_down(&self) -> bool {
        self.criteria.is_reported_down()
    }

    /// The health value, or 0 while the peer reports the peer NI as down.
    pub(crate) fn usable_health(&self) -> u32 {
        self.criteria.usable_health()
    }

    pub(crate) fn set_reported_down(&self, down: bool) {
        self.criteria.reported_down.store(down, Ordering::Relaxed);
        self.peer.load().discovery.revision.note_change();
    }

    /// The message counters.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The delays of messages to and from the peer NI.
    pub const fn latencies(&self) -> &Latencies {
        &self.latencies
    }

    /// The failures by cause: the remote ones, and [`crate::Cause::NetworkTimeout`].
    pub const fn failures(&self) -> &CauseCounters {
        &self.failures
    }

    /// The time of the next recovery ping, if the peer NI is unhealthy.
    pub fn recovery(&self) -> Recovery {
        self.recovery_state.get()
    }

    /// The local NIDs from which the peer NI is unresponsive: these paths are used only if there are no others.
    pub fn unresponsive_from(&self) -> Vec<Nid> {
        self.unresponsive.all().into_iter().map(|(local, _)| local).collect()
    }

    pub(crate) const fn unresponsive(&self) -> &UnresponsiveFrom {
        &self.unresponsive
    }

    pub(crate) const fn recovery_state(&self) -> &RecoveryState {
        &self.recovery_state
    }

    /// Whether something has arrived from the peer NI on this interface since the path was last unresponsive.
    pub(crate) fn was_heard_by(&self, ni: &Ni) -> bool {
        self.heard_by.load(Ordering::Relaxed) & ni.mark() != 0
    }

    pub(crate) fn note_heard_by(&self, ni: &Ni) {
        if !self.was_heard_by(ni) {
            self.heard_by.fetch_or(ni.mark(), Ordering::Relaxed);
            self.ever_heard_by.fetch_or(ni.mark(), Ordering::Relaxed);
        }
        self.trust_from(ni);
    }

    /// Whether anything has ever arrived from the peer NI on this interface.
    pub(crate) fn was_ever_heard_by(&self, ni: &Ni) -> bool {
        self.ever_heard_by.load(Ordering::Relaxed) & ni.mark() != 0
    }

    /// Whether the path from this interface is suspect: it is late, or another path to the peer has become late or
    /// unresponsive.
    pub(crate) fn is_suspect_from(&self, ni: &Ni) -> bool {
        self.suspect_from.load(Ordering::Relaxed) & ni.mark() != 0
    }

    /// Marks the path from this interface as suspect. Returns whether it was not.
    pub(crate) fn suspect_from(&self, ni: &Ni) -> bool {
        self.suspect_from.fetch_or(ni.mark(), Ordering::Relaxed) & ni.mark() == 0
    }

    /// Whether the path from this interface is late: something is in flight on it, and its driver receives nothing.
    pub(crate) fn is_late_from(&self, ni: &Ni) -> bool {
        self.late_from.load(Ordering::Relaxed) & ni.mark() != 0
    }

    /// Marks the path from this interface as late, and with that as suspect. Returns whether it was not late.
    pub(crate) fn late_from(&self, ni: &Ni) -> bool {
        self.suspect_from(ni);
        self.late_from.fetch_or(ni.mark(), Ordering::Relaxed) & ni.mark() == 0
    }

    /// Clears the marks of the path from this interface as suspect and late. Called for every message that arrives.
    pub(crate) fn trust_from(&self, ni: &Ni) {
        if self.is_suspect_from(ni) {
            self.late_from.fetch_and(!ni.mark(), Ordering::Relaxed);
            self.suspect_from.fetch_and(!ni.mark(), Ordering::Relaxed);
        }
    }

    pub(crate) fn note_not_heard_by(&self, ni: &Ni) {
        self.heard_by.fetch_and(!ni.mark(), Ordering::Relaxed);
    }

    /// Whether anything has ever arrived from the peer NI.
    pub(crate) fn was_heard(&self) -> bool {
        self.exchange() == Exchange::Responded
    }

    /// The state of the exchange of messages with the peer NI.
    pub(crate) fn exchange(&self) -> Exchange {
        self.exchange.get()
    }

    /// Records that a message takes the peer NI's credit: it is about to be sent, or waits.
    pub(crate) fn note_sent(&self) {
        self.exchange.advance(Exchange::Sent);
    }

    /// Records that something has arrived from the peer NI, so its recovery pings start again (HE-52). Returns whether the
    /// next one comes sooner.
    pub(crate) fn note_heard(&self, now: impl FnOnce() -> Time) -> bool {
        self.exchange.advance(Exchange::Responded);
        self.recovery_state.heard(now)
    }

    /// Whether nothing but recovery pings was sent to the peer NI.
    pub(crate) fn is_only_probed(&self) -> bool {
        self.only_probed.load(Ordering::Relaxed)
    }

    /// Records that something is sent to the peer NI, a recovery ping or not; it may have been added for that. Returns
    /// whether this is the first message after recovery pings only.
    pub(crate) fn note_use(&self, is_new: bool, is_try: bool) -> bool {
        if is_new {
            self.only_probed.store(true, Ordering::Relaxed);
        }
        !is_try && self.is_only_probed() && self.only_probed.swap(false, Ordering::Relaxed)
    }

    /// Whether the peer NI was ready at this [revision](super::PeerRevision): requests to it need not wait for discovery, all NIDs of its peer
    /// are on one net, and either its peer is multi-rail, or it is the only one of its peer and bound to the only interface on its net.
    #[inline(always)]
    pub(crate) fn was_ready_at(&self, revision: u64) -> bool {
        self.peer.readiness().was_at(revision)
    }

    /// Records that the peer NI was ready at this revision, the present one of `peer` or an earlier one, with these paths.
    pub(crate) fn note_ready(&self, revision: u64, paths: ReadyPaths, peer: &Peer) {
        self.peer.readiness().note(revision, paths, &peer.discovery.revision);
    }

    /// Calls `look` with the paths that [`PeerNi::note_ready`] has recorded at this revision.
    #[inline(always)]
    pub(crate) fn with_ready_paths<R>(
        &self,
        revision: u64,
        look: impl FnOnce(&ReadyPaths) -> Option<R>,
    ) -> Option<R> {
        self.peer.readiness().with_paths(revision, look)
    }

    /// Lets go of what [`PeerNi::note_ready`] has recorded.
    pub(crate) fn forget_ready_paths(&self) {
        self.peer.readiness().forget();
    }

    /// The findings about the peer NI of messages that pass gateways.
    #[inline(always)]
    pub(crate) const fn routing(&self) -> &RoutingMarks {
        &self.routing
    }

    /// The priority by selection rules; `u32::MAX` is the lowest.
    pub fn priority(&self) -> u32 {
        self.criteria.priority()
    }

    /// The number of messages in a turn of the peer NI among those of its peer on its net, if selection rules count messages
    /// there.
    pub fn messages_of_turn(&self) -> Option<NonZeroU32> {
        self.criteria.turn().messages()
    }

    pub(crate) fn set_priority(&self, priority: u32) {
        self.criteria.priority.store(priority, Ordering::Relaxed);
    }

    pub(crate) fn last_use(&self) -> &LastUse {
        self.criteria.last_use()
    }

    pub(crate) const fn criteria(&self) -> &Arc<Criteria> {
        &self.criteria
    }

    /// The partners that selection rules name; `None` if they name none.
    pub fn partners(&self) -> Option<Arc<Partners>> {
        self.criteria.partners.load_full()
    }

    /// Sets the preferred local NIDs. If they have not changed they keep their turns, and so do the gateways.
    pub(crate) fn set_preferred_nids(&self, nids: Vec<Partner>) {
        self.change_partners(|now| (*now.nids != nids).then(|| now.with_nids(nids)));
    }

    /// Sets the preferred gateways, as [`PeerNi::set_preferred_nids`] does.
    pub(crate) fn set_preferred_gateways(&self, gateways: Vec<Partner>) {
        self.change_partners(|now| (*now.gateways != gateways).then(|| now.with_gateways(gateways)));
    }

    fn change_partners(&self, change: impl FnOnce(&Partners) -> Option<Partners>) {
        let changed = match self.criteria.partners.load().as_deref() {
            Some(now) => change(now),
            None => change(&Partners::default()),
        };
        if let Some(partners) = changed {
            let partners = Some(partners).filter(|partners| !partners.is_empty());
            self.criteria.has_partners.store(partners.is_some(), Ordering::Relaxed);
            self.criteria.partners.store(partners.map(Arc::new));
        }
    }

    /// Whether rules prefer this local NID for the peer NI.
    pub(crate) fn prefers_local(&self, nid: Nid) -> bool {
        self.criteria.partners.load().as_deref().is_some_and(|its| its.nids.iter().any(|its| its.nid == nid))
    }

    /// Whether rules prefer this gateway for the peer NI.
    pub(crate) fn prefers_gateway(&self, nid: Nid) -> bool {
        self.criteria
            .partners
            .load()
            .as_deref()
            .is_some_and(|its| its.gateways.iter().any(|its| its.nid == nid))
    }

    /// The local NID that the peer NI is bound to, if its peer is not multi-rail (PS-30).
    pub(crate) fn sticky(&self) -> Option<Nid> {
        self.sticky.load().as_deref().copied()
    }

    #[cold]
    pub(crate) fn set_sticky(&self, local: Option<Nid>) {
        self.sticky.store(local.map(Arc::new));
        self.peer.load().discovery.revision.note_change();
    }

    /// The pool of messages for the peer NI.
    pub(crate) const fn spare(&self) -> &MessagePool {
        &self.spare
    }

    pub(crate) fn tx(&self) -> &SharedPool<Pooled<OutgoingMessage>> {
        self.criteria.tx()
    }
}

impl std::fmt::Debug for PeerNi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PeerNi").field("nid", &self.nid).finish_non_exhaustive()
    }
}

/// Whether there is a path from this interface to a peer NI on its net: the interface reaches the family of the NID, or messages have
/// come from the NID on this interface.
#[inline]
pub(crate) fn can_reach(ni: &Ni, peer_ni: &PeerNi) -> bool {
    ni.reaches(AddressFamily::of(peer_ni.nid())) || peer_ni.was_ever_heard_by(ni)
}
