//! A backend with a script of requests and replies, for tests of the requests that an operation makes.

use crate::request::{Backend, Reply, Request, RequestError};
use lnet_wire::Errno;
use std::cell::RefCell;
use std::collections::VecDeque;

type Scene = (Request, Result<Reply, Errno>);

/// Answers the scripted requests in their order and panics at any other. No interface waits, nothing has
/// happened, and there are no settings, unless the script says so.
pub(super) struct Fake(RefCell<VecDeque<(Request, Result<Reply, RequestError>)>>);

impl Fake {
    /// Expects these requests in order and no others.
    pub(super) fn new(script: impl IntoIterator<Item = Scene>) -> Self {
        let script = script.into_iter().map(|(request, reply)| (request, reply.map_err(Into::into)));
        Self(RefCell::new(script.collect()))
    }

    /// Expects one request and refuses it, with a text.
    pub(super) fn refusing(request: Request, errno: Errno, text: &str) -> Self {
        let error = RequestError { errno, text: Some(text.to_owned()) };
        Self(RefCell::new(VecDeque::from([(request, Err(error))])))
    }

    /// Expects no request.
    pub(super) fn unasked() -> Self {
        Self::new([])
    }

    /// A request that fails because there is no node.
    pub(super) fn down(request: Request) -> Self {
        Self::new([(request, Err(Errno::NetworkDown))])
    }
}

impl Backend for Fake {
    fn call(&self, request: Request) -> Result<Reply, RequestError> {
        let is_next = self.0.borrow().front().is_some_and(|(expected, _)| *expected == request);
        if request == Request::GetWaitingNis && !is_next {
            return Ok(Reply::WaitingNis(Vec::new()));
        }
        if matches!(request, Request::GetHistory(_)) && !is_next {
            return Ok(Reply::History(Vec::new()));
        }
        if request == Request::GetSettings && !is_next {
            return Ok(Reply::Settings(Vec::new()));
        }
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
