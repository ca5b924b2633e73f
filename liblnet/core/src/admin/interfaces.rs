//! Adding and removing interfaces, and the shutdown of the node.

use super::Admin;
use crate::model::lnd::{Driver, StartError, Upcalls, start_error};
use crate::model::{Nets, Ni, NiConfig, PeerNi};
use crate::sync::lock;
use lnet_wire::{Errno, Nid};
use std::sync::Arc;

impl Admin<'_> {
    /// Adds an interface and starts it with `driver`; the ping buffer contains it from then on (cfg-020).
    /// [`Errno::Exists`] for a NID or an interface that the net has; [`Errno::TooManyUsers`] for a net with routes
    /// (OM-33); [`Errno::Invalid`] for a CPU partition that does not exist; [`Errno::Shutdown`] during the shutdown;
    /// [`Errno::Busy`] in an event handler; or the error of the driver.
    pub fn add_ni(
        &self,
        nid: Nid,
        config: impl Into<NiConfig>,
        driver: &dyn Driver,
    ) -> Result<Arc<Ni>, StartError> {
        let guard = self.configuring().map_err(|errno| {
            start_error!(errno, "NI {nid}: not started (an event handler may not add interfaces)")
        })?;
        let (ni, nets) = self.with_ni(nid, config.into())?;
        ni.set_number(self.health.next_number());
        // The driver may make upcalls as soon as it is started, so the interface must be in the table before that.
        let before = self.topology.replace_nets(&guard, Arc::new(nets));
        let is_new_net = before.net(nid.net()).is_none();
        match driver.start_ni(&ni, Arc::clone(self.data_path) as Arc<dyn Upcalls>) {
            Ok(lnd) => {
                ni.set_lnd(Arc::clone(&lnd));
                if self.topology.peer_ni(nid).is_some() {
                    self.discovery.note_forgetting(self.env);
                    self.topology.peers().forget_nid(&guard, nid);
                }
                self.rebuild_ping_target(&guard);
                self.discovery.schedule_push(self.topology, false);
                self.topology.renew_rules(&guard);
                if is_new_net {
                    let on_it = |peer_ni: &Arc<PeerNi>| peer_ni.nid().net() == nid.net();
                    let waiting = self.topology.peers().all().into_iter().filter(on_it);
                    waiting.for_each(|peer_ni| self.data_path.grant_credits(&peer_ni));
                }
                lnd.open();
                self.health.reachability_may_change_for_all(self.topology);
                Ok(ni)
            }
            Err(error) => {
                self.topology.restore_nets(&guard, before);
                Err(error)
            }
        }
    }

    /// Checks whether [`Admin::add_ni`] would fail before it starts the driver, and returns that error.
    pub fn check_ni(&self, nid: Nid, config: impl Into<NiConfig>) -> Result<(), StartError> {
        self.with_ni(nid, config.into()).map(drop)
    }

    /// Creates an interface; returns it, and the nets with it.
    fn with_ni(&self, nid: Nid, config: NiConfig) -> Result<(Arc<Ni>, Nets), StartError> {
        if self.env.is_ending() {
            return Err(start_error!(Errno::Shutdown, "NI {nid}: not started ({})", Errno::Shutdown.text()));
        }
        if self.topology.has_route_to(nid.net()) {
            let net = nid.net();
            return Err(start_error!(
                Errno::TooManyUsers,
                "NI {nid}: not started (there is a route to {net}; delete it first, see 'lnetctl route show --net {net}')"
            ));
        }
        let ni = Arc::new(Ni::new(nid, config, self.env.config().cpts.count())?);
        let nets = self.topology.nets().with(Arc::clone(&ni))?;
        Ok((ni, nets))
    }

    /// Removes an interface: its messages end with an error, and the ping buffer no longer contains it. With the last
    /// interface of a net, the routes over gateways on that net are removed, and so are the peers without a NID elsewhere.
    /// [`Errno::NotFound`] for a NID that is not local, [`Errno::Invalid`] for the loopback (OM-33), [`Errno::Busy`] in an event
    /// handler.
    pub fn remove_ni(&self, nid: Nid) -> Result<(), Errno> {
        if nid.is_loopback() {
            return Err(Errno::Invalid);
        }
        let config = self.configuring()?;
        let ni = self.topology.ni(nid).ok_or(Errno::NotFound)?;
        self.topology.replace_nets(&config, Arc::new(self.topology.nets().without(nid)));
        self.rebuild_ping_target(&config);
        self.topology.renew_rules(&config);
        self.discovery.schedule_push(self.topology, false);
        self.data_path.stop_ni(&ni);
        self.retired_add(&ni);
        if self.topology.with_nets(|nets| nets.net(nid.net()).is_none()) {
            self.leave_net(&config, nid.net());
        }
        self.health.reachability_may_change_for_all(self.topology);
        Ok(())
    }

    /// Shuts the node down: stops every interface, and waits until every message has been returned. The remaining MDs, MEs and
    /// EQs are dropped without an event (c-abi 1.1). Only the counters of the node may be used afterwards. Waits for
    /// event handlers, so it must not be called from one.
    pub fn shutdown(&self) {
        self.env.begin_ending();
        let config = self.configuration.lock();
        let nets = self.topology.nets();
        // The loopback comes last: it never fails, and other interfaces may still complete messages over it.
        for ni in nets.nis().collect::<Vec<_>>().into_iter().rev() {
            self.data_path.stop_ni(ni);
        }
        self.topology.replace_nets(&config, Arc::new(Nets::default()));
        self.data_path.end_resends();
        self.data_path.end_unconfirmed();
        self.data_path.end_deferred();
        self.health.wake();
        self.data_path.end_discovery();
        self.objects.end();
        for portal in self.objects.portals() {
            // Last, messages may have arrived by threads that began before the shutdown and that no driver waits for.
            self.data_path.drop_delayed(portal.clear_lazy());
            portal.forget_entries();
        }
        self.data_path.log_lost_requests();
    }

    fn retired_add(&self, ni: &Ni) {
        *lock(self.retired) += ni.counters().read_all();
    }
}
