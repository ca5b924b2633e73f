//! The ranges of the numbers that each interface may have of its own: for the command line, files and C. A row that has a number's
//! default for all interfaces takes its largest value from here.

use crate::range::{MAX_INT, Range};

/// Seconds without a message after which a peer counts as down; 0: the default.
pub const PEER_TIMEOUT: Range = Range::new("peer_timeout", 0, MAX_INT);
/// Messages under way to one peer NI; 0: the default.
pub const PEER_CREDITS: Range = Range::new("peer_credits", 0, MAX_INT);
/// Router buffers that one peer may occupy; 0: the default, as many as `peer_credits`.
pub const PEER_BUFFER_CREDITS: Range = Range::new("peer_buffer_credits", 0, MAX_INT);
/// Messages under way on an interface; 0: the default.
pub const CREDITS: Range = Range::new("credits", 0, MAX_INT);
/// Connections for bulk in each direction to one peer NI; 0: as many as the link deserves.
pub const CONNS_PER_PEER: Range = Range::new("conns_per_peer", 0, 127);
