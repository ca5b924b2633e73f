//! The LNet portals of PtlRPC: where requests, replies and bulk data go.
//!
//! Portal 0 is LNet's own. Request portals match any match bits, reply and bulk portals exact ones; no portal is both (PR-31).

/// An LNet portal of PtlRPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Portal(pub u32);

/// The portals of an import: that of its requests, and that of their replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Portals {
    /// The portal of requests, at the server.
    pub request: Portal,
    /// The portal of replies, at the client.
    pub reply: Portal,
}

impl Portal {
    /// Replies to clients of targets for objects, and of object updates.
    pub const OSC_REPLY: Self = Self(4);
    /// Reads and writes of objects.
    pub const OST_IO: Self = Self(6);
    /// Requests to create objects.
    pub const OST_CREATE: Self = Self(7);
    /// Bulk data of objects.
    pub const OST_BULK: Self = Self(8);
    /// Replies to clients of targets for metadata.
    pub const MDC_REPLY: Self = Self(10);
    /// Requests for metadata.
    pub const MDS_REQUEST: Self = Self(12);
    /// Reads and writes of data on MDTs.
    pub const MDS_IO: Self = Self(13);
    /// Bulk data of metadata.
    pub const MDS_BULK: Self = Self(14);
    /// Lock callbacks, from servers to clients.
    pub const LDLM_CALLBACK_REQUEST: Self = Self(15);
    /// Replies to lock callbacks.
    pub const LDLM_CALLBACK_REPLY: Self = Self(16);
    /// Lock cancellations, from clients to servers.
    pub const LDLM_CANCEL_REQUEST: Self = Self(17);
    /// Replies to lock cancellations.
    pub const LDLM_CANCEL_REPLY: Self = Self(18);
    /// Requests for pages of directories.
    pub const MDS_READPAGE: Self = Self(23);
    /// Requests for object updates, from one target to another.
    pub const OUT: Self = Self(24);
    /// Replies to clients of the management service.
    pub const MGC_REPLY: Self = Self(25);
    /// Requests to the management service.
    pub const MGS_REQUEST: Self = Self(26);
    /// Requests for objects other than reads and writes.
    pub const OST_REQUEST: Self = Self(28);
    /// Bulk data of the management service.
    pub const MGS_BULK: Self = Self(33);
}

impl Portals {
    /// The portals of the management service.
    pub const MGS: Self = Self { request: Portal::MGS_REQUEST, reply: Portal::MGC_REPLY };
    /// The portals for metadata.
    pub const MDS: Self = Self { request: Portal::MDS_REQUEST, reply: Portal::MDC_REPLY };
    /// The portals for data on MDTs.
    pub const MDS_IO: Self = Self { request: Portal::MDS_IO, reply: Portal::MDC_REPLY };
    /// The portals for pages of directories.
    pub const MDS_READPAGE: Self = Self { request: Portal::MDS_READPAGE, reply: Portal::MDC_REPLY };
    /// The portals for objects.
    pub const OST: Self = Self { request: Portal::OST_REQUEST, reply: Portal::OSC_REPLY };
    /// The portals for reads and writes of objects.
    pub const OST_IO: Self = Self { request: Portal::OST_IO, reply: Portal::OSC_REPLY };
    /// The portals for the creation of objects.
    pub const OST_CREATE: Self = Self { request: Portal::OST_CREATE, reply: Portal::OSC_REPLY };
    /// The portals for object updates.
    pub const OUT: Self = Self { request: Portal::OUT, reply: Portal::OSC_REPLY };
    /// The portals of lock callbacks, from servers to clients.
    pub const LDLM_CALLBACK: Self =
        Self { request: Portal::LDLM_CALLBACK_REQUEST, reply: Portal::LDLM_CALLBACK_REPLY };
    /// The portals of lock cancellations, from clients to servers.
    pub const LDLM_CANCEL: Self =
        Self { request: Portal::LDLM_CANCEL_REQUEST, reply: Portal::LDLM_CANCEL_REPLY };
}
