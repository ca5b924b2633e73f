//! Preconditions of the C functions (motr-net 1.7): a violation ends the process, with a message that names the precondition.
//!
//! Where a function documents an error number, it returns that instead. For all other violations it would be unsound to go on.

/// Ends the process with a message unless the condition holds: `require!("m0_net_buffer_add", a == b, "the buffer ...")`.
macro_rules! require {
    ($function:expr, $condition:expr, $($message:tt)+) => {
        if !$condition {
            $crate::contract::violated($function, stringify!($condition), format_args!($($message)+));
        }
    };
}
pub(crate) use require;

/// Ends the process: `function` was called against its contract.
#[cold]
pub(crate) fn violated(function: &str, condition: &str, message: std::fmt::Arguments<'_>) -> ! {
    lnet_log::last_words(format_args!("m0net: {function}: precondition violated: {message} ({condition})"));
    std::process::abort()
}
