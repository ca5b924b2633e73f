//! Routes through nets whose interfaces wait.

use super::WaitingNis;
use lnet_core::Errno;
use lnet_core::topology::Route;
use lnet_dlc::request::{self, AddRoute, DelRoute};
use lnet_log::{LogClass, write_line};

/// The route of a request.
pub(crate) const fn route_of(add: AddRoute) -> Route {
    let AddRoute { net, gateway, hops, priority, health_sensitivity } = add;
    Route { net, gateway, hops, priority, health_sensitivity }
}

impl WaitingNis {
    /// Makes a route wait for the net of its gateway. [`Errno::Exists`] if it waits already.
    pub(crate) fn add_route(&self, add: AddRoute) -> Result<(), Errno> {
        let mut state = self.lock();
        if state.routes.iter().any(|route| (route.net, route.gateway) == (add.net, add.gateway)) {
            return Err(Errno::Exists);
        }
        state.routes.push(add);
        Ok(())
    }

    /// Forgets the routes that match. Returns whether there were any.
    pub(crate) fn delete_routes(&self, which: DelRoute) -> bool {
        let mut state = self.lock();
        let before = state.routes.len();
        state.routes.retain(|route| {
            which.net.is_some_and(|net| net != route.net)
                || which.gateway.is_some_and(|gateway| gateway != route.gateway)
        });
        state.routes.len() < before
    }

    /// The report on the route with this number among those that wait, which is down.
    pub(crate) fn route(&self, index: usize) -> Option<request::Route> {
        let AddRoute { net, gateway, hops, priority, health_sensitivity } = *self.lock().routes.get(index)?;
        Some(request::Route {
            net,
            gateway,
            hops,
            priority,
            health_sensitivity,
            alive: false,
            single_hop: false,
            rules: Vec::new(),
        })
    }

    /// Adds the routes through nets that the node is on by now. A node that is the gateway of one forwards, unless the configuration
    /// decides (RT-42).
    pub(crate) fn release_routes(&self) {
        let core = &self.starter.core;
        let nets = core.nets();
        let mut state = self.lock();
        let (ready, waiting): (Vec<AddRoute>, Vec<AddRoute>) =
            state.routes.drain(..).partition(|route| nets.net(route.gateway.net()).is_some());
        state.routes = waiting;
        drop(state);
        for route in ready {
            let AddRoute { net, gateway, .. } = route;
            let added = match nets.ni(gateway) {
                Some(_) => self.start_forwarding(),
                None => core.admin().add_route(route_of(route)),
            };
            if let Err(errno) = added.or_else(unless_exists) {
                write_line!(
                    LogClass::ConfigInvalid,
                    "route to {net} via {gateway}: cannot be added ({errno})"
                );
            }
        }
    }

    fn start_forwarding(&self) -> Result<(), Errno> {
        let Some(buffers) = self.by_routes else { return Ok(()) };
        let admin = self.starter.core.admin();
        admin.change_router(|router| router.switched(true))?;
        match buffers {
            [0, 0, 0] => Ok(()),
            some => admin.change_router(|router| router.with_buffers(some.map(Some))),
        }
    }
}

fn unless_exists(errno: Errno) -> Result<(), Errno> {
    if errno == Errno::Exists { Ok(()) } else { Err(errno) }
}
