//! Detection of gateways that have messages and do not respond: a stopped process still acknowledges what TCP brings it.

use crate::environment::time::Time;
use crate::memory::MdHandle;
use crate::sync::{Mutex, lock};
use lnet_wire::Nid;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The interval of the examination while any gateway has messages.
const INTERVAL: Duration = Duration::from_millis(500);
/// The time without a message from a gateway after which it is pinged.
const PING_TIMEOUT: Duration = Duration::from_millis(500);
/// The time without a message from a gateway after which its path counts as unresponsive.
const UNRESPONSIVE_TIMEOUT: Duration = Duration::from_millis(1500);

/// The watch over gateways, see the module. Any thread may call its methods; none of them makes upcalls.
#[derive(Debug, Default)]
pub(crate) struct GatewayWatch {
    /// Whether [`GatewayWatch::poll`] has been scheduled.
    armed: AtomicBool,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    due: Option<Time>,
    gateways: HashMap<Nid, Watched>,
}

#[derive(Debug)]
struct Watched {
    /// The number of messages received from the gateway, and the time since which it has not changed.
    received: u64,
    since: Time,
    is_pinged: bool,
    ping: Option<MdHandle>,
}

/// The actions that are due.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct GatewayActions {
    /// The gateways to ping.
    pub(crate) ping: Vec<Nid>,
    /// The gateways whose paths are unresponsive.
    pub(crate) unresponsive: Vec<Nid>,
    /// The MDs of pings that have served their purpose.
    pub(crate) old_pings: Vec<MdHandle>,
    /// The time of the next [`GatewayWatch::poll`].
    pub(crate) next: Option<Time>,
}

impl GatewayWatch {
    /// Starts the watch when a message is sent to a gateway; returns whether [`GatewayWatch::poll`] becomes due at another time.
    pub(crate) fn arm(&self, now: impl FnOnce() -> Time) -> bool {
        let is_new = !self.armed.load(Ordering::Relaxed) && !self.armed.swap(true, Ordering::Relaxed);
        if is_new {
            lock(&self.table).due = Some(now() + INTERVAL);
        }
        is_new
    }

    /// The actions that are due now. `busy` returns the gateways that have messages, each with the number received from it.
    pub(crate) fn poll(&self, now: Time, busy: impl FnOnce() -> Vec<(Nid, u64)>) -> GatewayActions {
        let table = &mut *lock(&self.table);
        if table.due.is_none_or(|due| now < due) {
            return GatewayActions { next: table.due, ..GatewayActions::default() };
        }
        let busy = busy();
        let mut actions = GatewayActions::default();
        let gone = table.gateways.extract_if(|nid, _| !busy.iter().any(|(busy, _)| busy == nid));
        actions.old_pings.extend(gone.filter_map(|(_, watched)| watched.ping));
        for (nid, received) in &busy {
            let new = || Watched { received: *received, since: now, is_pinged: false, ping: None };
            let watched = table.gateways.entry(*nid).or_insert_with(new);
            let for_long = now.since(watched.since);
            if watched.received != *received || for_long >= UNRESPONSIVE_TIMEOUT {
                if watched.received == *received {
                    actions.unresponsive.push(*nid);
                }
                actions.old_pings.extend(watched.ping.take());
                *watched = new();
            } else if for_long >= PING_TIMEOUT && !watched.is_pinged {
                watched.is_pinged = true;
                actions.ping.push(*nid);
            }
        }
        table.due = (!busy.is_empty()).then(|| now + INTERVAL);
        self.armed.store(table.due.is_some(), Ordering::Relaxed);
        actions.next = table.due;
        actions
    }

    /// Stores the ping that has been sent to the gateway.
    pub(crate) fn pinged(&self, gateway: Nid, ping: MdHandle) {
        if let Some(watched) = lock(&self.table).gateways.get_mut(&gateway) {
            watched.ping = Some(ping);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_that_has_messages_and_says_nothing_is_pinged_and_then_unresponsive() {
        let watch = GatewayWatch::default();
        let at = |halves: u32| Time(INTERVAL * halves);
        let gateway: Nid = "10.0.0.9@tcp".parse().unwrap();
        let poll = |now, received: Option<u64>| {
            let GatewayActions { ping, unresponsive, next, .. } =
                watch.poll(at(now), || received.map(|received| (gateway, received)).into_iter().collect());
            (ping.len(), unresponsive.len(), next)
        };
        assert_eq!(poll(0, None), (0, 0, None));
        assert!(watch.arm(|| at(0)) && !watch.arm(|| at(0)));
        assert_eq!(poll(0, Some(1)), (0, 0, Some(at(1))));
        assert_eq!(poll(1, Some(1)), (0, 0, Some(at(2))));
        assert_eq!(poll(2, Some(1)), (1, 0, Some(at(3))));
        assert_eq!(poll(3, Some(1)), (0, 0, Some(at(4))));
        assert_eq!(poll(4, Some(1)), (0, 1, Some(at(5))));
        assert_eq!(poll(5, Some(1)), (1, 0, Some(at(6))));
        // The gateway has responded.
        assert_eq!(poll(6, Some(2)), (0, 0, Some(at(7))));
        assert_eq!(poll(7, Some(3)), (0, 0, Some(at(8))));
        assert_eq!(poll(8, None), (0, 0, None));
        assert!(watch.arm(|| at(9)));
    }
}
