//! A backend whose warnings go to a function, for callers that see replies alone.

use crate::request::{Backend, Reply, Request, RequestError};
use std::ops::Deref;

/// A backend that gives each warning of `backend` to `warn`, when the request that it belongs to has ended.
#[derive(Clone, Debug)]
pub struct Warned<B, W> {
    /// The backend that carries out the requests.
    pub backend: B,
    /// The function that is called with each warning, by the thread that made the request.
    pub warn: W,
}

impl<B, W> Backend for Warned<B, W>
where
    B: Deref<Target: Backend>,
    W: Fn(String),
{
    fn call(&self, request: Request) -> Result<Reply, RequestError> {
        let mut warnings = Vec::new();
        let result = self.backend.call_with_warnings(request, &mut warnings);
        warnings.into_iter().for_each(&self.warn);
        result
    }
}
