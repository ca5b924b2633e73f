//! PUT and GET of programs: from the call to a request, whose MD is committed.

use super::DataPath;
use crate::environment::time::Time;
use crate::md::{CommittedRequest, Md, ResponseKind, ResponseTracker};
use crate::memory::{MdHandle, PortalPlace};
use crate::model::{DiscoveryWait, Outgoing, PeerNi, RequestTerms, SendRequest, Target};
use lnet_wire::{Body, Errno, MAX_PAYLOAD, Nid, WireHandle};
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
    pub(super) fn known_destination(&self, target: Target) -> Option<Arc<PeerNi>> {
        target.nid.filter(|nid| !nid.is_loopback()).and_then(|nid| self.topology.peer_ni(nid))
    }

    fn wire_handle(&self, md: &Md) -> WireHandle {
        WireHandle {
            interface_cookie: self.env.config().interface_cookie,
            object_cookie: md.handle().cookie(),
        }
    }
}

/// The target in log lines.
fn name_of(target: Target) -> String {
    target.nid.map_or_else(|| "any node".to_owned(), |nid| nid.to_string())
}
