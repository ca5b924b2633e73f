//! Decisions about connect requests (PR-10, PR-11).
//!
//! A client is identified by its UUID and the target. During its lifetime it has one handle for the connection, and counts
//! its connect requests:
//!
//! | the client is | and its connection count | then |
//! |---|---|---|
//! | unknown | any | it gets a connection |
//! | known, with the same handle | higher | it keeps the connection, and the reply says so |
//! | known, with another handle, and the request is an initial one | any | it has restarted: the old connection ends |
//! | known, otherwise | higher | it keeps the connection, and the reply says so |
//! | known, otherwise | the same or lower | dropped: the request is stale, and no reply is waited for |

use super::duplicates::MAX_SLOTS;
use crate::message::body::ExportCookie;
use crate::message::{ConnectData, ConnectFlags, DEFAULT_SLOTS};

/// A client's side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientSide {
    /// The client's handle of the connection.
    pub(crate) handle: ExportCookie,
    /// The client's connection count.
    pub(crate) conn_cnt: u32,
}

/// The kind of a connect request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectKind {
    New,
    /// The client keeps its connection.
    Reconnect,
    /// The client's connection ends, and it gets a new one.
    Restarted,
    /// Delayed by the network: it is dropped.
    Stale,
}

/// Classifies a connect request. `initial`: the client has not been connected before, as it says.
pub(crate) fn classify(known: Option<ClientSide>, client: ClientSide, initial: bool) -> ConnectKind {
    match known {
        None => ConnectKind::New,
        Some(known) if known.handle != client.handle && initial => ConnectKind::Restarted,
        Some(known) if client.conn_cnt > known.conn_cnt => ConnectKind::Reconnect,
        Some(_) => ConnectKind::Stale,
    }
}

/// Returns the connect data that both sides support. It has no flag that was not requested.
pub(crate) fn agree(requested: &ConnectData, supported: &ConnectData) -> ConnectData {
    let both = requested.flags & supported.flags;
    // The upper half is only valid if both sides have it.
    let flags = match both.contains(ConnectFlags::FLAGS2) {
        true => both,
        false => ConnectFlags(both.0 & u128::from(u64::MAX)),
    };
    ConnectData {
        flags,
        brw_size: smaller(requested.brw_size, supported.brw_size),
        ibits: requested.ibits & supported.ibits,
        cksum_types: requested.cksum_types & supported.cksum_types,
        max_easize: smaller(requested.max_easize, supported.max_easize),
        maxmodrpcs: slots(requested.maxmodrpcs, supported.maxmodrpcs),
        group: requested.group,
        ..*supported
    }
}

/// The number of slots granted to a client that requests `requested`; 0: no preference.
fn slots(requested: u16, supported: u16) -> u16 {
    match smaller(requested, supported) {
        0 => DEFAULT_SLOTS,
        slots => slots.min(MAX_SLOTS),
    }
}

/// Returns the smaller of two, where 0 is no preference.
fn smaller<T: Ord + Default>(a: T, b: T) -> T {
    if a == T::default() || b == T::default() { a.max(b) } else { a.min(b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_connect_request_leads_to() {
        let client = |handle, conn_cnt| ClientSide { handle: ExportCookie(handle), conn_cnt };
        let known = Some(client(7, 3));
        for (name, known, client, initial, want) in [
            ("unknown", None, client(7, 1), true, ConnectKind::New),
            ("unknown, and connected elsewhere before", None, client(7, 9), false, ConnectKind::New),
            ("a reconnect", known, client(7, 4), false, ConnectKind::Reconnect),
            (
                "a reconnect, after an initial request without a reply",
                known,
                client(7, 4),
                true,
                ConnectKind::Reconnect,
            ),
            ("the same request", known, client(7, 3), true, ConnectKind::Stale),
            ("an older one", known, client(7, 2), false, ConnectKind::Stale),
            ("restarted", known, client(8, 1), true, ConnectKind::Restarted),
            ("another handle", known, client(8, 4), false, ConnectKind::Reconnect),
            ("another handle, older", known, client(8, 1), false, ConnectKind::Stale),
        ] {
            assert_eq!(classify(known, client, initial), want, "{name}");
        }
    }

    #[test]
    fn limits_are_those_of_both_sides() {
        for (requested, supported, want) in
            [(0, 0, 8), (0, 16, 16), (4, 16, 4), (16, 4, 4), (4, 0, 4), (500, 600, 64), (1, 9, 1)]
        {
            let of = |maxmodrpcs| ConnectData { maxmodrpcs, ..ConnectData::default() };
            assert_eq!(agree(&of(requested), &of(supported)).maxmodrpcs, want, "{requested} of {supported}");
        }
        let requested = ConnectData { brw_size: 4 << 20, ibits: 0b0110, ..ConnectData::default() };
        let supported =
            ConnectData { brw_size: 1 << 20, ibits: 0b0011, instance: 5, ..ConnectData::default() };
        let agreed = agree(&requested, &supported);
        assert_eq!((agreed.brw_size, agreed.ibits, agreed.instance), (1 << 20, 0b0010, 5));
    }

    #[test]
    fn the_upper_half_of_the_flags_needs_the_flag_for_it() {
        let of = |flags| ConnectData { flags, ..ConnectData::default() };
        let bare = ConnectFlags(ConnectFlags::REP_MBITS.0 & !ConnectFlags::FLAGS2.0);
        for (requested, want) in [
            (ConnectFlags::REP_MBITS, ConnectFlags::REP_MBITS),
            (bare, ConnectFlags::NONE),
            (ConnectFlags::AT | bare, ConnectFlags::AT),
        ] {
            let supported = of(ConnectFlags::REP_MBITS | ConnectFlags::AT);
            assert_eq!(agree(&of(requested), &supported).flags, want, "{requested:?}");
        }
    }

    proptest! {
        #[test]
        fn no_flag_is_granted_that_was_not_requested(requested: u128, supported: u128) {
            let of = |flags| ConnectData { flags: ConnectFlags(flags), ..ConnectData::default() };
            let agreed = agree(&of(requested), &of(supported)).flags;
            prop_assert!(agreed.is_subset_of(ConnectFlags(requested)));
            prop_assert!(agreed.is_subset_of(ConnectFlags(supported)));
        }
    }
}
