//! A node that plays back a script, for tests of which requests an operation makes.

use crate::request::{Backend, Reply, Request};
use lnet_wire::Errno;
use std::cell::RefCell;
use std::collections::VecDeque;

type Scene = (Request, Result<Reply, Errno>);

/// Answers the scripted requests in their order and panics at any other.
pub(super) struct Fake(RefCell<VecDeque<Scene>>);

impl Fake {
    /// Expects these and no more.
    pub(super) fn new(script: impl IntoIterator<Item = Scene>) -> Self {
        Self(RefCell::new(script.into_iter().collect()))
    }

    /// Expects to be asked nothing.
    pub(super) fn unasked() -> Self {
        Self::new([])
    }

    /// There is no node.
    pub(super) fn down(request: Request) -> Self {
        Self::new([(request, Err(Errno::NetworkDown))])
    }
}

impl Backend for Fake {
    fn call(&self, request: Request) -> Result<Reply, Errno> {
        let scene = self.0.borrow_mut().pop_front();
        let (expected, reply) = scene.unwrap_or_else(|| panic!("nothing more was expected: {request:?}"));
        assert_eq!(request, expected);
        reply
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.0.borrow().is_empty(), "not asked for: {:?}", self.0.borrow());
        }
    }
}
