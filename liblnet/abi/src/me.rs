//! Match entries.

use crate::backend;
use crate::entry::{entry, not_null};
use crate::types::{
    __u64, EnumInsPos, EnumUnlink, PID_ANY, lnet_handle_me, lnet_ins_pos, lnet_process_id, lnet_unlink,
};
use lnet_attach::record::MatchEntry;
use lnet_core::{Errno, InsertPosition, MatchId};
use lnet_wire::{Nid, Pid};
use std::ffi::{c_int, c_uint};

/// Adds a match entry to a portal. It matches nothing until it has a memory descriptor, not even the PUTs that wait
/// on a lazy portal, which LNetMDAttach delivers.
///
/// The entry matches messages from match_id whose match bits equal match_bits where ignore_bits has zeros. The NID in match_id is any of
/// the node, for which the primary NID is taken that is known now; LNET_NID_ANY and LNET_PID_ANY are wildcards. With LNET_UNLINK it is removed together with its memory
/// descriptor, with LNET_RETAIN it stays. The first entry of a portal decides permanently whether the portal is for
/// entries with wildcards (in match_id or ignore_bits) or without.
///
/// Stores the handle in *handle. Errors: -EINVAL (no such portal), -EPERM (an entry of another kind than the
/// portal's; pos is unknown), -ENOMEM. Must not be called from an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetMEAttach(
    portal: c_uint,
    match_id: lnet_process_id,
    match_bits: __u64,
    ignore_bits: __u64,
    unlink: EnumUnlink,
    pos: EnumInsPos,
    handle: *mut lnet_handle_me,
) -> c_int {
    entry("LNetMEAttach", || {
        let handle = not_null(handle)?;
        let (from, unlink, pos) = (match_id_of(match_id), auto_unlink(unlink)?, position(pos)?);
        let entry = MatchEntry { from, match_bits, ignore_bits, unlink, position: pos };
        let me = backend::with(|node| node.me_attach(portal, entry))?;
        // SAFETY: checked for NULL; a variable of the program's, which the call may write until it returns.
        unsafe { handle.write(lnet_handle_me { cookie: me.cookie() }) };
        Ok(0)
    })
}

/// Adds a match entry beside another, on the same portal. The portal must be one for wildcards.
///
/// Stores the handle in *handle. Errors: -ENOENT (current is no match entry), -EPERM (LNET_INS_LOCAL; a
/// portal without wildcards), -ENOMEM. Must not be called from an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetMEInsert(
    current: lnet_handle_me,
    match_id: lnet_process_id,
    match_bits: __u64,
    ignore_bits: __u64,
    unlink: EnumUnlink,
    pos: EnumInsPos,
    handle: *mut lnet_handle_me,
) -> c_int {
    entry("LNetMEInsert", || {
        let handle = not_null(handle)?;
        let pos = match position(pos)? {
            InsertPosition::Local => return Err(Errno::NotPermitted),
            pos => pos,
        };
        let (from, unlink) = (match_id_of(match_id), auto_unlink(unlink)?);
        let entry = MatchEntry { from, match_bits, ignore_bits, unlink, position: pos };
        let me = backend::with(|node| node.me_insert(current.into(), entry))?;
        // SAFETY: checked for NULL; a variable of the program's, which the call may write until it returns.
        unsafe { handle.write(lnet_handle_me { cookie: me.cookie() }) };
        Ok(0)
    })
}

/// Removes a match entry, and its memory descriptor if it has one.
///
/// If the memory descriptor has an event queue and nothing is in progress with it, its
/// LNET_EVENT_UNLINK is delivered before the function returns; otherwise the last operation's event has
/// `unlinked` set. The handle is invalid on return. Error: -ENOENT. Must not be called from an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetMEUnlink(me: lnet_handle_me) -> c_int {
    entry("LNetMEUnlink", || backend::with(|node| node.me_unlink(me.into())).map(|()| 0))
}

/// Reads an `enum lnet_unlink` from C.
pub(crate) fn auto_unlink(unlink: EnumUnlink) -> Result<bool, Errno> {
    match unlink {
        n if n == lnet_unlink::LNET_RETAIN as u32 => Ok(false),
        n if n == lnet_unlink::LNET_UNLINK as u32 => Ok(true),
        _ => Err(Errno::Invalid),
    }
}

/// Reads an `enum lnet_ins_pos` from C.
pub(crate) fn position(pos: EnumInsPos) -> Result<InsertPosition, Errno> {
    match pos {
        n if n == lnet_ins_pos::LNET_INS_BEFORE as u32 => Ok(InsertPosition::Before),
        n if n == lnet_ins_pos::LNET_INS_AFTER as u32 => Ok(InsertPosition::After),
        n if n == lnet_ins_pos::LNET_INS_LOCAL as u32 => Ok(InsertPosition::Local),
        _ => Err(Errno::NotPermitted),
    }
}

fn match_id_of(id: lnet_process_id) -> MatchId {
    MatchId { nid: Nid::from_u64(id.nid), pid: (id.pid != PID_ANY).then_some(Pid(id.pid)) }
}
