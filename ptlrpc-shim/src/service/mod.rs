//! The server's side: requests in, answers out.
//!
//! | file | holds |
//! |---|---|
//! | `config` | what a service is told |
//! | `server` | [`Service`]: its start and its end |
//! | `handler` | what a program does with a request, and what it may answer |
//! | `request` | a request as a program sees it, and as the service keeps it |
//! | `buffers` | the memory that requests arrive in (PR-31 to PR-33) |
//! | `incoming` | from LNet's events to the queue, from there to threads (PR-53) |
//! | `admit` | which requests are served: pure (PR-70) |
//! | `intake` | carries that out |
//! | `connect` | what a connect request leads to: pure (PR-10, PR-11) |
//! | `export` | targets, and the clients that are connected to them |
//! | `duplicates` | at most once: pure |
//! | `serve` | from a request to its answer |
//! | `bulk` | bulk data (PR-22, PR-55, PR-76) |
//! | `reply` | answers on their way (PR-21, PR-40, PR-41, PR-72) |
//! | `difficult` | answers that hold something until they have arrived (PR-75) |
//! | `early` | when a client is told to wait longer: pure (PR-72, PR-74) |
//! | `estimate` | how long requests take: pure |
//! | `threads` | who serves |
//! | `housekeeper` | the thread that does what has its time, and what event handlers may not do |
//! | `flights` | descriptors that have not had their last event |
//! | `counts` | what has happened so far |
//!
//! A request goes this way: event (`buffers`) → `incoming` → `intake` → queue → `serve` → `reply`.
//!
//! **Locks.** None is held while LNet or the program is called. The tables of `export` may take the lock of one export
//! inside, and a request's the housekeeper's; the others are leaves.

mod admit;
mod buffers;
mod bulk;
mod config;
mod connect;
mod counts;
mod difficult;
mod duplicates;
mod early;
mod estimate;
mod export;
mod flights;
mod handler;
mod housekeeper;
mod incoming;
mod intake;
mod reply;
mod request;
mod serve;
mod server;
mod threads;

pub use config::{Adaptive, ServiceConfig};
pub use counts::{Counts, Dropped};
pub use difficult::Done;
pub use export::{Export, Target, Targets};
pub use handler::{Answer, Handler, Reply};
pub use request::ServiceRequest;
pub use server::Service;
