//! A peer NI: one interface of another node, with all state that this node keeps about it.

mod credits;
mod path_marks;
mod preferences;

pub(crate) use path_marks::can_reach;

use super::exchange::{Exchange, ExchangeCell};
use super::failure_counts::CauseCounters;
use super::incarnation::KnownIncarnation;
use super::last_use::{LastUse, LatestUse};
use super::message::{MessagePool, OutgoingMessage, Pooled};
use super::path_state::UnresponsiveFrom;
use super::peer::{Peer, PeerCell, ReadyPaths};
use super::peer_ni_criteria::PeerNiCriteria;
use super::recovery_state::{Recovery, RecoveryState};
use super::routing_marks::RoutingMarks;
use super::sender_pace::SenderPace;
use crate::credit::WaivedLengths;
use crate::environment::time::Time;
use crate::stats::{Counters, Latencies};
use arc_swap::{ArcSwapOption, Guard};
use lnet_settings::MAX_HEALTH;
use lnet_wire::Nid;
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

    /// How large messages for other nodes arrive from the peer NI.
    pub(crate) const fn pace(&self) -> &SenderPace {
        &self.pace
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

    pub(crate) const fn recovery_state(&self) -> &RecoveryState {
        &self.recovery_state
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

    pub(crate) fn last_use(&self) -> &LastUse {
        self.criteria.last_use()
    }

    pub(crate) const fn criteria(&self) -> &Arc<Criteria> {
        &self.criteria
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
}

impl std::fmt::Debug for PeerNi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PeerNi").field("nid", &self.nid).finish_non_exhaustive()
    }
}
