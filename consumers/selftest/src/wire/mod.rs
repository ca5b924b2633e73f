//! Messages of LNet selftest, and the numbers in them. Pure: nothing here reads or writes anything but its arguments.
//!
//! A message is always 160 bytes (selftest 3). It is read in either byte order and written in little-endian order. A kernel node
//! accepts every value that [`Request`] can express; messages that make one panic (selftest 18, 14) cannot be expressed.
//! [`IncomingRequest`] is a request of another node, which may be wrong in the ways that have their own reply.
//!
//! | file | holds |
//! |---|---|
//! | `constants` | numbers of the protocol |
//! | `service` | services: portals, match bits, message types |
//! | `features`, `status`, `name`, `session_id` | values that several messages have |
//! | `fields` | fields of a message at their offsets |
//! | `header` | the header, and the common begin of bodies |
//! | `session`, `batch`, `test`, `stat` | messages of the framework |
//! | `destinations` | the list of the nodes that a test sends to |
//! | `brw`, `ping` | messages of tests |
//! | `request`, `reply` | the enums of all messages |

mod batch;
mod brw;
mod constants;
mod destinations;
mod features;
mod fields;
mod header;
mod name;
mod ping;
mod reply;
mod request;
mod service;
mod session;
mod session_id;
mod stat;
mod status;
mod test;

pub use batch::{BatchCommand, BatchId, BatchReply, BatchRequest, IncomingBatch};
pub use brw::{BrwRefusal, BrwRequest, BulkLength, Check, IncomingBrw, Rw};
pub use constants::*;
pub use destinations::{DestinationCount, Destinations, list_length, read_destinations};
pub use features::Features;
pub use fields::Message;
pub use header::Header;
pub use lnet_wire::byte_order::ByteOrder;
pub use name::{Name, NameTooLong};
pub use ping::{PingReply, PingRequest};
pub use reply::{BadReply, IncomingReply, Reply};
pub use request::{IncomingRequest, ReceivedBody, Request, Unanswerable};
pub use service::Service;
pub use session::{DebugReply, JoinReply, JoinRequest, MakeSession, MakeSessionReply, SessionReply};
pub use session_id::SessionId;
pub use stat::{FrameworkCounters, LnetCounters, RpcCounters, StatReply, Stats};
pub use status::Status;
pub use test::{
    AddTest, BrwParameters, Concurrency, IncomingInstance, IncomingTest, Instance, InvalidTest, Loop,
    ServerLoad, TestParameters, UnsafeParameters,
};
