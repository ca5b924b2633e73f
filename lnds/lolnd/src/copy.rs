//! Copying payloads: from one MD's memory to another's, and to and from bytes that a driver keeps.

use lnet_core::memory::{MdMemory, MemSlice};
use lnet_core::{ArrivingMessage, OutgoingMessage};

/// The current payload of a message that is to be sent.
pub fn payload_of(message: &OutgoingMessage) -> Box<[u8]> {
    let mut bytes = vec![0; message.payload_len()];
    let memory = MdMemory::contiguous(bytes.as_mut_ptr() as usize, message.payload_len() as u32);
    copy(message.payload(), memory.slice(0, memory.len()));
    bytes.into()
}

/// Adds the first bytes of `memory` to `bytes`, `limit` at most.
pub fn append(bytes: &mut Vec<u8>, memory: MemSlice<'_>, limit: usize) {
    let (before, len) = (bytes.len(), memory.remaining().min(limit));
    bytes.resize(before + len, 0);
    let sink = MdMemory::contiguous(bytes[before..].as_mut_ptr() as usize, len as u32);
    copy(memory, sink.slice(0, sink.len()));
}

/// Copies `bytes` to the payload memory of an arriving message; bytes beyond its length are discarded.
pub fn fill_payload_of(message: &ArrivingMessage, bytes: &[u8]) {
    fill_payload_at(message, 0, bytes);
}

/// Copies `bytes` to the payload memory of an arriving message, `at` bytes after its begin; bytes beyond its length are discarded.
pub fn fill_payload_at(message: &ArrivingMessage, at: usize, bytes: &[u8]) {
    let len = bytes.len().min(message.payload_len().saturating_sub(at)) as u32;
    let memory = MdMemory::contiguous(bytes.as_ptr() as usize, len);
    copy(memory.slice(0, len), message.payload().advanced(at));
}

/// Copies bytes from `from` to `to` until either ends. The two may overlap.
pub fn copy(mut from: MemSlice<'_>, mut to: MemSlice<'_>) {
    let (mut source, mut sink) = (from.next(), to.next());
    while let (Some(s), Some(t)) = (&mut source, &mut sink) {
        let len = s.len.min(t.len);
        // SAFETY: both runs belong to MDs with an operation in progress, whose memory the C caller has
        // promised to keep valid until its last event; `ptr::copy` allows overlap.
        unsafe { std::ptr::copy(s.address as *const u8, t.address as *mut u8, len) };
        (s.address, s.len) = (s.address + len, s.len - len);
        (t.address, t.len) = (t.address + len, t.len - len);
        if s.len == 0 {
            source = from.next();
        }
        if t.len == 0 {
            sink = to.next();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lnet_core::memory::{MdMemory, MemRange};

    #[test]
    fn runs_of_different_lengths_are_copied_byte_for_byte() {
        let from: Vec<u8> = (0..30).collect();
        let mut to = vec![0xff_u8; 40];
        let source = [(3, 10), (0, 3), (20, 7)]
            .map(|(at, len)| MemRange { address: from.as_ptr() as usize + at, len });
        let sink = [(0, 4), (10, 9), (30, 10)]
            .map(|(at, len)| MemRange { address: to.as_mut_ptr() as usize + at, len });
        let (Some(source), Some(sink)) = (MdMemory::scattered(&source), MdMemory::scattered(&sink)) else {
            panic!()
        };
        copy(source.slice(0, 20), sink.slice(0, 20));
        assert_eq!(to[..4], [3, 4, 5, 6]);
        assert_eq!(to[10..19], [7, 8, 9, 10, 11, 12, 0, 1, 2]);
        assert_eq!(to[30..37], [20, 21, 22, 23, 24, 25, 26]);
        assert!([4..10, 19..30, 37..40].into_iter().flatten().all(|i| to[i] == 0xff));
    }
}
