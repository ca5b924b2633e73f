//! Discovery's pings and pushes: their paths, and the events of their MDs.

use super::queue::PendingRequest;
use super::{Discovery, Input, Step};
use crate::environment::Environment;
use crate::memory::{EqHandle, MdHandle, MdMemory, MdOptions, MdSpec, RecvBuffer};
use crate::model::{DiscoveryState, Ni, Peer, PeerState, can_reach};
use crate::select;
use crate::sync::lock;
use crate::topology::Topology;
use lnet_log::LogClass;
use lnet_settings::Settings;
use lnet_wire::ping_info::{PingInfo, ReceivedPingInfo, max_kept_len};
use lnet_wire::{Errno, MAX_PAYLOAD, Nid};
use std::sync::Arc;
use std::time::Duration;

/// The time that a gateway has to answer all pings and pushes of a check: a slower gateway is of no use.
const CHECK_TIMEOUT: Duration = Duration::from_secs(6);

/// Methods that begin requests.
impl Discovery {
    /// The path of a ping and the size of its REPLY buffer. The path is that of the last push, if the ping verifies a push; on
    /// the checked net, if the ping checks a net; to the primary NID, if the peer has restarted.
    pub(super) fn ping_path(&self, topology: &Topology, peer: &Peer) -> (Option<(Nid, Nid)>, u32) {
        let (len, push_path, net, restarted) = peer.discovery.with(|inner| {
            let progress = &mut inner.progress;
            let is_first = progress.restarted && progress.failures == 0;
            (progress.reply_buffer_len(), progress.push_path.take(), progress.check_net.take(), is_first)
        });
        let on_net = || topology.with_nets(|nets| select::best_path_on(nets, peer, net?));
        // Another one of the peer's former NIDs may be another node's.
        let to_primary = || {
            let primary = peer.primary_ni().filter(|_| restarted)?;
            let source = topology.with_nets(|nets| select::best_source(nets, &primary, true))?;
            Some((source, primary.nid()))
        };
        // The push may have come from a NID that is not known to be the peer's.
        (path(topology, peer, push_path.or_else(on_net).or_else(to_primary)), len)
    }

    /// The path of a push: the reversed path of the last REPLY to a ping, if there was one.
    pub(super) fn push_path(&self, topology: &Topology, peer: &Peer) -> Option<(Nid, Nid)> {
        let last = peer.discovery.with(|inner| inner.progress.path.take());
        path(topology, peer, last.filter(|(_, remote)| peer.nids.contains(remote)))
    }

    /// Stores a ping to `nid` with the REPLY buffer `reply`; returns its number, which is also the `user_ptr` of its
    /// MD.
    pub(crate) fn begin_ping(&self, env: &Environment, peer: &Peer, nid: Nid, reply: RecvBuffer) -> usize {
        self.begin_request(PendingRequest { reply: Some(reply), ..self.request(env, peer, Step::Ping, nid) })
    }

    /// Stores a push of the configuration `sequence` to `nid`; returns its number, which is also the `user_ptr` of
    /// its MD.
    pub(crate) fn begin_push(&self, env: &Environment, peer: &Peer, nid: Nid, sequence: u32) -> usize {
        self.begin_request(PendingRequest { sequence, ..self.request(env, peer, Step::Push, nid) })
    }

    fn begin_request(&self, request: PendingRequest) -> usize {
        let id = lock(&self.queue).sent(request);
        self.wakeup.notify();
        id
    }

    fn request(&self, env: &Environment, peer: &Peer, step: Step, nid: Nid) -> PendingRequest {
        let state = Arc::clone(&peer.discovery);
        let (at, tries) = (env.now(), self.local_state().tries());
        let several = peer.is_multi_rail() && peer.nids.len() > 1;
        let expires = state.with(|inner| {
            let left = inner.deadline.map_or_else(|| env.discovery_timeout(), |deadline| deadline.since(at));
            let is_check = inner.progress.has(PeerState::RTR_DISCOVERY);
            let left = if is_check { left.min(CHECK_TIMEOUT) } else { left };
            let tries_left = if several { tries.saturating_sub(inner.progress.tries).max(1) } else { 1 };
            inner.progress.brief = tries_left > 1;
            at + left / u32::from(tries_left)
        });
        PendingRequest { state, step, nid, at, expires, reply: None, sequence: 0, md: None }
    }

    /// Stores the MD of a request.
    pub(crate) fn set_request_md(&self, id: usize, md: MdHandle) {
        lock(&self.queue).set_md(id, md);
    }

    /// The event queue of requests and push buffers, if it has been created.
    pub(crate) fn eq(&self) -> Option<EqHandle> {
        self.eq.get().copied()
    }

    /// Stores the event queue, unless another thread has stored one; returns the stored one.
    pub(crate) fn set_eq(&self, eq: EqHandle) -> EqHandle {
        *self.eq.get_or_init(|| eq)
    }

    /// Uses up one retry of a peer's discovery; returns whether one was left. All messages of one discovery share
    /// its retries.
    pub(crate) fn spend_retry(&self, peer: &Peer) -> bool {
        let local = self.local_state();
        peer.discovery.with(|inner| inner.progress.spend_retry(&local))
    }
}

/// Methods that handle the events of requests.
impl Discovery {
    /// Handles the REPLY to a ping, with `len` bytes.
    pub(crate) fn handle_reply(&self, env: &Environment, id: usize, path: Option<(Nid, Nid)>, len: u32) {
        let Some(request) = self.end_request(id) else { return };
        let (Some(reply), Some(path)) = (&request.reply, path) else { return };
        let input = match decode(env, reply, len, request.nid) {
            Some(received) => {
                // The peer's pushes will have the same size.
                self.grow_push_buffers(received.claimed_len);
                note_ignored(env, &request.state, request.nid, &received);
                Input::Reply { received: Box::new(received), path }
            }
            None => Input::BadReply,
        };
        self.handle_input(&request.state, input);
    }

    /// Handles the ACK of a push, from the node with the NID `source`.
    pub(crate) fn handle_ack(&self, topology: &Topology, id: usize, source: Option<Nid>) {
        let Some(request) = self.end_request(id) else { return };
        // The NID that the push was sent to may have moved to another peer, which has received the push instead.
        let by = source.and_then(|nid| topology.peer_ni(nid));
        let by = by.filter(|by| by.peer_now().discovery.id() == request.state.id());
        let acked = by.map_or(Input::AckedByAnother, |by| Input::PushAcked(request.sequence, by.nid()));
        self.handle_input(&request.state, acked);
    }

    /// Handles the failure of a request that could not be sent, or that no response will arrive to.
    pub(crate) fn handle_request_failure(&self, id: usize, errno: Errno) {
        if let Some(request) = self.end_request(id) {
            self.fail_request(request, errno);
        }
    }

    /// Fails a request that has been removed from the queue.
    pub(super) fn fail_request(&self, request: PendingRequest, errno: Errno) {
        let PendingRequest { state, step, nid, md, .. } = request;
        lock(&self.queue).stale.extend(md);
        state.with(|inner| inner.failing = Some(nid));
        self.handle_input(
            &state,
            match step {
                Step::Ping => Input::PingFailed(errno),
                Step::Push => Input::PushFailed(errno),
            },
        );
    }

    /// Removes a request that has ended.
    fn end_request(&self, id: usize) -> Option<PendingRequest> {
        let ended = lock(&self.queue).ended(id);
        self.wakeup.notify();
        ended
    }
}

/// The spec of the MD of a ping or push.
pub(crate) fn request_spec(id: usize, memory: &MdMemory, eq: EqHandle) -> MdSpec {
    MdSpec {
        start: memory.first().unwrap_or_default(),
        length: memory.len(),
        threshold: 2,
        max_size: 0,
        options: MdOptions::TRUNCATE,
        user_ptr: id,
        eq: Some(eq),
    }
}

/// Decodes the ping information in `buffer`; `None` if it is malformed.
pub(super) fn decode(
    env: &Environment,
    buffer: &RecvBuffer,
    len: u32,
    from: Nid,
) -> Option<ReceivedPingInfo> {
    PingInfo::decode(&buffer.read(len), max_interfaces(&env.settings()))
        .inspect_err(|error| {
            let line = format_args!("peer {from}: invalid interface list ({error}); ignored");
            env.log(LogClass::PingInfoInvalid, from, line);
        })
        .ok()
}

/// The largest number of interfaces of a peer: the setting, at most as many as a message can hold.
pub(super) fn max_interfaces(settings: &Settings) -> u32 {
    const MAX_IN_A_MESSAGE: u32 =
        (MAX_PAYLOAD - max_kept_len(0) as u32) / (max_kept_len(1) - max_kept_len(0)) as u32;
    settings.max_interfaces.min(MAX_IN_A_MESSAGE)
}

/// Logs that the peer has more interfaces than are kept, once until their number changes.
pub(super) fn note_ignored(
    env: &Environment,
    state: &DiscoveryState,
    from: Nid,
    received: &ReceivedPingInfo,
) {
    let ignored = received.ignored;
    let before = state.with(|inner| std::mem::replace(&mut inner.ignored_nids, ignored));
    if ignored > 0 && ignored != before {
        let kept = max_interfaces(&env.settings());
        env.log(
            LogClass::PeerNidsIgnored,
            from,
            format_args!("peer {from}: {ignored} of its interfaces are not used (max_interfaces is {kept}); the first {kept} are"),
        );
    }
}

/// The path of a request, or `None` for the path that selection chooses: `wanted`, if its interface still exists;
/// after a failure the paths of a multi-rail peer in turn, as nothing else may detect that one of them is dead.
fn path(topology: &Topology, peer: &Peer, wanted: Option<(Nid, Nid)>) -> Option<(Nid, Nid)> {
    let failures = usize::from(peer.discovery.with(|inner| inner.progress.failures));
    topology.with_nets(|nets| {
        let next = || {
            let paths: Vec<(Vec<&Arc<Ni>>, Nid)> = peer
                .nids
                .iter()
                .map(|remote| (select::local_nis_to_try(nets, topology.peer_ni(*remote).as_deref()), *remote))
                .filter(|(local, _)| !local.is_empty())
                .collect();
            let paths: Vec<(&[&Arc<Ni>], Nid)> =
                paths.iter().map(|(local, remote)| (&local[..], *remote)).collect();
            let (ni, remote) = path_of_try(failures, &paths)?;
            Some((ni.nid(), remote))
        };
        let after_failures = || (failures > 0 && peer.is_multi_rail()).then(next).flatten();
        let is_path = |(local, remote): &(Nid, Nid)| {
            let its = topology.peer_ni(*remote);
            nets.ni(*local).is_some_and(|ni| its.is_none_or(|its| can_reach(ni, &its)))
        };
        wanted.filter(is_path).or_else(after_failures)
    })
}

/// The path of the attempt number `tries`: first each of the peer's NIDs, as any may have been removed, each from
/// another local interface, which is the same rail where both nodes number their rails alike; then each with the next
/// one.
fn path_of_try<'a, T, N: Copy>(tries: usize, reachable: &[(&'a [T], N)]) -> Option<(&'a T, N)> {
    let turn = tries.checked_rem(reachable.len())?;
    let round = tries.checked_div(reachable.len())?;
    let (local, remote) = reachable.get(turn)?;
    Some((local.get(turn.wrapping_add(round).checked_rem(local.len())?)?, *remote))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn attempts_go_to_each_nid_of_the_peer_before_one_is_retried_and_finally_through_each_ni() {
        let local = ['a', 'b'];
        let reachable = [(&local[..], 1), (&local[..], 2), (&local[..1], 3)];
        let paths = |tries: std::ops::Range<usize>| -> Vec<(char, i32)> {
            tries.filter_map(|tries| path_of_try(tries, &reachable)).map(|(ni, nid)| (*ni, nid)).collect()
        };
        assert_eq!(paths(0..3), [('a', 1), ('b', 2), ('a', 3)]);
        assert_eq!(paths(3..6), [('b', 1), ('a', 2), ('a', 3)]);
        assert_eq!(paths(6..7), [('a', 1)]);
        assert_eq!(path_of_try::<char, i32>(1, &[]), None);
        assert_eq!(path_of_try::<char, i32>(1, &[(&[], 1)]), None);
    }
}
