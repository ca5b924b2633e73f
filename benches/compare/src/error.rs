//! Errors as text.

use std::fmt::Display;

/// What went wrong, in words for whoever runs the benchmark.
pub(crate) type Error = String;

/// Says what was being done when an error came up.
pub(crate) fn context<E: Display>(doing: &str) -> impl Fn(E) -> Error + '_ {
    move |error| format!("{doing}: {error}")
}
