//! A connection of a device: its queue pair, its completion queue, and its buffers.

use super::ffi::{
    IBV_ACCESS_LOCAL_WRITE, IBV_QPT_RC, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE, IBV_WR_SEND, ibv_cq, ibv_mr,
    ibv_qp_cap, ibv_qp_init_attr, ibv_recv_wr, ibv_send_wr, ibv_sge, ibv_wc, rdma_cm_id, status,
};
use super::library::Functions;
use super::rdma::Protection;
use super::system::last_errno;
use crate::device::{ConnId, Event, Setup, Slot, WorkError, WorkId, Write};
use crate::proto::MESSAGE_SIZE;
use lnet_core::Errno;
use std::ptr::null_mut;

/// A buffer for one message, which no other memory shares a page with.
#[repr(C, align(4096))]
#[derive(Clone)]
struct Page([u8; MESSAGE_SIZE]);

/// The completions that are taken at a time.
const COMPLETIONS: usize = 32;
/// The bit of a work request's number that tells a send from a receive.
const SEND: u64 = 1 << 63;

/// The queues of a connection, once it has some.
pub(super) struct Queues {
    functions: &'static Functions,
    id: *mut rdma_cm_id,
    cq: *mut ibv_cq,
    memory: *mut ibv_mr,
    lkey: u32,
    /// The receive buffers, then the send buffers.
    pages: Box<[Page]>,
    receives: u16,
    /// The send buffers that are free.
    free: Vec<u16>,
    /// The chain in each send buffer.
    works: Vec<WorkId>,
    completions: Box<[ibv_wc; COMPLETIONS]>,
    pieces: Vec<ibv_sge>,
    requests: Vec<ibv_send_wr>,
    /// The completion events that have not been acknowledged.
    pub(super) unacknowledged: u32,
    has_failed: bool,
}

impl Queues {
    /// Makes the queues of a connection, and posts all its receive buffers.
    pub(super) fn new(
        functions: &'static Functions,
        id: *mut rdma_cm_id,
        conn: ConnId,
        protection: &Protection,
        setup: Setup,
    ) -> Result<Self, Errno> {
        let wanted = u32::from(setup.chains) * u32::from(setup.chain_len);
        let mut max_send_wr = wanted.min(protection.max_work_requests);
        // Without memory for so many a device may have it for fewer (wire-o2ib 2).
        let least = u32::from(setup.chains) * 2;
        loop {
            let made = Self::with(functions, id, conn, protection, setup, max_send_wr);
            match made {
                Err(Errno::NoMemory | Errno::Invalid) if max_send_wr / 2 >= least => max_send_wr /= 2,
                made => return made,
            }
        }
    }

    fn with(
        functions: &'static Functions,
        id: *mut rdma_cm_id,
        conn: ConnId,
        protection: &Protection,
        setup: Setup,
        max_send_wr: u32,
    ) -> Result<Self, Errno> {
        // A queue pair that fails reports every request, also those that ask for no report.
        let completions = i32::from(setup.receives) + max_send_wr as i32;
        // SAFETY: the context and the channel are those of the open device; the number is only given back in events.
        let cq = unsafe {
            let number = conn.0 as usize as *mut libc::c_void;
            (functions.ibv_create_cq)(protection.context, completions, number, protection.channel, 0)
        };
        if cq.is_null() {
            return Err(last_errno());
        }
        let mut attributes = ibv_qp_init_attr {
            qp_context: null_mut(),
            send_cq: cq,
            recv_cq: cq,
            srq: null_mut(),
            cap: ibv_qp_cap {
                max_send_wr,
                max_recv_wr: setup.receives.into(),
                max_send_sge: protection.pieces as u32,
                max_recv_sge: 1,
                max_inline_data: 0,
            },
            qp_type: IBV_QPT_RC,
            sq_sig_all: 0,
        };
        // SAFETY: the identifier is bound to the device whose protection domain this is.
        if unsafe { (functions.rdma_create_qp)(id, protection.domain, &mut attributes) } != 0 {
            let errno = last_errno();
            // SAFETY: the queue was made above, and no queue pair uses it.
            unsafe { (functions.ibv_destroy_cq)(cq) };
            return Err(errno);
        }
        let count = usize::from(setup.receives) + usize::from(setup.chains);
        let mut queues = Self {
            functions,
            id,
            cq,
            memory: null_mut(),
            lkey: 0,
            pages: vec![Page([0; MESSAGE_SIZE]); count].into_boxed_slice(),
            receives: setup.receives,
            free: (0..setup.chains).collect(),
            works: vec![WorkId(0); setup.chains.into()],
            // SAFETY: a completion consists of numbers.
            completions: Box::new(unsafe { std::mem::zeroed() }),
            pieces: Vec::new(),
            requests: Vec::new(),
            unacknowledged: 0,
            has_failed: false,
        };
        // From here on the queues end with their value.
        queues.register(protection)?;
        (0..setup.receives).try_for_each(|slot| queues.post_receive(Slot(slot)))?;
        Ok(queues)
    }

    fn register(&mut self, protection: &Protection) -> Result<(), Errno> {
        let (address, len) = (self.pages.as_mut_ptr(), std::mem::size_of_val(&*self.pages));
        // SAFETY: the pages live as long as this value, which ends the registration first.
        let memory = unsafe {
            (self.functions.ibv_reg_mr)(protection.domain, address.cast(), len, IBV_ACCESS_LOCAL_WRITE)
        };
        if memory.is_null() {
            return Err(last_errno());
        }
        self.memory = memory;
        // SAFETY: the registration has just been made.
        self.lkey = unsafe { (*memory).lkey };
        Ok(())
    }

    /// The bytes of a message that was received in this buffer.
    pub(super) fn received(&self, slot: Slot, len: usize) -> &[u8] {
        self.pages.get(usize::from(slot.0)).map_or(&[], |page| &page.0[..len.min(MESSAGE_SIZE)])
    }

    pub(super) fn post_receive(&mut self, slot: Slot) -> Result<(), Errno> {
        let page = self.pages.get(usize::from(slot.0)).ok_or(Errno::Invalid)?;
        let mut piece =
            ibv_sge { addr: page.0.as_ptr() as u64, length: MESSAGE_SIZE as u32, lkey: self.lkey };
        let mut request =
            ibv_recv_wr { wr_id: slot.0.into(), next: null_mut(), sg_list: &mut piece, num_sge: 1 };
        let mut bad = null_mut();
        // SAFETY: the queue pair lives as long as this value, the request refers to memory that is registered, and the call
        // copies the request.
        let result = unsafe {
            let qp = (*self.id).qp;
            let post = (*(*qp).context).ops.post_recv.ok_or(Errno::NoFunction)?;
            post(qp, &mut request, &mut bad)
        };
        check(result)
    }

    /// Posts the WRITEs, and the message after them.
    pub(super) fn post_send(&mut self, work: WorkId, writes: &[Write], message: &[u8]) -> Result<(), Errno> {
        let buffer = self.free.pop().ok_or(Errno::NoMemory)?;
        let page = &mut self.pages[usize::from(self.receives) + usize::from(buffer)];
        page.0[..message.len()].copy_from_slice(message);
        let address = page.0.as_ptr() as u64;
        self.works[usize::from(buffer)] = work;
        self.pieces.clear();
        self.requests.clear();
        let all = writes.iter().flat_map(|write| &write.from);
        self.pieces.extend(all.map(|s| ibv_sge { addr: s.address, length: s.len, lkey: s.lkey }));
        self.pieces.push(ibv_sge { addr: address, length: message.len() as u32, lkey: self.lkey });
        let request = ibv_send_wr {
            wr_id: SEND | u64::from(buffer),
            next: null_mut(),
            sg_list: null_mut(),
            num_sge: 1,
            opcode: IBV_WR_SEND,
            send_flags: IBV_SEND_SIGNALED,
            imm_data: 0,
            remote_addr: 0,
            rkey: 0,
            rest: [0; 19],
        };
        self.requests.extend(writes.iter().map(|write| ibv_send_wr {
            num_sge: write.from.len() as i32,
            opcode: IBV_WR_RDMA_WRITE,
            send_flags: 0,
            remote_addr: write.to,
            rkey: write.rkey,
            ..request
        }));
        self.requests.push(request);
        // Nothing is added to the lists from here on: they stay where they are.
        let mut piece = self.pieces.as_mut_ptr();
        let mut next = null_mut();
        for request in self.requests.iter_mut() {
            request.sg_list = piece;
            piece = piece.wrapping_add(request.num_sge as usize);
        }
        for request in self.requests.iter_mut().rev() {
            request.next = next;
            next = request;
        }
        let mut bad = null_mut();
        // SAFETY: the queue pair lives as long as this value; the chain of requests and their pieces are in lists that stay
        // unchanged during the call, which copies them. The memory that they name stays until the completion, as the caller
        // promises, and the message's buffer is not free until then.
        let result = unsafe {
            let qp = (*self.id).qp;
            let post = (*(*qp).context).ops.post_send.ok_or(Errno::NoFunction)?;
            post(qp, next, &mut bad)
        };
        check(result)
    }

    /// Asks for an event with the next completion.
    pub(super) fn arm(&self) {
        // SAFETY: the queue lives as long as this value.
        unsafe {
            if let Some(notify) = (*(*self.cq).context).ops.req_notify_cq {
                notify(self.cq, 0);
            }
        }
    }

    /// Takes the completions; returns whether there was one.
    pub(super) fn poll(&mut self, conn: ConnId, events: &mut Vec<Event>) -> bool {
        let mut found = false;
        loop {
            // SAFETY: the queue lives as long as this value, and the list has as many places as the call is told.
            let count = unsafe {
                match (*(*self.cq).context).ops.poll_cq {
                    Some(poll) => poll(self.cq, COMPLETIONS as i32, self.completions.as_mut_ptr()),
                    None => 0,
                }
            };
            let count = usize::try_from(count).unwrap_or(0).min(COMPLETIONS);
            for at in 0..count {
                let completion = self.completions[at];
                self.complete(conn, completion, events);
            }
            found |= count > 0;
            if count < COMPLETIONS {
                return found;
            }
        }
    }

    fn complete(&mut self, conn: ConnId, completion: ibv_wc, events: &mut Vec<Event>) {
        let is_send = completion.wr_id & SEND != 0;
        let buffer = (completion.wr_id & !SEND) as u16;
        if completion.status != status::SUCCESS {
            if let Some(error) = work_error(completion.status)
                && !std::mem::replace(&mut self.has_failed, true)
            {
                events.push(Event::WorkFailed { conn, error });
            }
            return;
        }
        if is_send {
            self.free.push(buffer);
            let work = self.works.get(usize::from(buffer)).copied().unwrap_or(WorkId(0));
            events.push(Event::Sent { conn, work });
        } else {
            let len = (completion.byte_len as usize).min(MESSAGE_SIZE);
            events.push(Event::Received { conn, slot: Slot(buffer), len });
        }
    }
}

/// The end of a connection's queues: when this returns, the device uses none of their memory, nor that of posted work.
impl Drop for Queues {
    fn drop(&mut self) {
        // SAFETY: everything was made for this value, and is ended in the opposite order: the queue pair, the registration of the
        // buffers, the completion queue, which waits for the acknowledgement of its events.
        unsafe {
            (self.functions.rdma_destroy_qp)(self.id);
            if !self.memory.is_null() {
                (self.functions.ibv_dereg_mr)(self.memory);
            }
            if self.unacknowledged > 0 {
                (self.functions.ibv_ack_cq_events)(self.cq, self.unacknowledged);
            }
            (self.functions.ibv_destroy_cq)(self.cq);
        }
    }
}

/// The error of a completion; `None` for work that was dropped because other work had failed, or the connection ends.
const fn work_error(status: i32) -> Option<WorkError> {
    match status {
        status::WR_FLUSH_ERR => None,
        status::RETRY_EXC_ERR => Some(WorkError::NoResponse),
        status::RNR_RETRY_EXC_ERR => Some(WorkError::NotReady),
        status::REM_INV_REQ_ERR | status::REM_ACCESS_ERR | status::REM_OP_ERR => {
            Some(WorkError::RefusedByPeer)
        }
        other => Some(WorkError::Local(other as u32)),
    }
}

/// Verbs return their error number.
fn check(result: i32) -> Result<(), Errno> {
    match result {
        0 => Ok(()),
        number => Err(Errno::from_number(number.abs()).unwrap_or(Errno::Io)),
    }
}
