//! The configuration of an import: the target, its servers, and the protocol.

use crate::message::portal::Portals;
use crate::message::{ConnectData, ConnectFlags, DEFAULT_SLOTS, Name, Opcode, Portal, Service};

/// The target of an import, its servers, and the protocol.
#[derive(Clone, Debug)]
pub struct ImportConfig {
    /// The target.
    pub target: Name,
    /// The UUID of this client: unique, and the same for the client's lifetime.
    pub client: Name,
    /// UUIDs of the servers that may have the target, the most likely first
    /// ([`Client::add_uuid`](crate::client::Client::add_uuid)).
    pub servers: Vec<String>,
    /// The portals of requests and replies.
    pub portals: Portals,
    /// The portal of bulk data.
    pub bulk_portal: Portal,
    /// The protocol of the target's requests.
    pub service: Service,
    /// The connect operation.
    pub connect: Opcode,
    /// The disconnect operation.
    pub disconnect: Opcode,
    /// The connect data that is requested of the server.
    pub connect_data: ConnectData,
}

impl ImportConfig {
    /// An object target: OST requests and their bulk data.
    pub fn ost(target: Name, client: Name, server: &str) -> Self {
        Self {
            target,
            client,
            servers: vec![server.to_owned()],
            portals: Portals::OST,
            bulk_portal: Portal::OST_BULK,
            service: Service::OST,
            connect: Opcode::OST_CONNECT,
            disconnect: Opcode::OST_DISCONNECT,
            connect_data: Self::default_connect_data(),
        }
    }

    /// The connect data that is requested by default, of any target.
    pub fn default_connect_data() -> ConnectData {
        ConnectData {
            flags: ConnectFlags::FULL20
                .union(ConnectFlags::AT)
                .union(ConnectFlags::BULK_MBITS)
                .union(ConnectFlags::VERSION),
            version: 0x020f_0800,
            maxmodrpcs: DEFAULT_SLOTS,
            ..ConnectData::default()
        }
    }

    /// The protocol of an operation: connecting and pinging are the same for all targets.
    pub(crate) fn service_of(&self, opcode: Opcode) -> Service {
        let common = opcode == Opcode::PING || opcode == self.connect || opcode == self.disconnect;
        if common { Service::OBD } else { self.service }
    }
}
