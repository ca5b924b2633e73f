//! The schedule of gateway checks (RT-30), which ask gateways whether they forward: one check per interval on each net that the
//! gateway shares with this node, and one at once when its state may have changed.

use crate::environment::time::Time;
use crate::sync::{Mutex, lock};
use lnet_wire::NetId;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The time after which a gateway that did not respond is checked again, if the interval is not shorter.
const FAILED_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// The least time between two checks of a gateway, so that a response cannot cause the next check at once.
const MIN_INTERVAL: Duration = Duration::from_secs(1);

/// The properties of a gateway that its checks depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gateway {
    /// The id of the gateway's discovery state.
    pub(crate) id: u64,
    /// Whether the gateway did not respond to the last check.
    pub(crate) failed: bool,
    /// The nets that the gateway shares with this node.
    pub(crate) nets: Vec<NetId>,
}

/// A check that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DueCheck {
    /// The id of the gateway's discovery state.
    pub(crate) id: u64,
    /// The net on which the gateway is pinged; `None` if it shares only one with this node.
    pub(crate) net: Option<NetId>,
}

/// The schedule of the checks of all gateways.
#[derive(Debug, Default)]
pub(crate) struct GatewayChecks {
    /// The next check of each gateway, by the id of its discovery state.
    next: Mutex<HashMap<u64, Check>>,
    any_down: AtomicBool,
    /// The nets that were last logged as having no route that is up.
    nets_down: Mutex<BTreeSet<NetId>>,
}

/// The schedule of one gateway.
#[derive(Clone, Copy, Debug)]
struct Check {
    next: Time,
    last: Option<Time>,
    /// The number of checks so far: the gateway's nets take turns.
    count: usize,
}

/// The number of routes to a net, and the number of those that are up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NetRoutes {
    pub(crate) net: NetId,
    pub(crate) routes: usize,
    pub(crate) up: usize,
}

impl GatewayChecks {
    /// The gateways of `all` that are to be checked now, and the time of the next check. The first check of a new gateway comes
    /// after an interval: it was discovered when its route was added. A zero `interval` disables the checks.
    pub(crate) fn due(
        &self,
        all: &[Gateway],
        now: Time,
        interval: Duration,
    ) -> (Vec<DueCheck>, Option<Time>) {
        let next = &mut *lock(&self.next);
        next.retain(|id, _| all.iter().any(|gateway| gateway.id == *id));
        if interval.is_zero() {
            next.clear();
            return (Vec::new(), None);
        }
        let mut due = Vec::new();
        for Gateway { id, failed, nets } in all {
            let turns = u32::try_from(nets.len()).unwrap_or(u32::MAX).max(1);
            let interval = (interval / turns).max(MIN_INTERVAL.min(interval));
            let pause = if *failed { interval.min(FAILED_CHECK_INTERVAL) } else { interval };
            let check = next.entry(*id).or_insert(Check { next: now + pause, last: None, count: 0 });
            // The gateway may have failed since, or the interval have become shorter.
            check.next = check.next.min(now + pause);
            if check.next <= now {
                let turn = check.count.checked_rem(nets.len()).filter(|_| nets.len() > 1);
                due.push(DueCheck { id: *id, net: turn.and_then(|turn| nets.get(turn).copied()) });
                *check = Check { next: now + pause, last: Some(now), count: check.count.wrapping_add(1) };
            }
        }
        (due, next.values().map(|check| check.next).min())
    }

    /// Schedules a check of the gateway as soon as [`MIN_INTERVAL`] allows. A gateway without a schedule is being discovered, and
    /// needs none. Returns whether the check becomes due sooner.
    pub(crate) fn recheck_now(&self, gateway: u64, now: Time) -> bool {
        let next = &mut *lock(&self.next);
        let Some(check) = next.get_mut(&gateway) else { return false };
        let soonest = check.last.map_or(now, |last| (last + MIN_INTERVAL).max(now));
        let is_sooner = soonest < check.next;
        check.next = check.next.min(soonest);
        is_sooner
    }

    /// Stores the number of routes to each net that are up; returns the nets that have lost their last one, or have one again.
    pub(crate) fn note_nets(&self, all: &[NetRoutes]) -> Vec<NetRoutes> {
        let down = &mut *lock(&self.nets_down);
        down.retain(|net| all.iter().any(|routes| routes.net == *net));
        let mut has_changed = |its: &NetRoutes| match its.up {
            0 => down.insert(its.net),
            _ => down.remove(&its.net),
        };
        all.iter().copied().filter(|its| has_changed(its)).collect()
    }

    /// Whether any route is down. Cheap: read for every message that arrives.
    pub(crate) fn any_down(&self) -> bool {
        self.any_down.load(Ordering::Relaxed)
    }

    pub(crate) fn set_any_down(&self, any_down: bool) {
        self.any_down.store(any_down, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_gateway_is_checked_once_in_an_interval_and_sooner_on_request() {
        let checks = GatewayChecks::default();
        let at = |seconds| Time(Duration::from_secs(seconds));
        let due = |ids: &[u64], now, interval| {
            let gateway = |id: &u64| Gateway { id: *id, failed: *id > 10, nets: Vec::new() };
            let gateways: Vec<_> = ids.iter().map(gateway).collect();
            let (due, next) = checks.due(&gateways, at(now), Duration::from_secs(interval));
            (due.iter().map(|check| check.id).collect::<Vec<_>>(), next)
        };
        assert_eq!(due(&[], 0, 60), (vec![], None));
        assert_eq!(due(&[1], 0, 60), (vec![], Some(at(60))));
        assert_eq!(due(&[1, 2], 59, 60), (vec![], Some(at(60))));
        assert_eq!(due(&[1, 2], 60, 60), (vec![1], Some(at(119))));
        assert!(
            checks.recheck_now(1, at(70)) && !checks.recheck_now(1, at(70)) && !checks.recheck_now(3, at(70))
        );
        assert_eq!(due(&[1, 2], 70, 60), (vec![1], Some(at(119))));
        assert_eq!(due(&[1, 2], 71, 10), (vec![], Some(at(81))));
        let checked_at_81 = |now| {
            assert_eq!(due(&[1, 2], 81, 10), (vec![1, 2], Some(at(91))));
            checks.recheck_now(1, at(now));
            due(&[1, 2], now, 10)
        };
        assert_eq!(checked_at_81(81), (vec![], Some(at(82))));
        assert_eq!(due(&[1, 2], 82, 10), (vec![1], Some(at(91))));
        // Gateway 1 has no route any more.
        assert_eq!(due(&[2], 91, 10), (vec![2], Some(at(101))));
        assert_eq!(due(&[2], 200, 0), (vec![], None));
        // Gateway 11 has failed.
        assert_eq!(due(&[11], 300, 60), (vec![], Some(at(305))));
        assert_eq!(due(&[11], 305, 2), (vec![11], Some(at(307))));
    }

    #[test]
    fn the_nets_of_a_gateway_take_turns_so_that_each_is_checked_once_in_an_interval() {
        let checks = GatewayChecks::default();
        let nets: Vec<_> = (1..=3).map(|number| NetId::new(lnet_wire::NetType::TCP, number)).collect();
        let due = |now, nets: &[NetId]| {
            let gateway = Gateway { id: 1, failed: false, nets: nets.to_vec() };
            let (due, next) = checks.due(&[gateway], Time(Duration::from_secs(now)), Duration::from_secs(60));
            let net = due.first().map(|check| check.net.map(|net| net.number()));
            (net, next.map(|next| next.0.as_secs()))
        };
        assert_eq!(due(0, &nets), (None, Some(20)));
        let checked = [20, 40, 60, 80].map(|now| due(now, &nets).0);
        assert_eq!(checked, [Some(Some(1)), Some(Some(2)), Some(Some(3)), Some(Some(1))]);
        // The gateway has lost two of its nets.
        assert_eq!(due(81, &nets[..1]), (None, Some(100)));
        assert_eq!(due(100, &nets[..1]), (Some(None), Some(160)));
        assert_eq!(due(160, &[]), (Some(None), Some(220)));
    }

    #[test]
    fn a_net_changes_with_its_last_route() {
        let checks = GatewayChecks::default();
        let net = |number| NetId::new(lnet_wire::NetType::TCP, number);
        let one = |number, up| NetRoutes { net: net(number), routes: 2, up };
        // The numbers of routes that are up to net 1 and net 2, and the nets that change; `None`: no routes.
        let table: [(Option<usize>, Option<usize>, &[u16]); 7] = [
            (Some(2), Some(1), &[]),
            (Some(0), Some(1), &[1]),
            (Some(0), Some(0), &[2]),
            (Some(0), Some(0), &[]),
            (Some(1), None, &[1]),
            (Some(2), Some(1), &[]),
            (Some(2), Some(0), &[2]),
        ];
        for (first, second, expected) in table {
            let all: Vec<_> =
                [first.map(|up| one(1, up)), second.map(|up| one(2, up))].into_iter().flatten().collect();
            let changed: Vec<_> = checks.note_nets(&all).iter().map(|routes| routes.net).collect();
            assert_eq!(changed, expected.iter().map(|number| net(*number)).collect::<Vec<_>>(), "{all:?}");
        }
    }
}
