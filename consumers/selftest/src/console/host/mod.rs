//! A running console: its RPCs on the engine of this process, its timer, and the callers that wait for responses.

mod convert;
mod in_flight;

use super::call::{Call, Response};
use super::refusal::Refusal;
use super::rpc::{RpcId, RpcRequest};
use super::{Action, CommandId, Console};
use crate::framework::JoinHandler;
use crate::rpc::{CallHandle, RpcEngine};
use crate::wire::{Features, JoinReply, JoinRequest};
use in_flight::InFlight;
use lnet_api::Errno;
use lnet_api::ProcessId;
use lnet_api::sync::lock;
use lnet_os::thread::JoinHandle;
use lnet_wire::Nid;
use rustix::time::{ClockId, clock_gettime};
use std::collections::HashMap;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// A console on an engine.
pub struct ConsoleHost {
    engine: Arc<RpcEngine>,
    state: Mutex<HostState>,
    /// Notified when the time of the next timeout has changed, or the session has ended.
    changed: Condvar,
    timer: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct HostState {
    console: Console,
    rpcs: InFlight<CallHandle>,
    waiting: HashMap<CommandId, Sender<Result<Response, Refusal>>>,
    last: u64,
    is_closed: bool,
}

/// A command that was given.
pub struct Pending {
    /// The command's number, for [`ConsoleHost::interrupt`].
    pub id: CommandId,
    /// The channel for the command's answer. It is closed without a response when the host is closed.
    pub response: Receiver<Result<Response, Refusal>>,
}

impl ConsoleHost {
    /// Starts a console without a session.
    pub fn start(engine: Arc<RpcEngine>) -> io::Result<Arc<Self>> {
        let (state, changed, timer) = (Mutex::default(), Condvar::new(), Mutex::new(None));
        let host = Arc::new(Self { engine, state, changed, timer });
        let runner = Arc::clone(&host);
        let thread = thread::Builder::new().name("lnet_st_console".to_owned());
        *lock(&host.timer) = Some(lnet_os::thread::spawn(thread, move || runner.run())?);
        Ok(host)
    }

    /// Gives the console a command.
    pub fn call(self: &Arc<Self>, call: Call) -> Pending {
        let (sender, response) = channel();
        let own = self.own_nid();
        let mut state = lock(&self.state);
        state.last += 1;
        let id = CommandId(state.last);
        if !state.is_closed {
            state.waiting.insert(id, sender);
            state.console.set_own_nid(own);
            let actions = state.console.handle_command(now(), id, call);
            state.rpcs.expect(&actions);
            drop(state);
            self.carry_out(actions);
        }
        Pending { id, response }
    }

    /// Ends a command whose caller does not wait for the response any more.
    pub fn interrupt(self: &Arc<Self>, id: CommandId) {
        let mut state = lock(&self.state);
        state.waiting.remove(&id);
        let actions = state.console.handle_interruption(now(), id);
        state.rpcs.expect(&actions);
        drop(state);
        self.carry_out(actions);
    }

    /// Whether there is a session.
    pub fn has_session(&self) -> bool {
        lock(&self.state).console.has_session()
    }

    /// Accepts no more commands, if the console is not in use; returns whether it is not.
    pub fn close_if_unused(&self) -> bool {
        let mut state = lock(&self.state);
        if !state.console.has_session() && state.rpcs.is_empty() && state.waiting.is_empty() {
            state.is_closed = true;
        }
        state.is_closed
    }

    /// Closes the console. Nodes are not informed: their sessions end by their timeout.
    pub fn close(&self) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        state.waiting.clear();
        let sent = state.rpcs.give_up_all();
        drop(state);
        self.changed.notify_all();
        for handle in sent {
            handle.abort(Errno::Shutdown);
        }
        let timer = lock(&self.timer).take();
        if let Some(timer) = timer {
            // A thread that panicked has logged it.
            let _ = timer.join();
        }
    }

    /// The node's first NID that is not the loopback's and fits into the 64 bits of messages.
    fn own_nid(&self) -> Option<Nid> {
        let nids = self.engine.local_nids();
        nids.into_iter().find(|nid| !nid.is_loopback() && nid.to_u64().is_some())
    }

    /// The thread of time.
    fn run(self: Arc<Self>) {
        let mut state = lock(&self.state);
        while !state.is_closed {
            match state.console.next_time() {
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(next) if next > now() => {
                    let left = next.saturating_sub(now());
                    let woken = self.changed.wait_timeout(state, left);
                    state = woken.map_or_else(|poisoned| poisoned.into_inner().0, |(state, _)| state);
                }
                Some(_) => {
                    let actions = state.console.handle_time(now());
                    state.rpcs.expect(&actions);
                    drop(state);
                    self.carry_out(actions);
                    state = lock(&self.state);
                }
            }
        }
    }

    fn carry_out(self: &Arc<Self>, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Post(id, request) => self.post(id, &request),
                Action::Abort(id) => self.abort(id),
                Action::Response(id, response) => {
                    let waiting = lock(&self.state).waiting.remove(&id);
                    if let Some(waiting) = waiting {
                        // The caller may have stopped waiting.
                        let _ = waiting.send(*response);
                    }
                }
                Action::Ended => {}
            }
        }
        self.changed.notify_all();
    }

    fn post(self: &Arc<Self>, id: RpcId, request: &RpcRequest) {
        if !lock(&self.state).rpcs.wants(id) {
            return;
        }
        let Some(call) = convert::call(request) else {
            lock(&self.state).rpcs.ended(id);
            return self.replied(id, Err(libc::EINVAL));
        };
        let host = Arc::downgrade(self);
        let handle = self.engine.call(call, move |outcome| {
            let Some(host) = host.upgrade() else { return };
            lock(&host.state).rpcs.ended(id);
            host.replied(id, outcome.map(convert::reply).map_err(|errno| -errno.to_c()));
        });
        let unwanted = lock(&self.state).rpcs.sent(id, handle);
        if let Some(handle) = unwanted {
            handle.abort(Errno::Interrupted);
        }
    }

    fn abort(&self, id: RpcId) {
        let sent = lock(&self.state).rpcs.give_up(id);
        if let Some(handle) = sent {
            handle.abort(Errno::Interrupted);
        }
    }

    fn replied(self: &Arc<Self>, id: RpcId, result: Result<super::RpcReply, i32>) {
        let mut state = lock(&self.state);
        if state.is_closed {
            return;
        }
        let actions = state.console.handle_reply(now(), id, result);
        state.rpcs.expect(&actions);
        drop(state);
        self.carry_out(actions);
    }
}

impl JoinHandler for ConsoleHost {
    fn join(&self, request: &JoinRequest, features: Features, from: ProcessId) -> (JoinReply, Features) {
        let from = lnet_wire::ProcessId { nid: from.nid, pid: from.pid };
        let wanted = convert::number(request.session);
        let joined = match request.group.text().parse() {
            Ok(group) => lock(&self.state).console.handle_join(now(), from, wanted, &group, features.0),
            Err(_) => super::JoinReply::refused(libc::EINVAL),
        };
        self.changed.notify_all();
        (convert::join_reply(&joined), features)
    }
}

/// The time since the machine started: sessions of consoles that came one after the other differ by it.
fn now() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}
