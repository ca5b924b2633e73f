//! The memory of messages.

use super::{IncomingMessage, MessageHead, OutgoingMessage, TransitMessage};
use crate::sync::{Mutex, lock};
use lnet_wire::Header;
use std::cell::Cell;
use std::fmt::{Debug, Formatter};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// A message of the type `M`, in memory that is used again for messages of any type.
pub struct Pooled<M> {
    /// The parts of other types than `M` refer to nothing.
    memory: Box<Memory>,
    message: PhantomData<M>,
}

/// The memory of one message.
#[derive(Default)]
pub(crate) struct Memory {
    pub(super) outgoing: OutgoingMessage,
    pub(super) incoming: IncomingMessage,
    pub(super) transit: TransitMessage,
}

/// A type of message. [`Memory`] has a part for each.
pub(crate) trait Part {
    /// The part of this type.
    fn of(memory: &Memory) -> &Self;

    /// The part of this type.
    fn of_mut(memory: &mut Memory) -> &mut Self;

    fn head_mut(&mut self) -> &mut MessageHead;

    /// Drops what the message refers to, before another one is made in its memory.
    fn clear(&mut self);
}

impl<M> Pooled<M> {
    /// A message of another type in the same memory. The caller has moved there what the message refers to.
    pub(super) fn become_other<N>(self) -> Pooled<N> {
        Pooled { memory: self.memory, message: PhantomData }
    }

    pub(super) fn memory(&mut self) -> &mut Memory {
        &mut self.memory
    }
}

impl<M: Part> Deref for Pooled<M> {
    type Target = M;

    fn deref(&self) -> &M {
        M::of(&self.memory)
    }
}

impl<M: Part> DerefMut for Pooled<M> {
    fn deref_mut(&mut self) -> &mut M {
        M::of_mut(&mut self.memory)
    }
}

impl<M: Part + Debug> Debug for Pooled<M> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

/// Memory of messages that have ended, so that the steady state allocates nothing.
#[derive(Default)]
#[allow(clippy::vec_box, reason = "the boxes are what is kept")]
pub(crate) struct MessagePool(Mutex<Vec<Box<Memory>>>);

/// The number of messages kept: more than the default credits of a peer in both directions. The rest of a burst is freed.
const SPARE_MESSAGES: usize = 32;

thread_local! {
    /// The message that this thread recycled last, of any pool: most threads end one message before the next begins.
    static LAST_RECYCLED: Cell<Option<Box<Memory>>> = const { Cell::new(None) };
}

impl MessagePool {
    /// A message with this header that refers to nothing yet.
    pub(crate) fn take<M: Part>(&self, header: Header) -> Pooled<M> {
        let memory = LAST_RECYCLED.take().or_else(|| lock(&self.0).pop()).unwrap_or_default();
        let mut message = Pooled { memory, message: PhantomData::<M> };
        message.head_mut().header = header;
        message
    }

    /// Recycles a message: drops all that it refers to.
    pub(crate) fn put<M: Part>(&self, mut message: Pooled<M>) {
        message.clear();
        let Some(memory) = LAST_RECYCLED.replace(Some(message.memory)) else { return };
        let mut kept = lock(&self.0);
        if kept.len() < SPARE_MESSAGES {
            kept.push(memory);
        }
    }
}

impl Debug for MessagePool {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MessagePool").finish_non_exhaustive()
    }
}
