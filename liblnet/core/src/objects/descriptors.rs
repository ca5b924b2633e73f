//! Memory descriptors by their handles: creating, attaching, unlinking, completing.

use super::{Delayed, MatchResult, Objects};
use crate::event::Event;
use crate::md::{Completion, Md, NewMd, ResponseKind};
use crate::memory::{Keeper, MdHandle, MdMemory, MdOptions, MdSpec, MeHandle};
use lnet_wire::Errno;
use std::sync::Arc;

/// The result of attaching an MD.
pub(crate) struct MdAttached {
    pub(crate) md: Arc<Md>,
    /// PUTs that waited for the MD, each with its match, which are to be delivered or dropped.
    pub(crate) released: Vec<(Delayed, MatchResult)>,
}

impl Objects {
    /// Attaches an MD to a match entry. `announce` gets the handle before the first event. On failure the entry is
    /// not changed: see [`crate::DataPath::md_attach`].
    pub(crate) fn attach_md(
        &self,
        me: MeHandle,
        spec: MdSpec,
        memory: MdMemory,
        auto_unlink: bool,
        keeper: Keeper,
        announce: &mut dyn FnMut(MdHandle),
    ) -> Result<MdAttached, Errno> {
        if !spec.options.has(MdOptions::OP_PUT) && !spec.options.has(MdOptions::OP_GET) {
            return Err(Errno::Invalid);
        }
        let md = self.add_md(spec, memory, auto_unlink, Some(me), keeper)?;
        let attached = self
            .me(me)
            .ok_or(Errno::NotFound)
            .and_then(|(portal, slot)| portal.attach_md(slot, &md, &mut || announce(md.handle())));
        match attached {
            Ok(attached) => Ok(MdAttached { md, released: attached.released }),
            Err(errno) => {
                self.remove_md(&md);
                md.discard();
                Err(errno)
            }
        }
    }

    /// Creates a free MD: see [`crate::DataPath::md_bind`].
    pub(crate) fn bind_md(
        &self,
        spec: MdSpec,
        memory: MdMemory,
        auto_unlink: bool,
        keeper: Keeper,
    ) -> Result<MdHandle, Errno> {
        if spec.options.has(MdOptions::OP_PUT) || spec.options.has(MdOptions::OP_GET) {
            return Err(Errno::Invalid);
        }
        self.add_md(spec, memory, auto_unlink, None, keeper).map(|md| md.handle())
    }

    /// The MD with this handle, if it exists.
    pub(crate) fn md(&self, md: MdHandle) -> Option<Arc<Md>> {
        self.mds.get(md.place())
    }

    /// All MDs.
    pub(crate) fn mds(&self) -> Vec<Arc<Md>> {
        self.mds.all()
    }

    /// Removes the handle of an MD; messages that refer to the MD may still use it.
    pub(crate) fn remove_md(&self, md: &Md) {
        self.mds.remove(md.handle().place());
    }

    /// Detaches an MD, so that no message matches it any more. [`Errno::NotFound`] if it does not exist.
    pub(crate) fn detach_md(&self, md: MdHandle) -> Result<Arc<Md>, Errno> {
        let md = self.md(md).ok_or(Errno::NotFound)?;
        if let Some((portal, slot)) = md.attached().and_then(|me| self.me(me)) {
            portal.detach_md(slot, &md);
        }
        Ok(md)
    }

    /// Unlinks an MD: an idle one reports UNLINK before this returns, a busy one ([`Completion::Active`]) with the
    /// end of its last operation.
    pub(crate) fn unlink_md(&self, md: &Md) -> Result<Completion, Errno> {
        let completion = md.unlink()?;
        // Busy or idle, the handle is invalid from here on; only messages in progress still refer to the MD.
        self.remove_md(md);
        Ok(completion)
    }

    /// Unlinks an MD of the node that serves GETs; GETs that it has accepted are still answered.
    pub(crate) fn retire_md(&self, md: MdHandle) -> Result<(), Errno> {
        let md = self.detach_md(md)?;
        md.retire()?;
        self.remove_md(&md);
        Ok(())
    }

    /// Reports the end of an operation to the owner of the MD ([`Md::complete_without`]).
    #[inline(always)]
    pub(crate) fn complete(&self, md: &Md, write: impl FnOnce(&mut Event)) {
        self.complete_without(md, None, write);
    }

    /// Reports the end of a request of this node, whose `response`, if given, is not awaited any more.
    #[inline(always)]
    pub(crate) fn complete_without(
        &self,
        md: &Md,
        response: Option<ResponseKind>,
        write: impl FnOnce(&mut Event),
    ) {
        if md.complete_without(response, write) == Completion::Ended {
            self.remove_md(md);
        }
    }

    fn add_md(
        &self,
        spec: MdSpec,
        memory: MdMemory,
        auto_unlink: bool,
        attached: Option<MeHandle>,
        keeper: Keeper,
    ) -> Result<Arc<Md>, Errno> {
        let max_size = Md::checked_max_size(&spec, &memory)?;
        let queue = spec.eq.map(|eq| self.queue(eq)).transpose()?;
        let md = self.mds.insert(|place| {
            let new = NewMd { spec, memory, max_size, auto_unlink, attached, queue, keeper };
            Arc::new(Md::new(MdHandle::new(place), new))
        })?;
        if spec.eq.is_some() && !md.has_queue() {
            self.remove_md(&md);
            return Err(Errno::NotFound);
        }
        Ok(md)
    }
}
