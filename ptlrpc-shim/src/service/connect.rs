//! What a connect request leads to: pure (PR-10, PR-11).
//!
//! A client is known by its UUID and the target. While it lives it has one name for the connection, and counts how
//! often it has connected:
//!
//! | the client is | and its count | then |
//! |---|---|---|
//! | not known | any | it gets a connection |
//! | known, by the same name for it | higher | it keeps the connection, and is told so |
//! | known, by another name for it, and says that it is its first | any | it lives anew: the old connection ends |
//! | known, otherwise | higher | it keeps the connection, and is told so |
//! | known, otherwise | the same or lower | dropped: the network has had it for long, and nobody waits for the answer |

use super::duplicates::{DEFAULT_SLOTS, MAX_SLOTS};
use crate::message::body::ExportCookie;
use crate::message::{ConnectData, ConnectFlags};

/// What decides about a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Caller {
    /// Its name for the connection.
    pub(super) handle: ExportCookie,
    /// How often it has connected.
    pub(super) conn_cnt: u32,
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connection {
    New,
    /// It keeps what it has.
    Again,
    /// What it has ends, and it gets a new one.
    Anew,
    /// Drop the request.
    Past,
}

/// `is_first`: the client says so.
pub(super) fn judge(known: Option<Caller>, caller: Caller, is_first: bool) -> Connection {
    match known {
        None => Connection::New,
        Some(known) if known.handle != caller.handle && is_first => Connection::Anew,
        Some(known) if caller.conn_cnt > known.conn_cnt => Connection::Again,
        Some(_) => Connection::Past,
    }
}

/// What both sides can do, and with which numbers. No flag is in it that was not asked for.
pub(super) fn agree(asked: &ConnectData, supported: &ConnectData) -> ConnectData {
    let both = asked.flags & supported.flags;
    // The upper half says nothing unless both sides have it.
    let flags = match both.contains(ConnectFlags::FLAGS2) {
        true => both,
        false => ConnectFlags(both.0 & u128::from(u64::MAX)),
    };
    ConnectData {
        flags,
        brw_size: smaller(asked.brw_size, supported.brw_size),
        ibits: asked.ibits & supported.ibits,
        cksum_types: asked.cksum_types & supported.cksum_types,
        max_easize: smaller(asked.max_easize, supported.max_easize),
        maxmodrpcs: slots(asked.maxmodrpcs, supported.maxmodrpcs),
        group: asked.group,
        ..*supported
    }
}

/// How many slots a client has that asks for so many; 0 is for no wish.
fn slots(asked: u16, supported: u16) -> u16 {
    match smaller(asked, supported) {
        0 => DEFAULT_SLOTS,
        slots => slots.min(MAX_SLOTS),
    }
}

/// The smaller of two, where 0 is for no wish.
fn smaller<T: Ord + Default>(a: T, b: T) -> T {
    if a == T::default() || b == T::default() { a.max(b) } else { a.min(b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_connect_request_leads_to() {
        let caller = |handle, conn_cnt| Caller { handle: ExportCookie(handle), conn_cnt };
        let known = Some(caller(7, 3));
        for (name, known, caller, is_first, want) in [
            ("a stranger", None, caller(7, 1), true, Connection::New),
            ("a stranger who was connected elsewhere", None, caller(7, 9), false, Connection::New),
            ("again", known, caller(7, 4), false, Connection::Again),
            ("again, its first has had no answer", known, caller(7, 4), true, Connection::Again),
            ("the same request", known, caller(7, 3), true, Connection::Past),
            ("an older one", known, caller(7, 2), false, Connection::Past),
            ("a new life", known, caller(8, 1), true, Connection::Anew),
            ("a new name", known, caller(8, 4), false, Connection::Again),
            ("a new name, older", known, caller(8, 1), false, Connection::Past),
        ] {
            assert_eq!(judge(known, caller, is_first), want, "{name}");
        }
    }

    #[test]
    fn numbers_are_those_that_suit_both() {
        for (asked, supported, want) in
            [(0, 0, 8), (0, 16, 16), (4, 16, 4), (16, 4, 4), (4, 0, 4), (500, 600, 64), (1, 9, 1)]
        {
            let of = |maxmodrpcs| ConnectData { maxmodrpcs, ..ConnectData::default() };
            assert_eq!(agree(&of(asked), &of(supported)).maxmodrpcs, want, "{asked} of {supported}");
        }
        let asked = ConnectData { brw_size: 4 << 20, ibits: 0b0110, ..ConnectData::default() };
        let supported =
            ConnectData { brw_size: 1 << 20, ibits: 0b0011, instance: 5, ..ConnectData::default() };
        let agreed = agree(&asked, &supported);
        assert_eq!((agreed.brw_size, agreed.ibits, agreed.instance), (1 << 20, 0b0010, 5));
    }

    #[test]
    fn the_upper_half_of_the_flags_needs_the_flag_for_it() {
        let of = |flags| ConnectData { flags, ..ConnectData::default() };
        let bare = ConnectFlags(ConnectFlags::REP_MBITS.0 & !ConnectFlags::FLAGS2.0);
        for (asked, want) in [
            (ConnectFlags::REP_MBITS, ConnectFlags::REP_MBITS),
            (bare, ConnectFlags::NONE),
            (ConnectFlags::AT | bare, ConnectFlags::AT),
        ] {
            let supported = of(ConnectFlags::REP_MBITS | ConnectFlags::AT);
            assert_eq!(agree(&of(asked), &supported).flags, want, "{asked:?}");
        }
    }

    proptest! {
        #[test]
        fn no_flag_is_given_that_was_not_asked_for(asked: u128, supported: u128) {
            let of = |flags| ConnectData { flags: ConnectFlags(flags), ..ConnectData::default() };
            let agreed = agree(&of(asked), &of(supported)).flags;
            prop_assert!(agreed.is_subset_of(ConnectFlags(asked)));
            prop_assert!(agreed.is_subset_of(ConnectFlags(supported)));
        }
    }
}
