//! A network interface of this node.

use lnet_wire::Nid;

/// One network interface of this node.
#[derive(Debug)]
pub struct Ni {
    nid: Nid,
}

impl Ni {
    /// Its identity. For TCP the address part is the IP address to bind.
    pub const fn nid(&self) -> Nid {
        self.nid
    }
}
