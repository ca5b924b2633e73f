//! A service: its start and its end.

use super::buffers::Pool;
use super::config::ServiceConfig;
use super::counts::{Counts, Dropped, Tally};
use super::estimate::Estimate;
use super::export::Targets;
use super::flights::Flights;
use super::handler::Handler;
use super::housekeeper::{self, House};
use super::incoming::Queue;
use super::serve;
use super::threads::{self, Crew};
use crate::errno::Errno;
use crate::lnet::Node;
use crate::sync::lock;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A service at a request portal, with its threads and buffers.
pub struct Service(Arc<Running>);

struct Running {
    core: Arc<Core>,
    /// Those who serve, and the housekeeper; `None`: it has ended, or is ending.
    crews: Mutex<Option<(Crew, Crew)>>,
}

/// What the threads of a service share.
pub(super) struct Core {
    pub(super) node: Arc<Node>,
    pub(super) config: ServiceConfig,
    pub(super) targets: Arc<Targets>,
    pub(super) handler: Arc<dyn Handler>,
    pub(super) queue: Arc<Queue>,
    pub(super) pool: Arc<Pool>,
    pub(super) house: Arc<House>,
    /// Replies, and bulk data.
    pub(super) flights: Arc<Flights>,
    pub(super) tally: Arc<Tally>,
    pub(super) estimate: Mutex<Estimate>,
}

impl Service {
    /// Begins to serve. Not from an event handler.
    ///
    /// # Errors
    /// `EINVAL`: no service can be like that; `EAGAIN`: no threads; LNet's, where the request portal is out of its range.
    pub fn start(
        node: &Arc<Node>,
        targets: &Arc<Targets>,
        config: ServiceConfig,
        handler: Arc<dyn Handler>,
    ) -> Result<Self, Errno> {
        config.check()?;
        let threads = config.threads.max(2);
        let house = Arc::<House>::default();
        let core = Arc::new(Core {
            node: Arc::clone(node),
            targets: Arc::clone(targets),
            handler,
            queue: Arc::new(Queue::new(threads)),
            pool: Arc::new(Pool::new(&config, Arc::clone(&house))),
            house,
            flights: Arc::default(),
            tally: Arc::default(),
            estimate: Mutex::new(Estimate::new(Instant::now())),
            config,
        });
        let (mut servers, mut housekeeper) = (Crew::new(), Crew::new());
        let name = core.config.name.clone();
        let mut hired = housekeeper.hire(&format!("{name}_house"), &core, threads::keep_house);
        for index in 0..threads {
            hired = hired.and_then(|()| servers.hire(&format!("{name}_{index:02}"), &core, threads::work));
        }
        // From here on dropping the service undoes what has been done.
        let service = Self(Arc::new(Running { core, crews: Mutex::new(Some((servers, housekeeper))) }));
        hired?;
        let core = &service.0.core;
        core.node.set_lazy(core.config.request_portal.0, true)?;
        core.replenish()?;
        Ok(service)
    }

    /// What has happened so far.
    pub fn counts(&self) -> Counts {
        self.0.core.tally.counts()
    }

    /// The targets that it serves.
    pub fn targets(&self) -> &Arc<Targets> {
        &self.0.core.targets
    }

    /// Ends the service: requests that are being served are finished, those that wait are dropped, what is held for
    /// answers is let go. Clients keep their connections, for the targets are not the service's own. Dropping the
    /// service does the same.
    ///
    /// Takes at most [`ServiceConfig::stop_timeout`]; after half of it bulk data and replies that are under way are
    /// given up. A second call returns at once.
    ///
    /// # Errors
    /// `EBUSY`: called by a handler, on one of the service's own threads, and nothing was done. `ETIMEDOUT`: a handler
    /// has not returned, or LNet has not let go of memory; that stays as long as they need it.
    pub fn stop(&self) -> Result<(), Errno> {
        self.0.stop()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if self.0.stop() == Err(Errno::BUSY) {
            // A thread cannot wait for itself.
            let running = Arc::clone(&self.0);
            std::thread::spawn(move || running.stop());
        }
    }
}

impl Running {
    fn stop(&self) -> Result<(), Errno> {
        let crews = {
            let mut crews = lock(&self.crews);
            if crews.as_ref().is_some_and(|(servers, house)| servers.has_me() || house.has_me()) {
                return Err(Errno::BUSY);
            }
            crews.take()
        };
        let Some((mut servers, mut housekeeper)) = crews else { return Ok(()) };
        let core = &self.core;
        let begun = Instant::now();
        let until = begun + core.config.stop_timeout;
        let patient_until = begun + core.config.stop_timeout / 2;
        core.close();

        let mut have_ended = servers.wait(patient_until);
        if !have_ended {
            core.flights.unlink_all(&core.node);
            have_ended = servers.wait(until);
        }
        // In this order: what is entered later is seen to by who enters it.
        core.house.close();
        core.targets.lose_service(&core.house);
        have_ended &= housekeeper.wait(until);
        housekeeper::do_chores(core);
        if !core.flights.wait_for_none(patient_until.max(Instant::now() + SHORT)) {
            core.flights.unlink_all(&core.node);
        }
        have_ended &= core.flights.wait_for_none(until) & core.pool.flights.wait_for_none(until);
        housekeeper::do_chores(core);
        log::debug!("{}: ended; {:?}", core.config.name, core.tally.counts());
        if have_ended {
            return Ok(());
        }
        let (open, under_way) = (core.pool.flights.count(), core.flights.count());
        log::warn!("{}: not ended: {open} buffers, {under_way} messages", core.config.name);
        Err(Errno::TIMED_OUT)
    }
}

/// Replies have at least that long to leave.
const SHORT: Duration = Duration::from_millis(100);

impl Core {
    pub(super) fn replenish(&self) -> Result<(), Errno> {
        self.pool.replenish(&self.node, &self.config, &self.queue, &self.tally)
    }

    /// Nothing new comes in after this.
    fn close(&self) {
        let (arrived, admitted) = self.queue.close();
        arrived.iter().for_each(|_| self.tally.dropped(Dropped::Stopping));
        admitted.iter().for_each(|admitted| serve::drop_it(self, admitted, Dropped::Stopping));
        self.pool.close();
        if let Err(errno) = self.node.set_lazy(self.config.request_portal.0, false) {
            log::warn!("{}: portal {}: {errno}", self.config.name, self.config.request_portal.0);
        }
        self.pool.flights.unlink_all(&self.node);
    }
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Service({})", self.0.core.config.name)
    }
}
