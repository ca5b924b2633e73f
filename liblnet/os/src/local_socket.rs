//! Sockets between processes of one machine, without files: they have names in the abstract namespace of the network namespace, and end with
//! their process. Packets keep their bounds and may carry descriptors ([`crate::descriptor_passing`]). No call here waits.
//!
//! Any process of the network namespace may connect to a name, or take it: each end looks at who the other is ([`crate::peer_cred`]).

use crate::descriptor::above_standard;
use rustix::net::{
    AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen,
    recv, socket_with,
};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// The connections that wait to be accepted, at most.
const BACKLOG: i32 = 128;

fn new_socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    above_standard(socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)
}

/// Makes a socket with this name; [`io::ErrorKind::AddrInUse`] if another has it. Connections to it wait from now on, or are refused while
/// [`listen_local`] has not been called.
pub fn bind_local(name: &[u8]) -> io::Result<OwnedFd> {
    let socket = new_socket()?;
    bind(&socket, &SocketAddrUnix::new_abstract_name(name)?)?;
    Ok(socket)
}

/// Lets others connect to a socket with a name.
pub fn listen_local(socket: &OwnedFd) -> io::Result<()> {
    Ok(listen(socket, BACKLOG)?)
}

/// Accepts the next connection; [`io::ErrorKind::WouldBlock`] if there is none.
pub fn accept_local(listener: impl AsFd) -> io::Result<OwnedFd> {
    above_standard(accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?)
}

/// Connects to a name. [`io::ErrorKind::ConnectionRefused`] if no process listens there; [`io::ErrorKind::WouldBlock`] if too many
/// connections wait there already.
pub fn connect_local(name: &[u8]) -> io::Result<OwnedFd> {
    let socket = new_socket()?;
    connect(&socket, &SocketAddrUnix::new_abstract_name(name)?)?;
    Ok(socket)
}

/// Receives a packet, or what fits of it, without descriptors that it may carry; 0 is the end of the connection.
pub fn receive_local(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(recv(socket, buffer, RecvFlags::DONTWAIT)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor_passing::{receive_with, send_with};
    use crate::peer_cred::PeerCred;
    use rustix::process::{geteuid, getpid};

    fn name(of: &str) -> Vec<u8> {
        format!("lnet-os-test/{}/{of}", std::process::id()).into_bytes()
    }

    #[test]
    fn packets_keep_their_bounds_and_each_end_sees_who_the_other_is() {
        let name = name("packets");
        let listener = bind_local(&name).unwrap();
        listen_local(&listener).unwrap();
        assert_eq!(accept_local(&listener).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let here = connect_local(&name).unwrap();
        let there = accept_local(&listener).unwrap();
        for end in [&here, &there] {
            let me = PeerCred { user: geteuid().as_raw(), process: Some(getpid()) };
            assert_eq!(PeerCred::of(end).unwrap(), me);
        }
        send_with(&here, b"one", &[here.as_fd()]).unwrap();
        send_with(&here, b"three", &[here.as_fd()]).unwrap();
        let (mut buffer, mut descriptors) = ([0; 16], Vec::new());
        assert_eq!(receive_with(&there, &mut buffer, &mut descriptors).unwrap(), 3);
        assert_eq!(receive_local(&there, &mut buffer).unwrap(), 5);
        assert_eq!((&buffer[..5], descriptors.len()), (&b"three"[..], 1));
        assert_eq!(receive_local(&there, &mut buffer).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop((here, descriptors));
        assert_eq!(receive_local(&there, &mut buffer).unwrap(), 0);
    }

    #[test]
    fn a_name_has_one_owner_and_nobody_without_a_listener_is_reached() {
        let name = name("owner");
        assert_eq!(connect_local(&name).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        let owner = bind_local(&name).unwrap();
        assert_eq!(bind_local(&name).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert_eq!(connect_local(&name).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        listen_local(&owner).unwrap();
        let _connected = connect_local(&name).unwrap();
        drop(owner);
        assert_eq!(connect_local(&name).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        bind_local(&name).unwrap();
    }
}
