//! Which machines there are, on which nets their nodes are, and who forwards.

use super::machines::Wiring;
use lnet_wire::Nid;

/// The machine whose rails break.
pub const NEAR: usize = 0;
/// The machine whose process stops and dies.
pub const FAR: usize = 1;
/// The machines between the two where they are on different nets.
pub const ROUTERS: [usize; 2] = [2, 3];
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
}

/// An interface: its net, and the number of its card.
pub type Interface = (&'static str, usize);

impl Site {
    /// How many.
    pub const fn machines(self) -> usize {
        match self {
            Self::Rails => 2,
            Self::Routers => 4,
        }
    }

    /// The interfaces of a machine's node.
    pub fn interfaces(self, machine: usize) -> Vec<Interface> {
        match (self, machine) {
            (Self::Rails, _) => (0..RAILS).map(|card| ("tcp", card)).collect(),
            (Self::Routers, NEAR) => vec![("tcp", 0)],
            (Self::Routers, FAR) => vec![("tcp1", 1)],
            (Self::Routers, _) => vec![("tcp", 0), ("tcp1", 1)],
        }
    }

    /// Its routes: to which net, and over which NID.
    pub fn routes(self, machine: usize) -> Vec<(&'static str, Nid)> {
        let over =
            |net, gateway_net, card| ROUTERS.map(|router| (net, nid(gateway_net, router, card))).to_vec();
        match (self, machine) {
            (Self::Routers, NEAR) => over("tcp1", "tcp", 0),
            (Self::Routers, FAR) => over("tcp", "tcp1", 1),
            _ => Vec::new(),
        }
    }

    /// Whether it is a router.
    pub fn forwards(self, machine: usize) -> bool {
        self == Self::Routers && ROUTERS.contains(&machine)
    }

    /// What a machine's node is called.
    pub fn nids(self, machine: usize) -> Vec<Nid> {
        self.interfaces(machine).into_iter().map(|(net, card)| nid(net, machine, card)).collect()
    }

    /// The interfaces over which there is traffic as long as nothing is broken: machine and card.
    pub fn used(self) -> Vec<(usize, usize)> {
        let machines: &[usize] = if self == Self::Rails { &[NEAR, FAR] } else { &ROUTERS };
        machines.iter().flat_map(|machine| (0..RAILS).map(|card| (*machine, card))).collect()
    }

    /// Those that break.
    pub fn broken(self) -> Vec<(usize, usize)> {
        match self {
            Self::Rails => vec![(NEAR, RAIL), (FAR, RAIL)],
            Self::Routers => self.used(),
        }
    }
}

fn nid(net: &str, machine: usize, card: usize) -> Nid {
    format!("{}@{net}", WIRING.address(machine, card)).parse().unwrap()
}
