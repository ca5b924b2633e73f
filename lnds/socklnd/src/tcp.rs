//! The kernel's `TCP_INFO` of a connection, and a TCP option that no library offers.

use crate::decide::unresponsive::TcpState;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// Bytes of the kernel's `struct tcp_info`, up to and with the shortest round trip.
const INFO_LEN: usize = 152;
/// The offsets of fields of `struct tcp_info`, in bytes.
const RETRANSMITS: usize = 2;
const PROBES: usize = 3;
const UNACKED: usize = 24;
const LAST_DATA_RECEIVED: usize = 52;
const LAST_ACK_RECEIVED: usize = 56;
const ROUND_TRIP: usize = 68;
const VARIATION: usize = 72;
const ACKNOWLEDGED: usize = 120;
const NOT_SENT: usize = 144;
const MIN_ROUND_TRIP: usize = 148;

/// Value of the shortest round trip while none has been measured.
const NOT_MEASURED: u32 = u32::MAX;

/// `TCP_RTO_MAX_MS`, since Linux 6.15.
const RTO_MAX_MS: libc::c_int = 44;

/// Reads the state of a TCP connection. An error means that the socket is no longer a connection.
pub(crate) fn state(socket: BorrowedFd<'_>) -> io::Result<TcpState> {
    let mut info = [0_u8; INFO_LEN];
    let mut len = INFO_LEN as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes into the array, which is as long, and the new length into `len`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &mut len,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    let number = |at: usize| {
        let bytes = info.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_ne_bytes)
    };
    let acknowledged = info.get(ACKNOWLEDGED..ACKNOWLEDGED + 8).and_then(|bytes| bytes.try_into().ok());
    let milliseconds = |at| Duration::from_millis(number(at).into());
    let microseconds = |at| Duration::from_micros(number(at).into());
    Ok(TcpState {
        outstanding: number(UNACKED) > 0 || number(NOT_SENT) > 0,
        acknowledged: acknowledged.map_or(0, u64::from_ne_bytes),
        retransmissions: info[RETRANSMITS],
        probes: info[PROBES],
        last_received: milliseconds(LAST_DATA_RECEIVED).min(milliseconds(LAST_ACK_RECEIVED)),
        in_flight: number(UNACKED) > 0,
        shortest_round_trip: match number(MIN_ROUND_TRIP) {
            NOT_MEASURED => Duration::ZERO,
            microseconds => Duration::from_micros(microseconds.into()),
        },
        round_trip: microseconds(ROUND_TRIP),
        variation: microseconds(VARIATION),
    })
}

/// Limits the time between two transmissions of unacknowledged bytes, so that a recovery is noticed soon. The limit is at least a
/// second. Older systems do not have the option and double the interval each time. Returns whether this one has it.
pub(crate) fn limit_retransmission_interval(socket: BorrowedFd<'_>, interval: Duration) -> bool {
    let milliseconds = libc::c_int::try_from(interval.as_millis()).unwrap_or(libc::c_int::MAX);
    // SAFETY: the kernel reads an int from where an int is.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            RTO_MAX_MS,
            std::ptr::from_ref(&milliseconds).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    result == 0
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn unread_bytes_are_outstanding_and_read_ones_are_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut there = listener.accept().unwrap().0;
        limit_retransmission_interval(here.as_fd(), Duration::from_secs(1));
        assert!(!state(here.as_fd()).unwrap().outstanding);
        let connected = state(here.as_fd()).unwrap();
        assert!(connected.shortest_round_trip <= connected.round_trip, "{connected:?}");
        assert!(
            connected.round_trip > Duration::ZERO && connected.variation > Duration::ZERO,
            "{connected:?}"
        );
        here.set_nonblocking(true).unwrap();
        let mut written = 0;
        while let Ok(more) = here.write(&[7; 65_536]) {
            written += more;
        }
        assert!(state(here.as_fd()).unwrap().outstanding);
        assert!(state(here.as_fd()).unwrap().acknowledged < written as u64);
        there.read_exact(&mut vec![0; written]).unwrap();
        while state(here.as_fd()).unwrap().outstanding {
            std::thread::yield_now();
        }
        assert_eq!(state(here.as_fd()).unwrap().probes, 0);
        assert!(state(here.as_fd()).unwrap().acknowledged >= written as u64);
    }

    #[test]
    fn a_socket_of_another_kind_has_no_tcp_state() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(state(socket.as_fd()).is_err());
    }
}
