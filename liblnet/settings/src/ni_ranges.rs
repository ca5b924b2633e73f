//! The ranges of the numbers that can be set for each interface: for the command line, files and C. A row with the
//! default of such a number for all interfaces takes its largest value from here.

use crate::range::{MAX_INT, Range};

/// Seconds without a message after which a peer counts as down; 0: the default.
pub const PEER_TIMEOUT: Range = Range::new("peer_timeout", 0, MAX_INT);
/// The number of messages in flight to one peer NI; 0: the default.
pub const PEER_CREDITS: Range = Range::new("peer_credits", 0, MAX_INT);
/// The number of router buffers that one peer may occupy; 0: the default, as many as `peer_credits`.
pub const PEER_BUFFER_CREDITS: Range = Range::new("peer_buffer_credits", 0, MAX_INT);
/// The number of messages in flight on an interface; 0: the default.
pub const CREDITS: Range = Range::new("credits", 0, MAX_INT);
/// The number of bulk connections in each direction to one peer NI; 0: as many as the speed of the link asks for.
pub const CONNS_PER_PEER: Range = Range::new("conns_per_peer", 0, 127);
/// The IP type of service of all packets of an interface's connections, of IPv6 the traffic class; -1: the system's own.
pub const TOS: Range = Range::new("tos", -1, 255);
