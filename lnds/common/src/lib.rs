//! What LNet drivers (LNDs) share: rules and tables without sockets and without a clock of their own.
//!
//! A driver that connects to peers needs a [`connect_schedule::ConnectSchedule`] for each of them; one that accepts
//! connections from anybody needs [`permit::Permits`]. A driver that resends after a failure needs delivery ACKs:
//!
//! - the sender gives each message a [`message_id::MessageId`] and keeps it in [`unacked::Unacked`] until its delivery ACK
//!   has arrived;
//! - the receiver keeps what it owes in [`pending_acks::PendingAcks`], so that delivery ACKs travel with other messages,
//!   and detects what arrives twice with [`dedup::DedupTable`].
//!
//! How IDs and ACKs look on the wire is each driver's own affair; so is the queue of messages that wait for a connection.
//! Log lines go through `lnet_log::RateLimitedLog`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod conn_limit;
pub mod connect_schedule;
pub mod dedup;
pub mod message_id;
pub mod pending_acks;
pub mod permit;
pub mod sync;
pub mod unacked;
