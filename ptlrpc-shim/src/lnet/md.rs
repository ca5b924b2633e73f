//! Memory descriptors: what may be done with a region, and who hears of it.

use super::{Event, Region, sys};
use std::ops::Range;
use std::sync::Arc;

/// Who is told what happens to a descriptor.
pub trait Sink: Send + Sync {
    /// Called on LNet's threads, for one descriptor one event at a time; the one with [`Event::unlinked`] is the last. Must not
    /// block, nor call LNet (PR-56).
    fn event(&self, event: &Event);
}

/// Names a descriptor. It may have had its last event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Md(pub(super) sys::lnet_handle_md);

/// What a descriptor allows.
#[derive(Clone, Debug)]
pub struct MdSpec {
    /// The memory: these bytes of it.
    pub region: Arc<Region>,
    /// Which bytes.
    pub range: Range<usize>,
    /// How many operations it serves before it unlinks itself; `None`: it never does, but for [`MdSpec::max_size`].
    pub threshold: Option<u16>,
    /// Others may put into it.
    pub puts: bool,
    /// Others may get from it.
    pub gets: bool,
    /// Where a message goes is said by its sender. Otherwise each has its own bytes, after those before.
    pub manage_remote: bool,
    /// What is too long is cut off.
    pub truncate: bool,
    /// The longest message; the descriptor unlinks itself when there is less room.
    pub max_size: Option<u32>,
    /// A descriptor whose memory tells which interface is near.
    pub near: Option<Md>,
}

impl MdSpec {
    /// All of a region, for messages to others.
    pub fn active(region: Arc<Region>, threshold: u16) -> Self {
        let range = 0..region.len();
        Self {
            region,
            range,
            threshold: Some(threshold),
            puts: false,
            gets: false,
            manage_remote: false,
            truncate: false,
            max_size: None,
            near: None,
        }
    }

    /// The same in C. `None`: LNet cannot name so much memory.
    pub(super) fn to_c(&self, eq: sys::lnet_handle_eq, user_ptr: *mut Posted) -> Option<sys::lnet_md> {
        let end = self.range.end.min(self.region.len());
        let start = self.range.start.min(end);
        let bits = [
            (self.puts, sys::LNET_MD_OP_PUT),
            (self.gets, sys::LNET_MD_OP_GET),
            (self.manage_remote, sys::LNET_MD_MANAGE_REMOTE),
            (self.truncate, sys::LNET_MD_TRUNCATE),
            (self.max_size.is_some(), sys::LNET_MD_MAX_SIZE),
            (self.near.is_some(), sys::LNET_MD_BULK_HANDLE),
        ];
        let none = sys::lnet_handle_md { cookie: sys::COOKIE_NONE };
        Some(sys::lnet_md {
            start: self.region.address().wrapping_add(start).cast(),
            length: (end - start).try_into().ok()?,
            threshold: self.threshold.map_or(sys::LNET_MD_THRESH_INF, i32::from),
            max_size: self.max_size.unwrap_or(0).try_into().ok()?,
            options: bits.iter().filter(|(is_set, _)| *is_set).fold(0, |all, (_, bit)| all | bit),
            user_ptr: user_ptr.cast(),
            eq_handle: eq,
            bulk_handle: self.near.map_or(none, |md| md.0),
        })
    }
}

/// What a descriptor keeps until its last event.
pub(super) struct Posted {
    pub(super) sink: Arc<dyn Sink>,
    /// LNet may touch it until then.
    pub(super) _region: Arc<Region>,
    pub(super) _count: super::count::Counted,
}
