//! The decision about an interface that waits, after another attempt to start it. Pure.

use lnet_core::Errno;
use lnet_core::lnd::StartError;

/// The step after an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NextStep {
    /// The interface does not wait any more: it has been started, or nothing is left to wait for.
    End,
    /// The interface goes on waiting, for this reason. One that does not pass by itself is logged, once.
    Wait { reason: String, is_logged: bool },
}

/// The step after an attempt to start an interface that has waited for the reason `last`.
pub(super) fn after_attempt(last: &str, result: Result<(), &StartError>) -> NextStep {
    match result {
        Ok(()) => NextStep::End,
        // Somebody has added the interface in the meantime, or the node is being shut down.
        Err(error) if matches!(error.errno, Errno::Exists | Errno::Shutdown) => NextStep::End,
        Err(error) => {
            NextStep::Wait { reason: error.text.clone(), is_logged: !error.may_pass && error.text != last }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lnet_core::start_error;

    #[test]
    fn an_interface_waits_until_it_is_started_or_added_otherwise_and_only_lasting_errors_are_logged() {
        let missing = || start_error!(Errno::NoDevice, "missing").that_may_pass();
        let no_address = || start_error!(Errno::AddressNotAvailable, "no address").that_may_pass();
        let in_use = || start_error!(Errno::AddressInUse, "in use");
        let wait = |reason: &str, is_logged| NextStep::Wait { reason: reason.to_owned(), is_logged };
        let table = [
            ("missing", Ok(()), NextStep::End),
            ("missing", Err(missing()), wait("missing", false)),
            ("missing", Err(no_address()), wait("no address", false)),
            ("no address", Err(in_use()), wait("in use", true)),
            ("in use", Err(in_use()), wait("in use", false)),
            ("in use", Err(missing()), wait("missing", false)),
            ("missing", Err(start_error!(Errno::Exists, "is there")), NextStep::End),
            ("missing", Err(start_error!(Errno::Shutdown, "ends")), NextStep::End),
        ];
        for (last, result, expected) in table {
            assert_eq!(after_attempt(last, result.as_ref().copied()), expected, "{last}, {result:?}");
        }
    }
}
