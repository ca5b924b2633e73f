//! The liveness of a router's nets: whether messages of other nodes still arrive there (RT-32).

use crate::environment::time::Time;
use crate::sync::{Mutex, lock};
use lnet_wire::NetId;
use std::collections::HashMap;
use std::time::Duration;

/// The longest time between two examinations of a net. A net that is not alive is examined at this interval too, so that the next
/// message makes it alive soon.
const INTERVAL: Duration = Duration::from_secs(1);

/// The liveness of all nets. The kernel counts pings of other nodes; here each message that arrives on the net counts.
#[derive(Debug, Default)]
pub(crate) struct NetLiveness {
    nets: Mutex<HashMap<NetId, NetTraffic>>,
}

#[derive(Clone, Copy, Debug)]
struct NetTraffic {
    /// The number of messages received on the net, and the time at which it was first seen.
    messages: u64,
    at: Time,
    is_alive: bool,
}

impl NetLiveness {
    /// The nets of `nets` whose liveness has changed, each with its present one, and the time of the next call. `nets` has
    /// the number of messages received on each net. A new net is alive. Without a `timeout` all nets are.
    pub(crate) fn poll(
        &self,
        nets: &[(NetId, u64)],
        now: Time,
        timeout: Option<Duration>,
    ) -> (Vec<(NetId, bool)>, Option<Time>) {
        let heard = &mut *lock(&self.nets);
        let Some(timeout) = timeout else {
            let were_down = heard.drain().filter(|(_, heard)| !heard.is_alive);
            return (were_down.map(|(net, _)| (net, true)).collect(), None);
        };
        heard.retain(|net, _| nets.iter().any(|(its, _)| its == net));
        let mut changed = Vec::new();
        for (net, messages) in nets {
            let new = NetTraffic { messages: *messages, at: now, is_alive: true };
            let heard = heard.entry(*net).or_insert(new);
            let was_alive = heard.is_alive;
            if heard.messages != *messages {
                *heard = new;
            }
            heard.is_alive = now.since(heard.at) < timeout;
            if heard.is_alive != was_alive {
                changed.push((*net, heard.is_alive));
            }
        }
        (changed, (!nets.is_empty()).then(|| now + INTERVAL))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use lnet_wire::NetType;

    #[test]
    fn a_net_is_alive_until_nothing_has_arrived_for_the_timeout_and_again_with_the_next_message() {
        let liveness = NetLiveness::default();
        let net = |number| NetId::new(NetType::TCP, number);
        // Seconds, messages received on net 1 and net 2 (`None`: left), and the nets that change.
        type Row = (u64, [Option<u64>; 2], &'static [(u16, bool)]);
        let table: [Row; 9] = [
            (0, [Some(0), Some(7)], &[]),
            (109, [Some(0), Some(8)], &[]),
            (110, [Some(0), Some(8)], &[(1, false)]),
            (111, [Some(0), Some(8)], &[]),
            (112, [Some(1), Some(8)], &[(1, true)]),
            (219, [Some(2), Some(8)], &[(2, false)]),
            (220, [Some(2), None], &[]),
            // The net has been joined again.
            (221, [Some(2), Some(8)], &[]),
            (329, [Some(2), Some(8)], &[(1, false)]),
        ];
        for (now, messages, expected) in table {
            let nets: Vec<_> =
                (1..).zip(messages).filter_map(|(number, messages)| Some((net(number), messages?))).collect();
            let at = Time(Duration::from_secs(now));
            let (changed, next) = liveness.poll(&nets, at, Some(Duration::from_secs(110)));
            let expected: Vec<_> = expected.iter().map(|(number, alive)| (net(*number), *alive)).collect();
            assert_eq!((changed, next), (expected, Some(at + INTERVAL)), "{now}");
        }
        assert_eq!(liveness.poll(&[], Time(Duration::from_secs(330)), None), (vec![(net(1), true)], None));
    }
}
