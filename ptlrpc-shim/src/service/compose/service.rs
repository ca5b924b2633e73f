//! A service: its start and its end.

use super::core::{ServiceCore, Timer};
use super::thread_group::ThreadGroup;
use super::timer_thread::do_work;
use super::{serve, timer_thread, worker};
use crate::Errno;
use crate::clock::{Clock, SystemClock};
use crate::lnet::Node;
use crate::service::config::ServiceConfig;
use crate::service::counters::{Counters, Counts, Dropped};
use crate::service::engines::environment::Environment;
use crate::service::engines::reply_sender::{ReplyEvents, ReplySender};
use crate::service::handler::Handler;
use crate::service::targets::Targets;
use lnet_api::sync::lock;
use lnet_log::{LogClass, RateLimitedLog, write_line};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A service at a request portal, with its threads and buffers.
pub struct Service(Arc<Running>);

struct Running {
    core: Arc<ServiceCore>,
    /// `None`: the service has ended, or is ending.
    threads: Mutex<Option<Threads>>,
}

struct Threads {
    workers: ThreadGroup,
    timer: ThreadGroup,
}

/// The minimum time that replies have to be sent when a service ends.
const MIN_DRAIN_TIMEOUT: Duration = Duration::from_millis(100);

impl Service {
    /// Starts a service with the machine's clock. Not from an event handler.
    ///
    /// # Errors
    /// `EINVAL`: the configuration contradicts itself; `EAGAIN`: no threads; LNet's, if the request portal is out of range.
    pub fn start(
        node: &Arc<Node>,
        targets: &Arc<Targets>,
        config: ServiceConfig,
        handler: Arc<dyn Handler>,
    ) -> Result<Self, Errno> {
        Self::start_with_clock(node, targets, config, handler, Arc::new(SystemClock))
    }

    /// Starts a service all of whose timeouts go by `clock`. As [`Service::start`].
    pub fn start_with_clock(
        node: &Arc<Node>,
        targets: &Arc<Targets>,
        config: ServiceConfig,
        handler: Arc<dyn Handler>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Errno> {
        config.check()?;
        let count = config.threads.max(2);
        let log = RateLimitedLog::new();
        let (timer, counters) = (Arc::<Timer>::default(), Arc::<Counters>::default());
        let events = ReplyEvents { retries: Arc::clone(&timer) as _, counters: Arc::clone(&counters) };
        let env = Environment {
            node: Arc::clone(node),
            clock,
            config,
            counters,
            replies: ReplySender::new(node, events),
            descriptors: Arc::default(),
            log,
        };
        let core = Arc::new(ServiceCore::new(env, timer, targets, handler, count));
        let mut threads = Threads { workers: ThreadGroup::new(), timer: ThreadGroup::new() };
        let started = threads.start(&core, count);
        // From here on the drop of the service undoes these steps.
        let service = Self(Arc::new(Running { core, threads: Mutex::new(Some(threads)) }));
        started?;
        let core = &service.0.core;
        core.env.node.set_lazy(core.env.config.request_portal.0, true)?;
        core.replenish_buffers()?;
        Ok(service)
    }

    /// The counters.
    pub fn counts(&self) -> Counts {
        self.0.core.env.counters.counts()
    }

    /// The targets of the service.
    pub fn targets(&self) -> &Arc<Targets> {
        &self.0.core.targets
    }

    /// Ends the service: requests in service are finished, waiting ones are dropped, difficult replies end. Clients stay
    /// connected, because targets outlive their service. The drop of the service does the same.
    ///
    /// Takes at most [`ServiceConfig::stop_timeout`]; after half of it bulk data and replies in progress are aborted. A second
    /// call returns at once.
    ///
    /// # Errors
    /// `EBUSY`: called by a handler, on one of the service's own threads, and nothing was done. `ETIMEDOUT`: a handler has not
    /// returned, or LNet has not released memory, which then stays allocated as long as they need it.
    pub fn stop(&self) -> Result<(), Errno> {
        self.0.stop()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if self.0.stop() == Err(Errno::Busy) {
            // A thread cannot wait for itself.
            let running = Arc::clone(&self.0);
            // If no thread can be started, the service stays.
            let _ = lnet_os::thread::spawn(std::thread::Builder::new(), move || running.stop());
        }
    }
}

impl Threads {
    fn start(&mut self, core: &Arc<ServiceCore>, workers: usize) -> Result<(), Errno> {
        let name = core.env.name();
        let of_timer = Arc::clone(core);
        self.timer.spawn(&format!("{name}_timer"), move || timer_thread::run(&of_timer))?;
        for index in 0..workers {
            let of_worker = Arc::clone(core);
            self.workers.spawn(&format!("{name}_{index:02}"), move || worker::run(&of_worker))?;
        }
        Ok(())
    }
}

impl Running {
    fn stop(&self) -> Result<(), Errno> {
        let threads = {
            let mut threads = lock(&self.threads);
            if threads.as_ref().is_some_and(|of| of.workers.contains_current() || of.timer.contains_current())
            {
                return Err(Errno::Busy);
            }
            threads.take()
        };
        let Some(Threads { mut workers, mut timer }) = threads else { return Ok(()) };
        let core = &self.core;
        let env = &core.env;
        let clock = &*env.clock;
        let begun = env.now();
        let until = begun + env.config.stop_timeout;
        let abort_at = begun + env.config.stop_timeout / 2;
        self.close_intake();

        let mut have_ended = workers.wait(clock, abort_at);
        if !have_ended {
            env.descriptors.unlink_all(&env.node);
            env.replies.abort_all();
            have_ended = workers.wait(clock, until);
        }
        // The order matters: a thread that adds a difficult reply later sees that the timer is closed.
        core.timer.close();
        core.targets.on_service_ending(&core.ended_replies());
        have_ended &= timer.wait(clock, until);
        do_work(core);
        let drained_by = abort_at.max(env.now() + MIN_DRAIN_TIMEOUT);
        if env.replies.wait_until_idle(clock, drained_by) {
            do_work(core);
            env.replies.wait_until_idle(clock, drained_by);
        }
        if !env.descriptors.wait_until_empty(clock, drained_by) {
            env.descriptors.unlink_all(&env.node);
        }
        env.replies.abort_all();
        env.replies.close();
        have_ended &= env.descriptors.wait_until_empty(clock, until)
            & env.replies.wait_until_idle(clock, until)
            & core.buffers.descriptors().wait_until_empty(clock, until);
        do_work(core);
        if have_ended {
            log::debug!("service {}: ended", env.name());
            return Ok(());
        }
        write_line!(
            LogClass::ServiceStuck,
            "service {}: did not end within {} s (a handler has not returned, or LNet holds {} buffers and {} messages); \
             they stay allocated",
            env.name(),
            env.config.stop_timeout.as_secs(),
            core.buffers.descriptors().len(),
            env.descriptors.len() + env.replies.in_progress(),
        );
        Err(Errno::TimedOut)
    }

    /// Closes the queues, so that no request is served after this.
    fn close_intake(&self) {
        let core = &self.core;
        let env = &core.env;
        let (arrived, admitted) = core.queue.close();
        arrived.iter().for_each(|_| env.counters.dropped(Dropped::Stopping));
        admitted.iter().for_each(|admitted| serve::drop_request(core, admitted, Dropped::Stopping));
        core.buffers.close();
        let portal = env.config.request_portal.0;
        if let Err(errno) = env.node.set_lazy(portal, false) {
            write_line!(
                LogClass::ServiceStuck,
                "service {}: portal {portal} stays lazy ({errno}); requests without a service wait there",
                env.name()
            );
        }
        core.buffers.unlink_all(&env.node);
    }
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Service({})", self.0.core.env.name())
    }
}
