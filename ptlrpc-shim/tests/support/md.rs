//! Descriptors on this node, and their events.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use ptlrpc::lnet::{Event, EventHandler, MatchCriteria, Md, MdSpec, Nid, Node, ProcessId, Region};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

struct Forward(Mutex<Sender<Event>>);

impl EventHandler for Forward {
    fn on_event(&self, event: &Event) {
        self.0.lock().unwrap().send(*event).unwrap();
    }
}

pub fn forward_events() -> (Arc<dyn EventHandler>, Receiver<Event>) {
    let (sender, receiver) = channel();
    (Arc::new(Forward(Mutex::new(sender))), receiver)
}

pub fn local_process() -> ProcessId {
    ProcessId::lustre(Nid::LOOPBACK)
}

pub fn attach_buffer(node: &Node, region: &Arc<Region>, max_size: u32, handler: Arc<dyn EventHandler>) -> Md {
    let spec = MdSpec {
        threshold: None,
        puts: true,
        max_size: Some(max_size),
        ..MdSpec::active(Arc::clone(region), 1)
    };
    node.attach(7, MatchCriteria { from: None, bits: 0, ignore: u64::MAX }, spec, handler).unwrap()
}
