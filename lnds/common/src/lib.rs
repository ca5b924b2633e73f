//! Rules and tables that LNet drivers (LNDs) share, without sockets and, but for [`event_wait`], without a clock. Drivers
//! over IP find their interfaces by [`ip_interfaces`].
//!
//! A driver that connects to peers needs a [`connect_schedule::ConnectSchedule`] for each of them; one that accepts
//! connections from any peer needs [`permit::Permits`]. A driver that resends after a failure needs delivery ACKs:
//!
//! - the sender gives each message a [`message_id::MessageId`] and keeps it in [`unacked::Unacked`] until its delivery ACK
//!   has arrived;
//! - the receiver keeps the ACKs that it owes in [`pending_acks::PendingAcks`], so that they are sent with other messages,
//!   and detects duplicates with [`dedup::DedupTable`].
//!
//! A driver whose threads run event handlers, which may block them, needs [`driver_threads::Threads`] and a
//! [`handler_watch`]. If any of several threads may run them, one at a time, it implements [`outputs::PassOutputs`], which has both; if
//! its state is behind one lock as well, [`engine_ni::EngineNi`].
//!
//! What runs drivers, such as a node, waits for events by [`event_wait`].
//!
//! Each driver decides how IDs and ACKs are encoded, and has its own queue of messages that wait for a connection.
//! Log lines go through `lnet_log::RateLimitedLog`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod conn_error;
pub mod conn_limit;
pub mod connect_schedule;
pub mod dedup;
pub mod deliverers;
pub mod driver_threads;
pub mod engine_ni;
pub mod event_wait;
mod first_ack;
pub mod handler_watch;
pub mod ip_interfaces;
pub mod message_id;
pub mod outputs;
pub mod pending_acks;
pub mod permit;
pub mod sync;
pub mod unacked;
