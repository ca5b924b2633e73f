//! PUT and GET of programs: from the call to a message with a path.

use super::DataPath;
use super::refusal::Refusal;
use crate::environment::time::Time;
use crate::health::response;
use crate::md::{CommittedRequest, Md, ResponseKind, ResponseTracker};
use crate::memory::{MdHandle, PortalPlace};
use crate::model::message::{OutgoingMessage, Pooled, Request, Role, SendReport};
use crate::model::{
    DiscoveryWait, Ni, Outgoing, Peer, PeerNi, RequestTerms, SendRequest, Target, response_to,
};
use crate::select::{self, PathEnds, PathInTurn};
use crate::topology::PathTables;
use arc_swap::Guard;
use lnet_wire::Errno;
use lnet_wire::{Body, Header, MAX_PAYLOAD, Nid, Pid, ProcessId, RESERVED_PORTAL, WireHandle};
use std::sync::Arc;

impl DataPath {
    /// Sends the memory of an MD to `target`: `LNetPut`. `source` is a local NID, or `None` to have one selected. A
    /// later failure, even an immediate one, is reported by the SEND event (TRAP-6). [`Errno::NotFound`] for an MD
    /// that does not exist, is exhausted or attached; [`Errno::Invalid`] for a portal number out of range; [`Errno::Io`] for a
    /// target that fault injection makes fail.
    pub fn put(
        &self,
        source: Option<Nid>,
        md: MdHandle,
        want_ack: bool,
        target: Target,
        hdr_data: u64,
    ) -> Result<(), Errno> {
        self.check_portal(target.portal, || format!("PUT to {}", name_of(target)))?;
        let md = self.md_of_request(md, target)?;
        let ack = want_ack.then(|| self.wire_handle(&md));
        let Target { portal, match_bits, offset, .. } = target;
        let body = Body::Put { ack, match_bits, hdr_data, portal, offset };
        let length = md.memory().len();
        let outgoing = Outgoing { body, length };
        self.begin_request(source, target, md, outgoing, want_ack.then_some(ResponseKind::Ack), false)
    }

    /// Fetches data from `target` into the memory of an MD: `LNetGet`. Errors as for [`DataPath::put`].
    pub fn get(&self, source: Option<Nid>, md: MdHandle, target: Target) -> Result<(), Errno> {
        self.get_as(source, md, target, false)
    }

    /// Like [`DataPath::get`], as a recovery ping from the interface `source`.
    pub(crate) fn get_for_recovery(&self, source: Nid, md: MdHandle, target: Target) -> Result<(), Errno> {
        self.get_as(Some(source), md, target, true)
    }

    fn get_as(&self, source: Option<Nid>, md: MdHandle, target: Target, recovery: bool) -> Result<(), Errno> {
        self.check_portal(target.portal, || format!("GET to {}", name_of(target)))?;
        let md = self.md_of_request(md, target)?;
        let Target { portal, match_bits, offset, .. } = target;
        let sink_length = md.memory().len();
        let body = Body::Get { reply: self.wire_handle(&md), match_bits, portal, offset, sink_length };
        let outgoing = Outgoing { body, length: 0 };
        self.begin_request(source, target, md, outgoing, Some(ResponseKind::Reply), recovery)
    }

    #[inline(always)]
    fn md_of_request(&self, md: MdHandle, target: Target) -> Result<Arc<Md>, Errno> {
        let md = self.objects.md(md).ok_or(Errno::NotFound)?;
        match target.nid.is_some_and(|nid| self.fail_rules.hits(nid)) {
            true => Err(Errno::Io),
            false => Ok(md),
        }
    }

    /// Commits an operation of an MD, and sends its request.
    #[inline(always)]
    fn begin_request(
        &self,
        source: Option<Nid>,
        target: Target,
        md: Arc<Md>,
        outgoing: Outgoing,
        response: Option<ResponseKind>,
        recovery: bool,
    ) -> Result<(), Errno> {
        let named = self.known_destination(target);
        let deadline = self.deadline_from_now();
        let revision = self.topology.peers().revision().get();
        let wait = DiscoveryWait::IfNeeded;
        let (threshold, begun, tracker) = (0, None, None);
        let terms =
            RequestTerms { source, target, outgoing, threshold, begun, tracker, deadline, wait, recovery };
        match named {
            Some(peer_ni)
                if peer_ni.was_ready_at(revision)
                    && source.is_none()
                    && self.is_plain(&md, target)
                    && !peer_ni.is_only_probed() =>
            {
                let request = md.begin_request(response).ok_or(Errno::NotFound)?;
                let Some(path) = self.take_path_to_ready(&peer_ni, revision) else {
                    drop(request);
                    return self.commit_and_send(SendRequest { md, terms }, response, Some(peer_ni));
                };
                let asked = path.peer_ni.as_ref().unwrap_or(&peer_ni).nid();
                let tracker = self.tracker(&md, target, deadline, response, asked);
                let CommittedRequest { threshold, tracker } = request.commit(tracker);
                let begun = self.begin_measuring(&md, wait, response.is_some(), &peer_ni);
                let terms = RequestTerms { threshold, begun, tracker, ..terms };
                self.send_to_ready(md, &terms, path, peer_ni);
                Ok(())
            }
            named => self.commit_and_send(SendRequest { md, terms }, response, named),
        }
    }

    /// Commits the operation of a request, and sends or parks the request.
    #[inline(never)]
    fn commit_and_send(
        &self,
        mut request: SendRequest,
        response: Option<ResponseKind>,
        named: Option<Arc<PeerNi>>,
    ) -> Result<(), Errno> {
        let SendRequest { md, terms } = &mut request;
        // The request goes to the NID as named, if the peer has no other.
        let asked = named.as_ref().filter(|peer_ni| peer_ni.is_alone()).map(|peer_ni| peer_ni.nid());
        let tracker = asked.and_then(|asked| self.tracker(md, terms.target, terms.deadline, response, asked));
        let begun = md.begin_request(response).ok_or(Errno::NotFound)?;
        CommittedRequest { threshold: terms.threshold, tracker: terms.tracker } = begun.commit(tracker);
        if let Some(again) = self.send_or_park(request.md, &mut request.terms, named) {
            self.send_request(again);
        }
        Ok(())
    }

    /// The tracker of the response to a request to the NID `asked`, if it is tracked.
    #[inline(always)]
    fn tracker(
        &self,
        md: &Md,
        target: Target,
        deadline: Time,
        response: Option<ResponseKind>,
        asked: Nid,
    ) -> Option<ResponseTracker> {
        let place = PortalPlace::new(target.portal, target.match_bits, target.offset);
        let is_tracked = response.is_some_and(|response| self.is_tracked(md, response));
        is_tracked.then_some(ResponseTracker { deadline, asked, place })
    }

    /// Whether a request with this MD and target is not refused, and does not stay on this node for its MD.
    #[inline(always)]
    fn is_plain(&self, md: &Md, target: Target) -> bool {
        !self.env.is_ending()
            && md.memory().len() <= MAX_PAYLOAD
            && target.nid.is_some_and(|nid| !self.stays_on_node(md, nid))
    }

    /// The peer NI of a target on another node, if it is known.
    #[inline(always)]
    fn known_destination(&self, target: Target) -> Option<Arc<PeerNi>> {
        target.nid.filter(|nid| !nid.is_loopback()).and_then(|nid| self.topology.peer_ni(nid))
    }

    fn wire_handle(&self, md: &Md) -> WireHandle {
        WireHandle {
            interface_cookie: self.env.config().interface_cookie,
            object_cookie: md.handle().cookie(),
        }
    }

    /// Sends a request, or parks it until its peer is discovered.
    #[cold]
    pub(crate) fn send_request(&self, mut request: SendRequest) {
        loop {
            let named = self.known_destination(request.terms.target);
            match self.send_or_park(request.md, &mut request.terms, named) {
                Some(again) => request = again,
                None => return,
            }
        }
    }

    /// Sends a request, or parks it; returns it if its destination is to be looked up again. `named` is the peer NI of its target, if that
    /// is known.
    #[inline(always)]
    fn send_or_park(
        &self,
        md: Arc<Md>,
        terms: &mut RequestTerms,
        named: Option<Arc<PeerNi>>,
    ) -> Option<SendRequest> {
        let revision = self.topology.peers().revision().get();
        let destination = match self.destination(&md, terms, named) {
            Ok(destination) => destination,
            Err(why) => {
                self.refuse(SendRequest { md, terms: *terms }, why);
                return None;
            }
        };
        if let Some(peer_ni) = destination.as_ref().filter(|_| terms.source.is_none())
            && let Some(hop) = self.topology.take_only_hop(peer_ni, revision)
        {
            self.send_by_only_hop(md, terms, hop, peer_ni);
            return None;
        }
        let peer_guard = destination.as_ref().map(|peer_ni| peer_ni.peer_now());
        let destination_of_peer = destination.as_ref().zip(peer_guard.as_deref());
        let mut need_not_wait = false;
        if let Some((peer_ni, peer)) = destination_of_peer {
            let has_response = response_to(&terms.outgoing.body).is_some();
            terms.begun = self.begin_measuring(&md, terms.wait, has_response, peer_ni).or(terms.begun);
            let portal = terms.target.portal;
            let may_wait = terms.wait != DiscoveryWait::Over && !self.discovery.is_kept_by_this_handler();
            if may_wait && self.discovery.must_wait(&self.topology, peer_ni, peer, portal) {
                return self.park_request(SendRequest { md, terms: *terms }, peer_ni);
            }
            need_not_wait = may_wait && portal != RESERVED_PORTAL;
        }
        let tables = self.topology.tables();
        if let Some((peer_ni, peer)) = destination_of_peer
            && let Some(path) = self.take_path_in_turn(tables.paths(), terms, (peer_ni, peer))
        {
            if need_not_wait {
                self.topology.note_ready(peer_ni, peer, &tables, revision);
            }
            drop((tables, peer_guard));
            self.send_in_turn(md, terms, path, destination);
        } else {
            let is_only_nid = peer_guard.as_ref().is_some_and(|peer| peer.nids.len() == 1);
            let ready_at = (need_not_wait && is_only_nid).then_some(revision);
            self.send_by_selected_path(md, terms, destination, tables, peer_guard, ready_at);
        }
        None
    }

    /// Sends a request that has not waited by a path that it has taken to a peer NI that was ready. Its response is tracked at the NID that it
    /// goes to, if its MD had no other tracker.
    #[inline(always)]
    fn send_to_ready(&self, md: Arc<Md>, terms: &RequestTerms, path: PathInTurn, named: Arc<PeerNi>) {
        let PathInTurn { ni, peer_ni } = path;
        let peer_ni = peer_ni.unwrap_or(named);
        let destination = peer_ni.nid();
        let ends = PathEnds { ni, peer_ni: Some(peer_ni), destination, is_routed: false };
        self.launch(self.address_tracked(md, terms, ends, terms.tracker.is_some()));
    }

    /// Sends a request to a node behind gateways by the only local NI and the only gateway, which it has taken.
    fn send_by_only_hop(
        &self,
        md: Arc<Md>,
        terms: &mut RequestTerms,
        (ni, gateway): (Arc<Ni>, Arc<PeerNi>),
        peer_ni: &PeerNi,
    ) {
        let has_response = response_to(&terms.outgoing.body).is_some();
        terms.begun = self.begin_measuring(&md, terms.wait, has_response, peer_ni).or(terms.begun);
        self.count_discovery_wait(terms, &ni, Some(peer_ni));
        let destination = peer_ni.nid();
        let ends = PathEnds { ni, peer_ni: Some(gateway), destination, is_routed: true };
        self.launch(self.address(md, terms, ends));
    }

    /// Sends a request by a path that it has taken.
    fn send_in_turn(&self, md: Arc<Md>, terms: &RequestTerms, path: PathInTurn, named: Option<Arc<PeerNi>>) {
        self.count_discovery_wait(terms, &path.ni, named.as_deref());
        let PathInTurn { ni, peer_ni } = path;
        let peer_ni = peer_ni.or(named);
        let destination = peer_ni.as_ref().map_or(Nid::LOOPBACK, |peer_ni| peer_ni.nid());
        let ends = PathEnds { ni, peer_ni, destination, is_routed: false };
        self.launch(self.address(md, terms, ends));
    }

    /// Sends a request to its destination, which has this peer, by the path that is selected. `ready_at` is the revision at which requests
    /// to the destination, the only NID of its peer, need not wait for discovery, if they need not.
    #[inline(never)]
    fn send_by_selected_path(
        &self,
        md: Arc<Md>,
        terms: &RequestTerms,
        destination: Option<Arc<PeerNi>>,
        tables: Guard<Arc<PathTables>>,
        peer: Option<Guard<Arc<Peer>>>,
        ready_at: Option<u64>,
    ) {
        let reserved = terms.target.portal == RESERVED_PORTAL;
        let to = destination.as_ref().zip(peer.as_ref().map(|peer| &***peer));
        let chosen = self.take_path_of_request(tables.paths(), &md, terms, to, reserved);
        if let (Ok(chosen), Some(peer_ni), Some(revision)) = (&chosen, &destination, ready_at)
            && terms.source.is_none()
            && select::is_only_hop(tables.paths(), peer_ni, chosen)
        {
            peer_ni.routing().note_only_hop_at(revision);
        }
        drop((tables, peer));
        match chosen {
            Ok(chosen) => {
                self.count_discovery_wait(terms, &chosen.ni, destination.as_deref());
                self.launch(self.address(md, terms, chosen.into()));
            }
            Err(errno) => {
                let may_wait = errno == Errno::HostUnreachable && !reserved && !terms.recovery;
                let later = destination.filter(|_| may_wait);
                let request = SendRequest { md, terms: *terms };
                match later.and_then(|peer_ni| self.route_may_come(&peer_ni, terms.source, false)) {
                    Some(own) => self.send_later(request, own),
                    None => self.refuse(request, errno),
                }
            }
        }
    }

    /// Parks a request until its peer is discovered. Returns it if that has ended in the meantime, or the peer is being replaced: its
    /// destination is to be looked up again.
    #[cold]
    fn park_request(&self, mut request: SendRequest, peer_ni: &PeerNi) -> Option<SendRequest> {
        request.untrack();
        let again = self.discovery.park(&self.env, &peer_ni.peer().discovery, request)?;
        if again.md.is_aborted() {
            self.refuse(again, Errno::Cancelled);
            return None;
        }
        Some(again)
    }

    /// Keeps a request for which no gateway is usable at the moment. `own` is the NID that it may leave by.
    fn send_later(&self, request: SendRequest, own: Nid) {
        let Some(destination) = request.terms.target.nid else {
            return self.refuse(request, Refusal::AnyTarget);
        };
        let next_hop = ProcessId { nid: destination, pid: request.terms.target.pid };
        let SendRequest { md, terms } = request;
        let message =
            self.message_of(md, &terms, None, ProcessId { nid: own, pid: self.env.pid() }, next_hop);
        match terms.tracker {
            Some(_) => self.health.watch(),
            None => self.track(&message),
        }
        self.wait_for_route(message);
    }

    /// The peer NI of a request's destination; `None` for the loopback.
    #[inline(always)]
    fn destination(
        &self,
        md: &Md,
        terms: &RequestTerms,
        known: Option<Arc<PeerNi>>,
    ) -> Result<Option<Arc<PeerNi>>, Refusal> {
        match terms.target.nid {
            None => Err(Refusal::AnyTarget),
            Some(_) if self.env.is_ending() => Err(Refusal::Withdrawn(Errno::Shutdown)),
            // For a GET the response would be too long.
            Some(_) if md.memory().len() > MAX_PAYLOAD => Err(Refusal::TooLong),
            Some(nid) if nid.is_loopback() => Ok(None),
            Some(nid) if self.stays_on_node(md, nid) => Ok(None),
            // The source is checked even if the peer is unknown.
            Some(nid) => {
                if let Some(source) = terms.source.filter(|source| !self.topology.is_own(*source)) {
                    return Err(Refusal::ForeignSource(source));
                }
                // A request that cannot be sent adds no peer.
                if known.is_none() && !self.topology.leads_to_nid(nid) {
                    return Err(Refusal::NoPath);
                }
                let is_new = terms.recovery && known.is_none();
                let peer_ni = known.unwrap_or_else(|| self.peer_ni(nid));
                // This node becomes its own peer only with this request (HE-53).
                if peer_ni.note_use(is_new, terms.recovery) && self.topology.is_own(nid) {
                    self.topology.peers().list_last(&peer_ni.peer());
                }
                Ok(Some(peer_ni))
            }
        }
    }

    /// Whether a request of a program that shares this node is for a program on it, by one of its NIDs: it goes by the loopback, with the
    /// NIDs that the programs use.
    fn stays_on_node(&self, md: &Md, nid: Nid) -> bool {
        md.is_of_client() && self.topology.is_own(nid)
    }

    /// Makes a message of a request, with the path that it takes. Its response is tracked.
    #[inline(always)]
    fn address(&self, md: Arc<Md>, terms: &RequestTerms, ends: PathEnds) -> Pooled<OutgoingMessage> {
        self.address_tracked(md, terms, ends, false)
    }

    /// Does the same; `is_tracked`: whether the response is tracked at the NID that the request goes to, whichever that is.
    #[inline(always)]
    fn address_tracked(
        &self,
        md: Arc<Md>,
        terms: &RequestTerms,
        ends: PathEnds,
        is_tracked: bool,
    ) -> Pooled<OutgoingMessage> {
        let PathEnds { ni, peer_ni, destination, is_routed } = ends;
        let pid = terms.target.pid;
        let nids = match (&peer_ni, terms.target.nid) {
            (None, Some(nid)) => (terms.source.unwrap_or(nid), nid),
            _ => (ni.nid(), destination),
        };
        let destination = ProcessId { nid: nids.1, pid };
        let source = ProcessId { nid: nids.0, pid: self.sender_pid(&md, peer_ni.is_none()) };
        let mut message = self.message_of(md, terms, peer_ni.as_ref(), source, destination);
        if is_routed && let Some(gateway) = &peer_ni {
            message.next_hop = ProcessId { nid: gateway.nid(), pid: Pid::LUSTRE };
        }
        message.ni = Some(ni);
        message.peer_ni = peer_ni;
        let is_tracked_as_named =
            || terms.tracker.is_some() && terms.target.nid == Some(message.header.dest_nid);
        match is_tracked || is_tracked_as_named() {
            true => self.health.watch(),
            false => self.track(&message),
        }
        if message.is_reserved() {
            self.note_request(&message);
        }
        message
    }

    /// Makes a message of a request, without a path beyond the NIDs in the header.
    #[inline(always)]
    fn message_of(
        &self,
        md: Arc<Md>,
        terms: &RequestTerms,
        peer_ni: Option<&Arc<PeerNi>>,
        source: ProcessId,
        destination: ProcessId,
    ) -> Pooled<OutgoingMessage> {
        let outgoing = &terms.outgoing;
        let mut message: Pooled<OutgoingMessage> = self.blank_message(peer_ni);
        let Header { dest_nid, src_nid, dest_pid, src_pid, payload_length, body } = &mut message.header;
        (*dest_nid, *dest_pid) = (destination.nid, destination.pid);
        (*src_nid, *src_pid) = (source.nid, source.pid);
        (*payload_length, *body) = (outgoing.length, outgoing.body);
        message.next_hop = destination;
        message.deadline = terms.deadline;
        message.begun = terms.begun;
        message.begin(Role::Request(Request {
            md,
            report: Some(SendReport { target: terms.target.nid, threshold: terms.threshold }),
            source: terms.source,
            recovery: terms.recovery,
        }));
        message
    }

    /// The PID that a message with this MD comes from. Other nodes get that of the node: they connect to it for their responses, and know no
    /// other.
    pub(crate) fn sender_pid(&self, md: &Md, stays_on_node: bool) -> Pid {
        let node = self.env.pid();
        if stays_on_node { md.pid(node) } else { node }
    }

    /// The deadline of an operation that begins now.
    pub(crate) fn deadline_from_now(&self) -> Time {
        self.env.now() + self.env.transaction_timeout()
    }

    /// Makes the MD wait for the response until the deadline of the request, if the response is tracked.
    #[inline(always)]
    fn track(&self, message: &OutgoingMessage) {
        let body = &message.header.body;
        let (Some(response), Some(place)) = (response_to(body), PortalPlace::of(body)) else { return };
        if let Some(md) = message.md().filter(|md| self.is_tracked(md, response)) {
            md.track(ResponseTracker { deadline: message.deadline, asked: message.header.dest_nid, place });
            self.health.watch();
        }
    }

    /// Whether this response to a request with this MD is tracked.
    #[inline(always)]
    fn is_tracked(&self, md: &Md, response: ResponseKind) -> bool {
        response::is_tracked(self.env.response_tracking(), md.options(), response)
    }
}

impl DataPath {
    /// Records a request to the reserved portal that is about to be sent. A copy of a request of discovery may be sent from
    /// another source; a copy of a program's request keeps the requested source.
    pub(crate) fn note_request(&self, message: &OutgoingMessage) {
        if !message.is_reserved() {
            return;
        }
        let source = message.source().filter(|_| !self.is_of_discovery(message));
        self.health.note_request(&self.env, message, source);
    }
}

/// The target in log lines.
fn name_of(target: Target) -> String {
    target.nid.map_or_else(|| "any node".to_owned(), |nid| nid.to_string())
}
