//! Memory descriptors (MDs): the operations that LNet may do with a region.

use crate::{Region, sys};
use std::ops::Range;
use std::sync::Arc;

/// The handle of a descriptor, which may have had its last event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Md(pub(crate) sys::lnet_handle_md);

/// The parameters of a descriptor. `R` is [`Arc<Region>`], or `()` where the memory is the handler's ([`Node::attach_own`](crate::Node::attach_own)).
#[derive(Clone, Debug)]
pub struct MdSpec<R = Arc<Region>> {
    /// The memory. The descriptor drops its share in it before the last event is handled: the handler, or a thread that it
    /// wakes, may then be the only owner.
    pub region: R,
    /// The bytes of the region that the descriptor covers.
    pub range: Range<usize>,
    /// Number of operations after which the descriptor is unlinked; `None`: no limit, but see [`MdSpec::max_size`].
    pub threshold: Option<u16>,
    /// Whether PUTs are accepted.
    pub puts: bool,
    /// Whether GETs are accepted.
    pub gets: bool,
    /// Whether the sender chooses the offset. Otherwise messages are stored one behind the other.
    pub manage_remote: bool,
    /// Whether messages that are too long are truncated.
    pub truncate: bool,
    /// Maximum length of a message in bytes; the descriptor is unlinked when less space is left.
    pub max_size: Option<u32>,
    /// The MD of the bulk data that the message belongs to: LNet prefers an NI near its memory.
    pub bulk_md: Option<Md>,
    /// A number for the handler, which may have several descriptors: [`Event::tag`](crate::Event::tag).
    pub tag: u32,
}

impl MdSpec {
    /// Makes a descriptor for all of a region, to send it or to fetch into it.
    pub fn active(region: Arc<Region>, threshold: u16) -> Self {
        let len = region.len();
        Self::of(region, len, threshold)
    }
}

impl MdSpec<()> {
    /// Makes a descriptor for the first `len` bytes of the handler's memory.
    pub const fn own(len: usize, threshold: u16) -> Self {
        Self::of((), len, threshold)
    }
}

impl<R> MdSpec<R> {
    const fn of(region: R, len: usize, threshold: u16) -> Self {
        let range = 0..len;
        Self {
            region,
            range,
            threshold: Some(threshold),
            puts: false,
            gets: false,
            manage_remote: false,
            truncate: false,
            max_size: None,
            bulk_md: None,
            tag: 0,
        }
    }

    /// Converts to C, for a descriptor of this region, which the caller keeps alive. `None`: more memory than the C API can describe.
    pub(crate) fn to_c(&self, region: &Region) -> Option<sys::lnet_md> {
        let end = self.range.end.min(region.len());
        let start = self.range.start.min(end);
        let bit = |is_set: bool, bit: u32| u32::from(is_set) * bit;
        let options = bit(self.puts, sys::LNET_MD_OP_PUT)
            | bit(self.gets, sys::LNET_MD_OP_GET)
            | bit(self.manage_remote, sys::LNET_MD_MANAGE_REMOTE)
            | bit(self.truncate, sys::LNET_MD_TRUNCATE)
            | bit(self.max_size.is_some(), sys::LNET_MD_MAX_SIZE)
            | bit(self.bulk_md.is_some(), sys::LNET_MD_BULK_HANDLE);
        let none = sys::lnet_handle_md { cookie: sys::COOKIE_NONE };
        Some(sys::lnet_md {
            start: region.address().wrapping_add(start).cast(),
            length: (end - start).try_into().ok()?,
            threshold: self.threshold.map_or(sys::LNET_MD_THRESH_INF, i32::from),
            max_size: self.max_size.unwrap_or(0).try_into().ok()?,
            options,
            user_ptr: std::ptr::null_mut(),
            eq_handle: sys::lnet_handle_eq { cookie: sys::COOKIE_NONE },
            bulk_handle: self.bulk_md.map_or(none, |md| md.0),
        })
    }
}
