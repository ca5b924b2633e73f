//! Carrying out what a program asks for.

use super::Shared;
use super::client::End;
use super::current::{Current, number_of_current};
use super::deferred_acks::DeferredAcks;
use super::memory::{Fetches, RegistrationLimits, Registrations};
use super::objects::{LatestMd, Objects};
use super::reports::Reports;
use super::requests::{HeldRequests, RequestsUnderWay};
use super::rings::RingMemory;
use super::status::{Counts, Identity, Status};
use crate::claims::Owner;
use crate::peer_description::describe_peer;
use lnet_attach::record::{
    Answer, Descriptor, MatchEntry, Message, Operation, PUT, PUT_WORDS, PlainPut, Report,
};
use lnet_core::memory::ClientMemory;
use lnet_core::{Clock, DiscoveryMode, EqHandle, Errno, Event, EventKind, MdHandle, MdSpec, MeHandle};
use lnet_os::stop_point;
use lnet_ring::{Consumer, Fill};
use lnet_wire::{MAX_PORTALS, Pid, RESERVED_PORTAL};
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Checks that a portal is not the node's own, where it is pinged and pushed to: [`Errno::NotPermitted`].
const fn check_portal(portal: u32) -> Result<(), Errno> {
    if portal == RESERVED_PORTAL { Err(Errno::NotPermitted) } else { Ok(()) }
}

/// What the node has for one program.
pub(super) struct Carrier<'a> {
    pub(super) shared: &'a Shared,
    pub(super) id: u64,
    /// The PID that the program was given when it attached.
    pub(super) pid: Pid,
    /// The PID that it asked for.
    wanted_pid: Pid,
    /// The queue of all its MDs.
    eq: EqHandle,
    pub(super) reports: Arc<Reports>,
    objects: Arc<Objects>,
    latest_md: LatestMd,
    fetches: Arc<Fetches>,
    acks: Arc<DeferredAcks>,
    registrations: Registrations,
    under_way: Arc<RequestsUnderWay>,
    pub(super) held: HeldRequests,
    pub(super) counts: Arc<Counts>,
}

impl<'a> Carrier<'a> {
    /// `wanted_pid` is the one that the program asked for, `pid` the one that it was given; `wake` wakes the thread of the program.
    pub(super) fn new(
        shared: &'a Shared,
        id: u64,
        [wanted_pid, pid]: [Pid; 2],
        reports: Arc<Reports>,
        wake: &Arc<OwnedFd>,
    ) -> Result<Self, Errno> {
        let objects = Arc::new(Objects::new(shared.config.max_objects));
        let under_way = Arc::new(RequestsUnderWay::new(shared.config.max_requests, Arc::clone(wake)));
        let (to_reports, its_objects) = (Arc::clone(&reports), Arc::clone(&objects));
        let its_requests = Arc::clone(&under_way);
        let handler = move |event: &Event| {
            stop_point::reach("node: event");
            to_reports.push_event(number_of_current(id), event);
            if event.kind == EventKind::Send {
                its_requests.end();
            }
            if event.unlinked {
                its_objects.md_ended(event.md_handle);
            }
        };
        let eq = shared.node.core().data_path().eq_forward(Box::new(handler))?;
        let fetches = Arc::new(Fetches::new(Arc::clone(&reports), id, pid));
        let acks = Arc::new(DeferredAcks::new(Arc::clone(&reports), id));
        let (registrations, counts) = (Registrations::default(), Arc::default());
        let held = HeldRequests::new(Arc::clone(&under_way));
        Ok(Self {
            shared,
            id,
            pid,
            wanted_pid,
            eq,
            reports,
            objects,
            latest_md: LatestMd::default(),
            fetches,
            acks,
            registrations,
            under_way,
            held,
            counts,
        })
    }

    /// What the node shows of the program. `fills` are those of the rings of operations and reports.
    pub(super) fn status(&self, identity: Identity, fills: [Fill<RingMemory>; 2]) -> Status {
        let [operations, reports] = fills;
        Status {
            identity,
            since: self.shared.clock.now(),
            operations,
            reports,
            counts: Arc::clone(&self.counts),
            told: Arc::clone(&self.reports),
            objects: Arc::clone(&self.objects),
            fetches: Arc::clone(&self.fetches),
            acks: Arc::clone(&self.acks),
            under_way: Arc::clone(&self.under_way),
            mapped: Arc::clone(self.registrations.mapped()),
        }
    }

    /// Carries out the next operation, which is there. What is checked of it is a copy, for which `body` is room.
    #[inline(always)]
    pub(super) fn take_record(
        &mut self,
        operations: &mut Consumer<RingMemory>,
        body: &mut Vec<u64>,
    ) -> Result<(), End> {
        let Some(mut words) = operations.pop_array::<PUT_WORDS>(PUT) else {
            return match operations.pop_words(body)? {
                Some(kind) => self.take_body(kind, body),
                None => Ok(()),
            };
        };
        let mut put = [0; PUT_WORDS];
        for place in &mut put {
            *place = words.next().unwrap_or(0);
        }
        match PlainPut::decode(&put).filter(|_| self.held.lets_pass()) {
            Some((number, put)) => self.put(number, put),
            None => self.take_body(PUT, &{ put })?,
        }
        Ok(())
    }

    #[inline(never)]
    fn take_body(&mut self, kind: u32, body: &[u64]) -> Result<(), End> {
        let (number, operation) = Operation::decode(kind, body)?;
        self.take(number, operation);
        Ok(())
    }

    /// Carries out a PUT as [`Carrier::carry_out`] does.
    #[inline(always)]
    fn put(&mut self, number: u64, put: PlainPut) {
        let PlainPut { md, ack, target, hdr_data } = put;
        let current = self.begin_operation(number, Some(md));
        let result = self.objects.check_md_again(md, &mut self.latest_md).and_then(|()| {
            let data_path = self.shared.node.core().data_path();
            current.during(|| self.begin(|| data_path.put(None, md, ack, target, hdr_data)))
        });
        self.end_operation(number, Some(md), result);
    }

    /// Carries out an operation, and tells the program its result: at once, or a request beyond the bound later.
    pub(super) fn take(&mut self, number: u64, operation: Operation) {
        if let Operation::MdUnlink { md } = operation {
            let before = self.held.take_of(md);
            before.into_iter().for_each(|(number, operation)| self.carry_out(number, operation));
        }
        // With the lock the answer is there at once.
        if let Operation::PrimaryNid { nid } = operation
            && !self.shared.node.core().settings().lock_primary
            && self.shared.waiting_calls.begin(&self.shared.node, &self.reports, number, nid)
        {
            return self.counts.note_operation(&Ok(()));
        }
        if let Some(operation) = self.held.hold(number, operation) {
            self.carry_out(number, operation);
        }
    }

    /// Carries out the requests that have waited, as far as there is room for them.
    pub(super) fn take_held(&mut self) {
        while let Some((number, operation)) = self.held.next() {
            self.carry_out(number, operation);
        }
    }

    fn carry_out(&mut self, number: u64, operation: Operation) {
        let md = match operation {
            Operation::Put { md, .. } | Operation::Get { md, .. } => Some(md),
            _ => None,
        };
        let current = self.begin_operation(number, md);
        let result = current.during(|| self.outcome(number, operation));
        self.end_operation(number, md, result);
    }

    /// The operation that the thread carries out; `md` is that of a PUT or GET.
    #[inline(always)]
    fn begin_operation(&self, number: u64, md: Option<MdHandle>) -> Current {
        stop_point::reach("node: operation read");
        Current { client: self.id, number, is_request: md.is_some() }
    }

    /// Counts an operation with this result, and tells the program if it waits for that.
    #[inline(always)]
    fn end_operation<T: Into<Answer>>(&self, number: u64, md: Option<MdHandle>, result: Result<T, Errno>) {
        stop_point::reach("node: operation carried out");
        self.counts.note_operation(&result);
        match (number, md, result) {
            (0, _, Ok(_)) => {}
            (0, Some(md), Err(errno)) => self.reports.push(0, &Report::Refused { md, errno }),
            (_, _, result) => self.reports.push(number, &Report::Done { result: result.map(T::into) }),
        }
    }

    fn outcome(&mut self, number: u64, operation: Operation) -> Result<Answer, Errno> {
        let core = self.shared.node.core();
        let data_path = core.data_path();
        Ok(match operation {
            Operation::MeAttach { portal, entry } => {
                check_portal(portal)?;
                self.objects.check_room()?;
                let MatchEntry { from, match_bits, ignore_bits, unlink, position } = entry;
                let me = data_path.me_attach(portal, from, match_bits, ignore_bits, unlink, position)?;
                self.added(me, unlink)
            }
            Operation::MeInsert { beside, entry } => {
                self.objects.check_room()?;
                self.objects.check_me(beside)?;
                let MatchEntry { from, match_bits, ignore_bits, unlink, position } = entry;
                let me = data_path.me_insert(beside, from, match_bits, ignore_bits, unlink, position)?;
                self.added(me, unlink)
            }
            Operation::MeUnlink { me } => {
                self.objects.check_me(me)?;
                data_path.me_unlink(me)?;
                self.objects.remove_me(me);
                Answer::Nothing
            }
            Operation::MeUnlinkUnused { me } => {
                self.objects.check_me(me)?;
                data_path.me_unlink_unused(me)?;
                self.objects.remove_me(me);
                Answer::Nothing
            }
            Operation::MdAttach { me, md } => {
                self.attach(number, me, md)?;
                Answer::Nothing
            }
            Operation::MdBind { md: Descriptor { spec, memory, unlink, near, .. } } => {
                self.objects.check_room()?;
                let (memory, client) = self.registrations.memory_of_md(&memory, &self.fetches, None)?;
                let memory = match near {
                    Some(near) => memory.with_near(near),
                    None => memory,
                };
                let is_in_place = client.is_in_place();
                let md = data_path.md_bind_for(self.spec(spec), memory, unlink, client)?;
                self.objects.add_md(md, None, is_in_place);
                self.reports.push(number, &Report::Made { md });
                Answer::Nothing
            }
            Operation::MdUnlink { md } => {
                self.objects.check_md(md)?;
                data_path.md_unlink(md)?;
                Answer::Nothing
            }
            Operation::Put { from, md, ack, target, hdr_data } => {
                self.objects.check_md(md)?;
                self.begin(|| data_path.put(from, md, ack, target, hdr_data))?.into()
            }
            Operation::Get { from, md, target } => {
                self.objects.check_md(md)?;
                self.begin(|| data_path.get(from, md, target))?.into()
            }
            Operation::Lazy { portal, is_lazy } => {
                self.set_lazy(portal, is_lazy)?;
                Answer::Nothing
            }
            Operation::Deregister { registration } => {
                self.registrations.deregister(registration)?;
                Answer::Nothing
            }
            Operation::Fetched { request, data } => {
                let then = self.fetches.take(request).ok_or(Errno::NotFound)?;
                let memory =
                    |pieces: Vec<_>| self.registrations.reply_memory(&pieces, &self.fetches, request);
                then(data.and_then(memory));
                Answer::Nothing
            }
            Operation::Interface { index } => {
                let own = core.ni_by_index(index).ok_or(Errno::NotFound)?;
                Answer::Process(own.nid, self.fetches.pid())
            }
            Operation::Distance { nid } => {
                let found = core.dist(nid)?;
                Answer::Distance { hops: found.hops, order: found.order, source: found.source }
            }
            Operation::PrimaryNid { nid } => Answer::Process(core.admin().primary_nid(nid), Pid(0)),
            Operation::AddPeer { nids } => {
                core.admin().add_peer(&nids)?;
                Answer::Nothing
            }
            Operation::PeerDiscovered { nid } => {
                core.admin().peer_discovered(nid)?;
                Answer::Nothing
            }
            Operation::DiscoveryStatus => {
                Answer::Number(u64::from(core.settings().discovery != DiscoveryMode::Off))
            }
            Operation::CptDistance { one, other } => {
                Answer::Number(core.cpt_table().distance(one, other).into())
            }
            Operation::CptOfNode { node } => {
                Answer::Number(core.cpt_table().of_node(node).ok_or(Errno::NotFound)?.into())
            }
            Operation::Claim { bits } => {
                self.shared.node.claims.claim(Owner::Program(self.id), self.wanted_pid.0, bits)?;
                self.objects.claimed();
                // Programs with one PID have different bits.
                self.fetches.set_pid(self.wanted_pid);
                Answer::Nothing
            }
            Operation::Release { bits } => {
                self.shared.node.claims.release(Owner::Program(self.id), bits)?;
                self.objects.released();
                Answer::Nothing
            }
            Operation::Handled { request } => {
                if !self.acks.send(request) {
                    return Err(Errno::NotFound);
                }
                Answer::Nothing
            }
            Operation::DescribePeer { nid } => Answer::Text(describe_peer(core, nid)),
        })
    }

    /// Begins a request, whose SEND event ends it unless it fails here.
    #[inline(always)]
    fn begin(&self, request: impl FnOnce() -> Result<(), Errno>) -> Result<(), Errno> {
        self.under_way.begin();
        request().inspect_err(|_| self.under_way.end())
    }

    fn added(&self, me: MeHandle, ends_with_md: bool) -> Answer {
        self.objects.add_me(me, ends_with_md);
        Answer::Number(me.cookie())
    }

    /// Attaches an MD, and tells the program its handle before the first event.
    fn attach(&self, number: u64, me: MeHandle, md: Descriptor) -> Result<(), Errno> {
        self.objects.check_room()?;
        self.objects.check_me(me)?;
        let Descriptor { spec, memory, unlink, near, has_handler } = md;
        let acks = has_handler.then_some(&self.acks);
        let (memory, client) = self.registrations.memory_of_md(&memory, &self.fetches, acks)?;
        let memory = match near {
            Some(near) => memory.with_near(near),
            None => memory,
        };
        let its = Arc::clone(&client);
        let mut announce = |md: MdHandle| {
            _ = its.handle.set(md);
            self.objects.add_md(md, Some(me), its.is_in_place());
            self.reports.push(number, &Report::Made { md });
        };
        let data_path = self.shared.node.core().data_path();
        data_path.md_attach_for(me, self.spec(spec), memory, unlink, client, &mut announce)
    }

    /// The spec with the queue of the program's MDs on the node.
    const fn spec(&self, spec: MdSpec) -> MdSpec {
        MdSpec { eq: Some(self.eq), ..spec }
    }

    fn set_lazy(&self, portal: u32, is_lazy: bool) -> Result<(), Errno> {
        if portal >= MAX_PORTALS {
            return Err(Errno::Invalid);
        }
        check_portal(portal)?;
        let data_path = self.shared.node.core().data_path();
        if is_lazy {
            data_path.set_lazy_portal(portal)?;
            self.shared.note_lazy(portal, self.id);
            return Ok(());
        }
        self.shared.forget_lazy(Some(portal), self.id);
        data_path.clear_lazy_portal(portal)
    }

    /// Takes memory that the program registers.
    pub(super) fn register(&mut self, number: u64, registration: u32, descriptors: Vec<OwnedFd>) {
        let config = &self.shared.config;
        let limits = RegistrationLimits { bytes: config.max_registered, count: config.max_registrations };
        let registered = match <[OwnedFd; 1]>::try_from(descriptors) {
            Ok([file]) => self.registrations.register(registration, file, limits),
            Err(_) => Err(Errno::Invalid),
        };
        self.counts.note_operation(&registered);
        self.reports.push(number, &Report::Done { result: registered.map(|()| Answer::Nothing) });
    }

    /// Ends all that the program has.
    pub(super) fn end(&self) {
        self.reports.end();
        let data_path = self.shared.node.core().data_path();
        let (mes, mds) = self.objects.all();
        // Each may have ended by itself meanwhile.
        mes.into_iter().for_each(|me| _ = data_path.me_unlink(me));
        mds.into_iter().for_each(|md| _ = data_path.md_unlink(md));
        // Its messages would wait for credits until their deadlines.
        data_path.end_given_up();
        self.fetches.end();
        self.acks.end();
        for portal in self.shared.forget_lazy(None, self.id) {
            _ = data_path.clear_lazy_portal(portal);
        }
        self.shared.node.claims.release_all(Owner::Program(self.id));
        self.shared.pids.release(self.pid);
        // It is freed with the last MD.
        _ = data_path.eq_release(self.eq);
    }
}
