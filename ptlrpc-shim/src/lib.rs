//! RPCs as the Lustre file system makes them, on the LNet C API alone.
//!
//! A **service** listens at a portal and answers requests; a **client** has an **import** for each target that it uses: the
//! ways to it, and how far connecting has got. An RPC is a request, and the reply of the same number; bulk data goes beside
//! them, moved by the service.
//!
//! | folder | has |
//! |---|---|
//! | [`lnet`] | the calls into LNet, and memory that it shares |
//! | [`message`] | what goes over the wire |
//! | [`client`] | connections, time-outs, and the thread that pings and connects |
//! | [`import`] | targets: connecting, failing, reconnecting |
//! | [`request`] | requests, from the first sending to the answer, and sets of them |
//! | [`service`] | requests that arrive, and who serves them |
//! | `c` | all of that for programs in C: `include/ptlrpc/ptlrpc.h` |

mod c;
pub mod client;
pub mod errno;
pub mod import;
pub mod lnet;
pub mod message;
pub mod request;
pub mod service;
mod sync;
