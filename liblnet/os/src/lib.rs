//! System calls of a library inside a foreign program's process, and the pointers that the program passes ([`c_pointer`]); time ([`clock`]).
//!
//! The program owns its signals, its descriptors 0 to 2 and its way of exiting. So, in all crates of the libraries:
//!
//! - bytes go to a socket by [`socket::send`] alone, which raises no SIGPIPE;
//! - threads are started by [`thread::spawn`], with all signals blocked, so that the program's handlers run on the program's
//!   threads;
//! - descriptors that stay open are made by [`descriptor`], close-on-exec and above 2, where no `printf` writes into them.
//!
//! On targets without an operating system, such as `wasm32-unknown-unknown`, there are only the pointers, time, and what is decided from a
//! list of interfaces.
//!
//! `clippy.toml` names the calls that have to go through here, and `make lint` fails if a library makes them elsewhere.
#![deny(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![allow(clippy::disallowed_methods, reason = "here is what the others call in their place")]

#[allow(unsafe_code)]
pub mod c_pointer;
pub mod clock;
#[cfg(unix)]
pub mod descriptor;
#[cfg(unix)]
pub mod descriptor_passing;
#[cfg(unix)]
#[allow(unsafe_code)]
pub mod exit;
pub mod interfaces;
#[cfg(unix)]
pub mod local_socket;
#[cfg(unix)]
pub mod owner;
#[cfg(unix)]
pub mod peer_cred;
#[cfg(unix)]
#[allow(unsafe_code)]
pub mod shared_memory;
#[cfg(unix)]
pub mod socket;
pub mod spinlock;
#[cfg(unix)]
pub mod stop_point;
#[cfg(unix)]
pub mod tcp_probe;
#[cfg(unix)]
pub mod thread;
