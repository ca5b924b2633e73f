//! A program in another process, whose memory the test fetches.

use lnet_core::DeferredAck;
use lnet_core::memory::{ClientMemory, RecvBuffer, ReplyMemory, ThenReply};
use lnet_wire::Pid;
use std::sync::{Arc, Mutex};

/// The PID of the program.
const PROGRAM: Pid = Pid(777);

/// The memory of a program in another process. It keeps what it is asked for until the test answers.
#[derive(Default)]
pub struct FakeClient {
    in_place: bool,
    asked: Mutex<Vec<Asked>>,
    /// `None`: it handles no PUTs.
    acks: Option<Mutex<Vec<DeferredAck>>>,
}

/// A fetch that has not ended.
pub struct Asked {
    pub offset: u32,
    pub len: u32,
    pub then: ThenReply,
}

impl FakeClient {
    /// Memory whose bytes are fetched.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Memory that the MD itself has.
    pub fn in_place() -> Arc<Self> {
        Arc::new(Self { in_place: true, ..Self::default() })
    }

    /// The same, of a program that handles the events of PUTs before their ACKs leave.
    pub fn acknowledging() -> Arc<Self> {
        Arc::new(Self { in_place: true, acks: Some(Mutex::default()), ..Self::default() })
    }

    /// The ACKs that wait since the last call.
    pub fn acks(&self) -> Vec<DeferredAck> {
        self.acks.as_ref().map(|acks| std::mem::take(&mut *acks.lock().unwrap())).unwrap_or_default()
    }

    /// The fetches since the last call.
    pub fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }

    /// Answers all fetches, each with as many bytes as it asks for; returns their number.
    pub fn answer(&self) -> usize {
        let asked = self.asked();
        let count = asked.len();
        asked.into_iter().for_each(|Asked { len, then, .. }| then(Ok(reply_memory(&RecvBuffer::new(len)))));
        count
    }
}

impl ClientMemory for FakeClient {
    fn pid(&self) -> Pid {
        PROGRAM
    }

    fn is_in_place(&self) -> bool {
        self.in_place
    }

    fn fetch(&self, offset: u32, len: u32, then: ThenReply) {
        self.asked.lock().unwrap().push(Asked { offset, len, then });
    }

    fn acknowledges(&self) -> bool {
        self.acks.is_some()
    }

    fn handle_put(&self, ack: DeferredAck) {
        self.acks.as_ref().unwrap().lock().unwrap().push(ack);
    }
}

/// The memory of a buffer, which the result keeps.
pub fn reply_memory(buffer: &RecvBuffer) -> ReplyMemory {
    ReplyMemory { memory: buffer.memory(), keeper: Arc::new(buffer.clone()) }
}
