//! System calls of a library inside a foreign program's process, and the pointers that the program passes ([`c_pointer`]); time ([`clock`]).
//!
//! The program owns its signals, its descriptors 0 to 2 and its way of exiting. So, in all crates of the libraries:
//!
//! - bytes go to a socket by [`socket::send`] alone, which raises no SIGPIPE;
//! - threads are started by [`thread::spawn`], with all signals blocked, so that the program's handlers run on the program's
//!   threads;
//! - descriptors that stay open are made by [`descriptor`], close-on-exec and above 2, where no `printf` writes into them.
//!
//! `clippy.toml` names the calls that have to go through here, and `make lint` fails if a library makes them elsewhere.
#![deny(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![allow(clippy::disallowed_methods, reason = "here is what the others call in their place")]

#[allow(unsafe_code)]
pub mod c_pointer;
pub mod clock;
pub mod descriptor;
pub mod descriptor_passing;
#[allow(unsafe_code)]
pub mod exit;
pub mod interfaces;
pub mod local_socket;
pub mod owner;
pub mod peer_cred;
#[allow(unsafe_code)]
pub mod shared_memory;
pub mod socket;
pub mod stop_point;
pub mod tcp_probe;
pub mod thread;
