//! Errors as text.

use std::fmt::Display;

/// Description of an error for the user of the benchmark.
pub(crate) type Error = String;

/// Makes a function that puts the failed action, `doing`, before an error.
pub(crate) fn context<E: Display>(doing: &str) -> impl Fn(E) -> Error + '_ {
    move |error| format!("{doing}: {error}")
}
