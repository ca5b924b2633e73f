//! The differences that a live node may have from the captured kernel node. All of them are in [`EXCEPTIONS`].

use super::conversation::Content;
use super::script::Line;
use lnet_wire::ping_info::{Features, PING_MAGIC};
use lnet_wire::{Body, Nid};
use socklnd::proto::hello::Version;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::ops::Range;

/// An exception: bits of some bytes that may differ.
pub struct Exception {
    pub name: &'static str,
    pub why: &'static str,
    /// The bytes of the message that may differ.
    pub place: fn(&Line) -> Option<Range<usize>>,
    /// The bits of each of these bytes that may differ.
    pub bits: u8,
}

/// All permitted differences. All other bits of the node's messages must be those of the kernel's.
pub const EXCEPTIONS: [Exception; 12] = [
    Exception {
        name: "incarnation",
        why: "the time at which the interface was started",
        place: incarnation,
        bits: 0xff,
    },
    Exception {
        name: "interface cookie",
        why: "the time at which the node was started",
        place: |line| node_chosen_handle(line).map(|at| at..at + 8),
        bits: 0xff,
    },
    Exception {
        name: "object cookie",
        why: "how a node numbers its descriptors is its own affair",
        place: |line| node_chosen_handle(line).map(|at| at + 8..at + 16),
        bits: 0xff,
    },
    Exception {
        name: "delivery ACK cookie",
        why: "how a node numbers the messages that it wants delivery ACKs for is its own affair",
        place: node_chosen_cookie,
        bits: 0xff,
    },
    Exception {
        name: "configuration number of a router",
        why: "the kernel changes the features of its ping block in place where forwarding is switched on; ours makes a new one, \
              with the next number, so that peers that have the former one take it",
        place: router_sequence,
        bits: 0x07,
    },
    Exception {
        name: "age of a session",
        why: "the milliseconds since an LNet selftest session was made",
        place: |line| stat_reply(line, 44..48),
        bits: 0xff,
    },
    Exception {
        name: "messages of the moment",
        why: "how many messages there are at once depends on how soon those that were sent are confirmed",
        place: |line| stat_reply(line, 100..108),
        bits: 0xff,
    },
    Exception {
        name: "messages sent",
        why: "the message before the counters' own may not have been confirmed, and counted",
        place: |line| stat_reply(line, 112..113),
        bits: 0xff,
    },
    Exception { name: "bytes sent", why: "the same", place: |line| stat_reply(line, 128..130), bits: 0xff },
    Exception {
        name: "repeated push",
        why: "where the push of a peer comes in before the ACK of the own push, the kernel pushes the same once more; ours waits for \
              the ACK",
        place: |_| None,
        bits: 0,
    },
    Exception {
        name: "which of several",
        why: "of several connections of one type any will do, and the kernel chooses by what waits on each; the \
              player hears what is said on whichever it is",
        place: |_| None,
        bits: 0,
    },
    Exception {
        name: "answers and discovery",
        why: "a push is confirmed by the thread that received it and answered with a push by another, here and in \
              the kernel: the ACK and that push have no order",
        place: |_| None,
        bits: 0,
    },
];

/// Compares messages, and remembers values that may differ but must not change.
#[derive(Clone, Debug, Default)]
pub struct Difference {
    incarnations: HashMap<IpAddr, Vec<u8>>,
    interface_cookies: HashMap<Nid, Vec<u8>>,
    handles: HashSet<Vec<u8>>,
}

impl Difference {
    /// Compares `heard` with the kernel's `line`, which was sent at the connection's end `address` of the live node. The
    /// error describes the difference.
    pub fn check(&mut self, address: IpAddr, line: &Line, heard: &[u8]) -> Result<(), String> {
        if heard.len() != line.bytes.len() {
            return Err(format!("{} bytes in place of {}: {heard:02x?}", heard.len(), line.bytes.len()));
        }
        let mut may_differ = vec![0_u8; heard.len()];
        for exception in &EXCEPTIONS {
            for at in (exception.place)(line).unwrap_or_default() {
                may_differ[at] |= exception.bits;
            }
        }
        let differs = |at: &usize| (heard[*at] ^ line.bytes[*at]) & !may_differ[*at] != 0;
        if let Some(at) = (0..heard.len()).find(differs) {
            let near = at.saturating_sub(16)..(at + 16).min(heard.len());
            let (ours, theirs) = (&heard[near.clone()], &line.bytes[near.clone()]);
            return Err(format!(
                "differs at byte {at}: bytes {near:?} are\n{ours:02x?}, the kernel's\n{theirs:02x?}"
            ));
        }
        self.check_lives(address, line, heard)
    }

    fn check_lives(&mut self, address: IpAddr, line: &Line, heard: &[u8]) -> Result<(), String> {
        if let Some(place) = incarnation(line) {
            let now = heard[place].to_vec();
            let known = self.incarnations.entry(address).or_insert_with(|| now.clone());
            if *known != now || now.iter().all(|byte| *byte == 0) {
                return Err(format!("incarnation {now:02x?} after {known:02x?}"));
            }
        }
        if let (Some(at), Some(header)) = (node_chosen_handle(line), line.header()) {
            let interface = heard[at..at + 8].to_vec();
            let known = self.interface_cookies.entry(header.src_nid).or_insert_with(|| interface.clone());
            if *known != interface {
                return Err(format!("interface cookie {interface:02x?} after {known:02x?}"));
            }
            if !self.handles.insert(heard[at..at + 16].to_vec()) {
                return Err("an object cookie is used again".to_owned());
            }
        }
        Ok(())
    }
}

fn incarnation(line: &Line) -> Option<Range<usize>> {
    match &line.item.content {
        Content::Hello { hello, .. } if hello.version == Version::V4 => Some(56..64),
        Content::Hello { .. } => Some(32..40),
        _ => None,
    }
}

/// The lowest byte of the number of the configuration in a router's ping information: it is the status of its loopback, the
/// first of its entries.
fn router_sequence(line: &Line) -> Option<Range<usize>> {
    let payload = line.payload();
    let word = |at: usize| Some(u32::from_le_bytes(payload.get(at..at + 4)?.try_into().ok()?));
    let features = Features(word(4).filter(|_| word(0) == Some(PING_MAGIC))?);
    let at = line.bytes.len() - payload.len() + 24;
    (!line.forwarded && !features.contains(Features::RTE_DISABLED)).then_some(at..at + 1)
}

/// Replies of LNet selftest, and its bulk data.
const PORTAL_OF_SELFTEST: u32 = 52;

/// A field in a STAT reply of LNet selftest (selftest 9).
fn stat_reply(line: &Line, field: Range<usize>) -> Option<Range<usize>> {
    let Body::Put { portal: PORTAL_OF_SELFTEST, .. } = line.header()?.body else { return None };
    let payload = line.payload();
    let at = line.bytes.len() - payload.len();
    (payload.len() == 160 && payload[8..12] == [7, 0, 0, 0]).then_some(at + field.start..at + field.end)
}

/// The place of the cookie of a message that asks for a delivery ACK.
pub fn node_chosen_cookie(line: &Line) -> Option<Range<usize>> {
    match &line.item.content {
        Content::Message { cookies, .. } if cookies.request != 0 => Some(8..16),
        _ => None,
    }
}

/// The offset of the handle that the sender of a PUT or GET chose: it begins the header's last forty bytes.
pub fn node_chosen_handle(line: &Line) -> Option<usize> {
    match line.header()?.body {
        // The handle is another node's.
        _ if line.forwarded => None,
        Body::Put { ack: Some(_), .. } | Body::Get { .. } => handle(line),
        _ => None,
    }
}

/// The offset of the handle of any message.
pub fn handle(line: &Line) -> Option<usize> {
    line.header().map(|_| line.bytes.len() - line.payload().len() - 40)
}
