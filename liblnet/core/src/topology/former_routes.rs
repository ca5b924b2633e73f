//! Routes that were deleted recently: messages that their gateways had then, and copies of these, may still arrive.

use crate::environment::time::Time;
use lnet_wire::{NetId, Nid};
use std::collections::VecDeque;
use std::time::Duration;

/// The time for which routes are remembered: as long as messages that have come through gateways.
const EXPIRY_TIMEOUT: Duration = Duration::from_secs(300);
/// The number of routes that are remembered, the latest ones.
const MAX_ROUTES: usize = 1024;

/// The net, the gateway, and the time of deletion of each route; the oldest first.
#[derive(Debug, Default)]
pub(super) struct FormerRoutes(VecDeque<(NetId, Nid, Time)>);

impl FormerRoutes {
    /// Records the routes that were deleted.
    pub(super) fn note(&mut self, deleted: impl Iterator<Item = (NetId, Nid)>, now: Time) {
        self.0.extend(deleted.map(|(net, gateway)| (net, gateway, now)));
        while self.0.len() > MAX_ROUTES || self.0.front().is_some_and(|(.., at)| is_over(*at, now)) {
            self.0.pop_front();
        }
    }

    /// Whether a remembered route to `net` had one of these NIDs as its gateway.
    pub(super) fn named(&self, net: NetId, gateway: &[Nid], now: Time) -> bool {
        let is_it = |(its_net, its_gateway, at): &(NetId, Nid, Time)| {
            *its_net == net && gateway.contains(its_gateway) && !is_over(*at, now)
        };
        self.0.iter().any(is_it)
    }
}

fn is_over(deleted: Time, now: Time) -> bool {
    now.since(deleted) >= EXPIRY_TIMEOUT
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_deleted_route_is_remembered_for_a_time_and_no_more_than_a_number_of_them() {
        let nid = |number: usize| -> Nid {
            format!("10.0.{}.{}@tcp", number / 250, 1 + number % 250).parse().unwrap()
        };
        let (far, other) = ("tcp1".parse().unwrap(), "tcp2".parse().unwrap());
        let at = |seconds| Time(Duration::from_secs(seconds));
        let mut former = FormerRoutes::default();
        former.note([(far, nid(1))].into_iter(), at(0));
        former.note([(other, nid(2))].into_iter(), at(200));
        let named =
            |former: &FormerRoutes, net, number, now| former.named(net, &[nid(9), nid(number)], at(now));
        assert!(named(&former, far, 1, 299) && named(&former, other, 2, 299));
        assert!(
            !named(&former, far, 2, 299) && !named(&former, other, 1, 299) && !named(&former, far, 1, 300)
        );
        former.note((0..2 * MAX_ROUTES).map(|number| (far, nid(number))), at(300));
        assert_eq!(former.0.len(), MAX_ROUTES);
        assert!(named(&former, far, 2 * MAX_ROUTES - 1, 300) && !named(&former, other, 2, 300));
    }
}
