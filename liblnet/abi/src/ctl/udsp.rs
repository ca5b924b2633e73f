//! Selection rules in `LNetCtl`: `struct lnet_ioctl_udsp`, which points to the marshalled
//! descriptors.

use super::argument::{Bytes, load, store};
use crate::ni::nid_to_c;
use crate::udsp_bytes::{marshal, unmarshal};
use lnet_core::Errno;
use lnet_dlc::request::{AddUdsp, AppliedUdsp, Udsp, UdspAction};
use lnet_dlc::{Backend, Request};
use lnet_wire::Nid;

/// The size of `struct lnet_ioctl_udsp`.
pub(crate) const UDSP: usize = 32;
/// The size of `struct lnet_ioctl_construct_udsp_info`.
pub(super) const APPLIED_UDSP: usize = 2080;
/// The most bytes of descriptors; three descriptors of four expressions with a few ranges each need far less.
const MAX_LENGTH: usize = 64 * 1024;
const MAX_SHOWN: usize = 128;

/// The value of `iou_action_type` for a priority.
const PRIORITY: u32 = 1;
const PREFERRED_LIST: u32 = 2;

pub(super) fn add(node: &dyn Backend, data: &Bytes<'_>) -> Result<(), Errno> {
    let action = match data.u32(12) {
        PRIORITY => UdspAction::Priority(data.u32(20)),
        PREFERRED_LIST => UdspAction::PreferredList,
        _ => return Err(Errno::Invalid),
    };
    let len = data.u32(16) as usize;
    if len > MAX_LENGTH {
        return Err(Errno::Invalid);
    }
    let [src, dst, rte] = unmarshal(&load(data.u64(24), len)?).ok_or(Errno::Invalid)?;
    let index = u32::try_from(data.i32(8)).ok();
    node.tell(Request::AddUdsp(AddUdsp { src, dst, rte, action, messages: None, index }))
}

pub(super) fn delete(node: &dyn Backend, data: &Bytes<'_>) -> Result<(), Errno> {
    node.tell(Request::DelUdsp(u32::try_from(data.i32(8)).ok()))
}

/// Stores the number of bytes that [`get`] needs.
pub(super) fn size(node: &dyn Backend, data: &mut Bytes<'_>) -> Result<(), Errno> {
    let marshalled = marshal(&rule(node, data)?.criteria()).ok_or(Errno::Invalid)?;
    data.put_u32(16, marshalled.len() as u32);
    Ok(())
}

pub(super) fn get(node: &dyn Backend, data: &mut Bytes<'_>) -> Result<(), Errno> {
    let rule = rule(node, data)?;
    let marshalled = marshal(&rule.criteria()).ok_or(Errno::Invalid)?;
    if data.u32(16) as usize != marshalled.len() {
        return Err(Errno::NoSpace);
    }
    let (action, priority) = match rule.action {
        UdspAction::Priority(priority) => (PRIORITY, priority),
        UdspAction::PreferredList => (PREFERRED_LIST, 0),
    };
    data.put_u32(12, action);
    data.put_u32(20, priority);
    store(data.u64(24), &marshalled)
}

/// Stores the effect of the rules on `cud_nid`, a NID of this node or of a peer.
pub(super) fn applied(node: &dyn Backend, data: &mut Bytes<'_>) -> Result<(), Errno> {
    let nid = Nid::from_u64(data.u64(16)).ok_or(Errno::Invalid)?;
    let ask = |own| node.ask::<AppliedUdsp>(Request::GetAppliedUdsp(nid, own));
    let applied = ask(true).or_else(|_| ask(false))?;
    data.put_u32(24, applied.nid_priority());
    data.put_u32(28, applied.net_priority());
    for (offset, nids) in [(32, &applied.preferred_nids), (1056, &applied.preferred_routers)] {
        for i in 0..MAX_SHOWN {
            let nid = nids.get(i).map_or(0, |partner| nid_to_c(Some(partner.nid)));
            data.put_u64(offset + 8 * i, nid);
        }
    }
    Ok(())
}

fn rule(node: &dyn Backend, data: &Bytes<'_>) -> Result<Box<Udsp>, Errno> {
    node.ask(Request::GetUdsp(u32::try_from(data.i32(8)).map_err(|_| Errno::NotFound)?))
}
