//! Messages on Unix sockets that carry descriptors to another process.

use crate::descriptor::above_standard;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The most descriptors of one message.
pub const MAX_DESCRIPTORS: usize = 8;

/// Sends bytes, all at once or not at all, with descriptors. Does not wait: [`io::ErrorKind::WouldBlock`] if the socket is full. From any
/// thread.
pub fn send_with(socket: impl AsFd, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    match sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, flags)? {
        sent if sent == bytes.len() => Ok(()),
        // The rest cannot follow: the descriptors are with the first byte.
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// Receives what there is of a message, at most as many bytes as `buffer` has, and adds its descriptors to `descriptors`, close-on-exec
/// and above 2. Returns the number of bytes; 0 is the end of the stream. Waits as the socket is set to. From any thread.
pub fn receive_with(
    socket: impl AsFd,
    buffer: &mut [u8],
    descriptors: &mut Vec<OwnedFd>,
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(socket, &mut [IoSliceMut::new(buffer)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(all) = message {
            for descriptor in all {
                descriptors.push(above_standard(descriptor)?);
            }
        }
    }
    Ok(received.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::{new_eventfd, unix_pair};

    #[test]
    fn descriptors_arrive_with_their_bytes() {
        let (here, there) = unix_pair().unwrap();
        let counter = new_eventfd().unwrap();
        send_with(&here, b"two", &[counter.as_fd(), counter.as_fd()]).unwrap();
        send_with(&here, b"none", &[]).unwrap();
        let (mut buffer, mut descriptors) = ([0; 16], Vec::new());
        assert_eq!(receive_with(&there, &mut buffer, &mut descriptors).unwrap(), 3);
        assert_eq!((&buffer[..3], descriptors.len()), (&b"two"[..], 2));
        rustix::io::write(&descriptors[1], &5_u64.to_ne_bytes()).unwrap();
        let mut count = [0; 8];
        rustix::io::read(&counter, &mut count).unwrap();
        assert_eq!(u64::from_ne_bytes(count), 5);
        assert_eq!(receive_with(&there, &mut buffer, &mut descriptors).unwrap(), 4);
        assert_eq!(descriptors.len(), 2);
        drop(here);
        assert_eq!(receive_with(&there, &mut buffer, &mut descriptors).unwrap(), 0);
    }

    #[test]
    fn a_socket_that_is_full_takes_nothing() {
        let (here, _there) = unix_pair().unwrap();
        let error = loop {
            if let Err(error) = send_with(&here, &[1; 4096], &[]) {
                break error;
            }
        };
        assert!(matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::WriteZero), "{error}");
    }
}
