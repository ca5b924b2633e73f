//! The timer thread of a service: it sends early replies, does the work that event handlers leave to it, attaches request
//! buffers, and evicts unresponsive clients.

use super::core::{DeferredWork, ServiceCore};
use crate::clock::Time;
use crate::service::engines::incoming_request::{EarlyReplyAction, IncomingRequest};
use crate::service::engines::reply_message::early_reply;
use crate::service::engines::reply_sender;
use lnet_log::LogClass;
use std::time::Duration;

/// The interval between a failure to attach a buffer and the next attempt.
const ATTACH_RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Runs until the timer queue is closed.
pub(super) fn run(core: &ServiceCore) {
    let env = &core.env;
    let evict_after = env.config.evict_unresponsive_after;
    let check_interval = evict_after.map(|after| after / 4);
    let mut next_check = check_interval.map(|interval| env.now() + interval);
    let mut attach_not_before = env.now();
    while let Some(tick) = core.timer.wait(&*env.clock, attach_not_before, next_check) {
        do_work(core);
        env.log.poll(tick.now);
        if tick.replenish
            && let Err(errno) = core.replenish_buffers()
        {
            env.log(
                LogClass::RequestBuffersFailed,
                format_args!(
                    "service {}: request buffers could not be attached ({errno}); retry in {} s",
                    env.name(),
                    ATTACH_RETRY_INTERVAL.as_secs()
                ),
            );
            attach_not_before = tick.now + ATTACH_RETRY_INTERVAL;
        }
        let (due, next) = core.queue.take_early_replies(tick.now);
        if let Some(at) = next {
            core.timer.wake_at(at);
        }
        due.iter().for_each(|request| send_early_reply(core, request, tick.now));
        if let (Some(check), Some(interval), Some(after)) = (next_check, check_interval, evict_after)
            && check <= tick.now
        {
            env.counters.evicted.add(core.targets.evict_unresponsive(tick.now, after) as u64);
            next_check = Some(tick.now + interval);
        }
    }
}

/// Does the work that event handlers have left.
pub(super) fn do_work(core: &ServiceCore) {
    while let Some(work) = core.timer.pop_work() {
        match work {
            DeferredWork::FinishReply(reply, done) => {
                let (md, on_done) = reply.finish();
                if let Some(md) = md {
                    core.env.node.unlink(md);
                }
                if let Some(on_done) = on_done {
                    core.catch_panic(|| on_done(done));
                }
            }
            DeferredWork::ResendReply(retry) => reply_sender::resend(&core.env, &retry),
        }
    }
}

fn send_early_reply(core: &ServiceCore, request: &IncomingRequest, now: Time) {
    let adaptive = &core.env.config.adaptive;
    let schedule = |due| core.set_early_reply(request, Some(due));
    match request.poll_early_reply(adaptive, now) {
        EarlyReplyAction::Nothing => {}
        EarlyReplyAction::Wait => request.schedule_early_reply(adaptive, schedule),
        EarlyReplyAction::Send(route, timeout) => {
            if let Some(bytes) = early_reply(&request.head, timeout) {
                reply_sender::send_early(&core.env, &bytes, &route);
            }
            request.on_early_reply_sent(adaptive, schedule);
        }
    }
}
