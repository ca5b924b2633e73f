//! A node of this process, or of another one: what the load uses of either.

use lnet_attach::client::AttachedNode;
use lnet_attach::record::MatchEntry;
use lnet_core::event::EventHandler;
use lnet_core::{EqHandle, Errno, InsertPosition, MatchId, MdHandle, MdMemory, MdSpec, Target};
use lnet_node::Node;
use lnet_os::shared_memory::SharedMemory;
use std::sync::Arc;

/// The portal of all messages.
pub const PORTAL: u32 = 9;

pub trait Network: Send + Sync {
    fn eq_alloc(&self, handler: EventHandler) -> Result<EqHandle, Errno>;

    /// Attaches memory for messages with these match bits; entry and descriptor end together.
    fn attach(&self, match_bits: u64, spec: MdSpec, memory: MdMemory) -> Result<(), Errno>;

    fn bind(&self, spec: MdSpec, memory: MdMemory) -> Result<MdHandle, Errno>;

    fn put(&self, md: MdHandle, target: Target, hdr_data: u64) -> Result<(), Errno>;

    fn get(&self, md: MdHandle, target: Target) -> Result<(), Errno>;

    /// Lets the node access the memory in place.
    fn add_memory(&self, memory: &Arc<SharedMemory>) -> Result<(), Errno>;
}

impl Network for AttachedNode {
    fn eq_alloc(&self, handler: EventHandler) -> Result<EqHandle, Errno> {
        self.eq_alloc(0, Some(handler))
    }

    fn attach(&self, match_bits: u64, spec: MdSpec, memory: MdMemory) -> Result<(), Errno> {
        let entry = MatchEntry {
            from: MatchId::ANY,
            match_bits,
            ignore_bits: 0,
            unlink: true,
            position: InsertPosition::After,
        };
        let me = self.me_attach(PORTAL, entry)?;
        self.md_attach(me, spec, memory, true, &mut |_| ())
    }

    fn bind(&self, spec: MdSpec, memory: MdMemory) -> Result<MdHandle, Errno> {
        self.md_bind(spec, memory, true)
    }

    fn put(&self, md: MdHandle, target: Target, hdr_data: u64) -> Result<(), Errno> {
        self.put(None, md, true, target, hdr_data)
    }

    fn get(&self, md: MdHandle, target: Target) -> Result<(), Errno> {
        self.get(None, md, target)
    }

    fn add_memory(&self, memory: &Arc<SharedMemory>) -> Result<(), Errno> {
        self.add_memory(memory)
    }
}

impl Network for Node {
    fn eq_alloc(&self, handler: EventHandler) -> Result<EqHandle, Errno> {
        self.core().data_path().eq_alloc(0, Some(handler))
    }

    fn attach(&self, match_bits: u64, spec: MdSpec, memory: MdMemory) -> Result<(), Errno> {
        let path = self.core().data_path();
        let me = path.me_attach(PORTAL, MatchId::ANY, match_bits, 0, true, InsertPosition::After)?;
        path.md_attach(me, spec, memory, true, &mut |_| ())
    }

    fn bind(&self, spec: MdSpec, memory: MdMemory) -> Result<MdHandle, Errno> {
        self.core().data_path().md_bind(spec, memory, true)
    }

    fn put(&self, md: MdHandle, target: Target, hdr_data: u64) -> Result<(), Errno> {
        self.core().data_path().put(None, md, true, target, hdr_data)
    }

    fn get(&self, md: MdHandle, target: Target) -> Result<(), Errno> {
        self.core().data_path().get(None, md, target)
    }

    fn add_memory(&self, _: &Arc<SharedMemory>) -> Result<(), Errno> {
        Ok(())
    }
}
