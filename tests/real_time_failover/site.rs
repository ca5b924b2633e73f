//! The sites: their machines, the nets of their nodes, and the nodes that forward.

use super::machines::Wiring;
use lnet_wire::Nid;

/// The machine whose rails break.
pub const NEAR: usize = 0;
/// The machine whose process stops and dies.
pub const FAR: usize = 1;
/// The machines between the two where they are on different nets.
pub const ROUTERS: [usize; 2] = [2, 3];
/// The routers of the second hop, on the side of [`FAR`], where there are two routers in a row.
pub const SECOND_ROUTERS: [usize; 2] = [4, 5];
/// Rails, and cards of each machine.
pub const RAILS: usize = 2;
/// The rail that breaks.
pub const RAIL: usize = 1;

pub const WIRING: Wiring = Wiring::SwitchPerCard;

/// The machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// Two, with all rails on one net.
    Rails,
    /// The near one on `tcp`, by its first card, the far one on `tcp1`, by its second, and two routers between them.
    Routers,
    /// The near one on `tcp`, the far one on `tcp1`, by their first cards; two routers to `tcp2` and two from there.
    TwoHops,
    /// The near one on `tcp`, the far one on `tcp1`, and one router between them, each with all rails.
    RailedRouter,
}

/// An interface: its net, and the number of its card.
pub type Interface = (&'static str, usize);

impl Site {
    /// The number of machines.
    pub const fn machines(self) -> usize {
        2 + self.routers().len()
    }

    /// The machines that forward.
    pub const fn routers(self) -> &'static [usize] {
        match self {
            Self::Rails => &[],
            Self::Routers => &ROUTERS,
            Self::TwoHops => &[2, 3, 4, 5],
            Self::RailedRouter => &[2],
        }
    }

    /// The interfaces of a machine's node.
    pub fn interfaces(self, machine: usize) -> Vec<Interface> {
        let rails = |net: &'static str| (0..RAILS).map(move |card| (net, card));
        match (self, machine) {
            (Self::Rails, _) | (Self::RailedRouter, NEAR) => rails("tcp").collect(),
            (Self::RailedRouter, FAR) => rails("tcp1").collect(),
            (Self::RailedRouter, _) => rails("tcp").chain(rails("tcp1")).collect(),
            (_, NEAR) => vec![("tcp", 0)],
            (Self::Routers, FAR) => vec![("tcp1", 1)],
            (Self::Routers, _) => vec![("tcp", 0), ("tcp1", 1)],
            (Self::TwoHops, FAR) => vec![("tcp1", 0)],
            (Self::TwoHops, router) if SECOND_ROUTERS.contains(&router) => vec![("tcp2", 1), ("tcp1", 0)],
            (Self::TwoHops, _) => vec![("tcp", 0), ("tcp2", 1)],
        }
    }

    /// The routes of a machine's node: the net, and the NID of the gateway.
    pub fn routes(self, machine: usize) -> Vec<(&'static str, Nid)> {
        let over = |net, routers: &[usize], gateway_net, card| -> Vec<_> {
            routers.iter().map(|router| (net, nid(gateway_net, *router, card))).collect()
        };
        let routers = match self {
            Self::RailedRouter => self.routers(),
            _ => &ROUTERS,
        };
        match (self, machine) {
            (Self::Rails, _) => Vec::new(),
            (_, NEAR) => over("tcp1", routers, "tcp", 0),
            (Self::Routers, FAR) => over("tcp", routers, "tcp1", 1),
            (Self::RailedRouter, FAR) => over("tcp", routers, "tcp1", 0),
            (Self::TwoHops, FAR) => over("tcp", &SECOND_ROUTERS, "tcp1", 0),
            (Self::TwoHops, router) if ROUTERS.contains(&router) => over("tcp1", &SECOND_ROUTERS, "tcp2", 1),
            (Self::TwoHops, _) => over("tcp", &ROUTERS, "tcp2", 1),
            _ => Vec::new(),
        }
    }

    /// Whether the machine is a router.
    pub fn forwards(self, machine: usize) -> bool {
        self.routers().contains(&machine)
    }

    /// The NIDs of a machine's node.
    pub fn nids(self, machine: usize) -> Vec<Nid> {
        self.interfaces(machine).into_iter().map(|(net, card)| nid(net, machine, card)).collect()
    }

    /// The interfaces over which there is traffic as long as nothing is broken: machine and card.
    pub fn used(self) -> Vec<(usize, usize)> {
        let machines = match self {
            Self::Rails => &[NEAR, FAR],
            _ => self.routers(),
        };
        machines.iter().flat_map(|machine| (0..RAILS).map(|card| (*machine, card))).collect()
    }

    /// The interfaces that a scenario breaks.
    pub fn broken(self) -> Vec<(usize, usize)> {
        match self {
            Self::Rails => vec![(NEAR, RAIL), (FAR, RAIL)],
            _ => self.used(),
        }
    }
}

fn nid(net: &str, machine: usize, card: usize) -> Nid {
    format!("{}@{net}", WIRING.address(machine, card)).parse().unwrap()
}
