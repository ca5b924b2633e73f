//! The memory of programs that messages may read or fill: its ranges, the descriptions and handles of its descriptors, and their
//! tables.

mod handle;
mod keeper;
mod portal_place;
mod range;
mod recv_buffer;
mod spec;

pub use handle::{EqHandle, MdHandle, MeHandle};
pub(crate) use handle::{HandleSlot, HandleSlots, HandleTable, Place, TableOf};
pub(crate) use keeper::Keeper;
pub use keeper::{ClientMemory, DeferredAck, ReplyMemory, ThenReply};
pub(crate) use portal_place::PortalPlace;
pub use range::{MdMemory, MemRange, MemSlice, MemoryOwner, Near};
pub use recv_buffer::RecvBuffer;
pub use spec::{MdOptions, MdSpec};

#[cfg(test)]
pub(crate) mod tests {
    use super::{HandleSlots, MdHandle, MdOptions, MdSpec, Place};

    pub(crate) fn any_md_handle() -> MdHandle {
        MdHandle::new(Place { table: 0, slot: HandleSlots::default().insert(|_| ()).unwrap() })
    }

    pub(crate) fn plain_spec(length: u32) -> MdSpec {
        MdSpec {
            start: 0x1000,
            length,
            threshold: -1,
            max_size: 0,
            options: MdOptions(0),
            user_ptr: 7,
            eq: None,
        }
    }
}
