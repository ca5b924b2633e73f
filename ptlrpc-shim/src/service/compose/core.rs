//! The parts of a service, for the threads that run it.

use crate::Errno;
use crate::clock::Time;
use crate::service::engines::difficult_reply::{DifficultReply, EndedQueue, ReplyDone};
use crate::service::engines::environment::Environment;
use crate::service::engines::incoming_request::IncomingRequest;
use crate::service::engines::reply_sender::{ReplyRetry, RetryQueue};
use crate::service::engines::request_buffers::{ArrivedRequest, BufferUser, RequestBuffers};
use crate::service::engines::request_queue::RequestQueue;
use crate::service::engines::shared_estimate::SharedEstimate;
use crate::service::engines::timer_queue::TimerQueue;
use crate::service::handler::Handler;
use crate::service::targets::{Export, Targets};
use lnet_log::LogClass;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A request that is to be served. Only connect requests have no export.
#[derive(Clone)]
pub(super) struct AdmittedRequest {
    pub(super) request: Arc<IncomingRequest>,
    pub(super) export: Option<Arc<Export>>,
}

/// The work that event handlers leave to the timer thread.
pub(super) enum DeferredWork {
    FinishReply(Arc<DifficultReply>, ReplyDone),
    ResendReply(ReplyRetry),
}

pub(super) type Timer = TimerQueue<DeferredWork>;
pub(super) type Queue = RequestQueue<ArrivedRequest, AdmittedRequest, Arc<IncomingRequest>>;

/// The parts of a service.
pub(super) struct ServiceCore {
    pub(super) env: Environment,
    pub(super) targets: Arc<Targets>,
    pub(super) handler: Arc<dyn Handler>,
    pub(super) queue: Arc<Queue>,
    pub(super) buffers: Arc<RequestBuffers>,
    pub(super) timer: Arc<Timer>,
    pub(super) estimate: SharedEstimate,
}

/// Passes events of request buffers to the queue and to the timer thread.
struct BufferEvents {
    queue: Arc<Queue>,
    timer: Arc<Timer>,
}

impl BufferUser for BufferEvents {
    fn on_request(&self, request: ArrivedRequest) -> bool {
        self.queue.push(request)
    }

    fn on_buffers_needed(&self) {
        self.timer.request_buffers();
    }
}

impl EndedQueue for Timer {
    fn push_ended(&self, reply: Arc<DifficultReply>, done: ReplyDone) {
        self.push_work(DeferredWork::FinishReply(reply, done));
    }
}

impl RetryQueue for Timer {
    fn push_retry(&self, retry: ReplyRetry) {
        self.push_work(DeferredWork::ResendReply(retry));
    }
}

impl ServiceCore {
    /// Makes the service's parts, for `threads` threads. `timer` takes the replies that `env` could not send.
    pub(super) fn new(
        env: Environment,
        timer: Arc<Timer>,
        targets: &Arc<Targets>,
        handler: Arc<dyn Handler>,
        threads: usize,
    ) -> Self {
        let queue = Arc::new(Queue::new(threads));
        let events = BufferEvents { queue: Arc::clone(&queue), timer: Arc::clone(&timer) };
        Self {
            targets: Arc::clone(targets),
            handler,
            queue,
            buffers: Arc::new(RequestBuffers::new(Arc::new(events))),
            timer,
            estimate: SharedEstimate::new(env.now()),
            env,
        }
    }

    pub(super) fn replenish_buffers(&self) -> Result<(), Errno> {
        self.buffers.replenish(&self.env)
    }

    /// The queue of difficult replies that have ended.
    pub(super) fn ended_replies(&self) -> Arc<dyn EndedQueue> {
        Arc::clone(&self.timer) as Arc<dyn EndedQueue>
    }

    /// Sets the time of the next early reply to a request whose service has not ended; `None`: it gets none.
    pub(super) fn set_early_reply(&self, request: &IncomingRequest, due: Option<Time>) {
        let is_request = |other: &Arc<IncomingRequest>| std::ptr::eq(&raw const **other, request);
        if let Some(at) = self.queue.set_early_reply(is_request, due) {
            self.timer.wake_at(at);
        }
    }

    /// Runs code that may call the program, whose panics the service survives. `None`: it panicked.
    pub(super) fn catch_panic<T>(&self, what: impl FnOnce() -> T) -> Option<T> {
        let done = catch_unwind(AssertUnwindSafe(what));
        if done.is_err() {
            self.env.log(
                LogClass::HandlerPanicked,
                format_args!(
                    "service {}: the program's handler or callback panicked; its request fails with EIO, the service goes on",
                    self.env.name()
                ),
            );
        }
        done.ok()
    }
}
