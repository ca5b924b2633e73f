//! Creation of sockets that listen or connect, and the options of connections.

use crate::config::SocklndConfig;
use crate::proto::acceptor::LAST_PRIVILEGED_PORT;
use crate::tcp;
use lnet_os::descriptor::above_standard;
use socket2::{Domain, Protocol, SockAddr, Socket, TcpKeepalive, Type};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

/// Lowest source port that is tried: ports are taken from 1023 down to it.
const FIRST_PRIVILEGED_PORT: u16 = 512;
/// Maximum time between two transmissions of unacknowledged bytes, so that a path that works again is used again soon.
const RETRANSMIT: Duration = Duration::from_secs(1);

/// Makes a socket that listens on `address`.
pub(crate) fn listen(address: SocketAddr, backlog: i32) -> io::Result<Socket> {
    let socket = new_socket(address.ip())?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(backlog)?;
    Ok(socket)
}

/// Accepts the next inbound connection, if there is one.
#[expect(clippy::disallowed_methods, reason = "the number is seen to here")]
pub(crate) fn accept(listener: &Socket) -> io::Result<Option<(Socket, SocketAddr)>> {
    match listener.accept() {
        Ok((socket, source)) => {
            let socket = above_standard(socket)?;
            socket.set_nonblocking(true)?;
            let source = source.as_socket().ok_or(ErrorKind::InvalidInput)?;
            Ok(Some((socket, source)))
        }
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

/// A connect in progress.
pub(crate) struct Connecting {
    pub(crate) socket: Socket,
    /// Whether the source port is one that a peer in secure mode accepts.
    pub(crate) privileged: bool,
}

/// Starts to connect from `local` to `remote`: from the highest privileged source port that is free, or from any port
/// where this process may not bind a privileged one; by the link `device`, if one is given. TCP tries for at most
/// `longest`.
pub(crate) fn connect(
    local: IpAddr,
    remote: SocketAddr,
    device: Option<&str>,
    longest: Duration,
) -> io::Result<Connecting> {
    for port in (FIRST_PRIVILEGED_PORT..=LAST_PRIVILEGED_PORT).rev() {
        // A socket that connects to its own address and port would connect to itself.
        if port == remote.port() {
            continue;
        }
        let socket = new_socket(local)?;
        bind_to_device(&socket, device)?;
        limit_waits(&socket, longest)?;
        // One port may serve connections to several peers.
        socket.set_reuse_address(true)?;
        match socket.bind(&SocketAddr::new(local, port).into()) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AddrInUse => continue,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                return connect_from_any(local, remote, device, longest);
            }
            Err(error) => return Err(error),
        }
        match start_connect(&socket, remote) {
            Ok(()) => return Ok(Connecting { socket, privileged: true }),
            // This port is, or was recently, in use for a connection to the same peer.
            Err(error) if matches!(error.kind(), ErrorKind::AddrNotAvailable | ErrorKind::AddrInUse) => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::AddrInUse.into())
}

/// Sets the options of an established connection (wire-tcp 1.2), and the time after which unacknowledged bytes
/// mean that the peer is gone (wire-tcp 3.9).
pub(crate) fn settle(socket: &Socket, config: &SocklndConfig, longest: Duration) -> io::Result<()> {
    socket.set_tcp_nodelay(!config.nagle)?;
    if let Some(congestion) = &config.congestion {
        // The connection works without it; `check_congestion` has logged why it is not available.
        let _ = rustix::net::sockopt::set_tcp_congestion(socket, congestion);
    }
    socket.set_linger(None)?;
    if !config.keepalive_idle.is_zero() {
        let probes = TcpKeepalive::new()
            .with_time(config.keepalive_idle)
            .with_interval(config.keepalive_intvl)
            .with_retries(config.keepalive_count);
        socket.set_tcp_keepalive(&probes)?;
    }
    limit_waits(socket, longest)
}

/// Makes a socket send only by this link, and receive only what arrives on it.
pub(crate) fn bind_to_device(socket: &Socket, device: Option<&str>) -> io::Result<()> {
    device.map_or(Ok(()), |device| socket.bind_device(Some(device.as_bytes())))
}

/// Checks whether this process may bind sockets to this link.
pub(crate) fn check_device(device: &str) -> io::Result<()> {
    bind_to_device(&new_socket(IpAddr::V4(Ipv4Addr::UNSPECIFIED))?, Some(device))
}

/// Checks whether connections may have this congestion control.
pub(crate) fn check_congestion(name: &str) -> io::Result<()> {
    let socket = new_socket(IpAddr::V4(Ipv4Addr::UNSPECIFIED))?;
    rustix::net::sockopt::set_tcp_congestion(&socket, name).map_err(io::Error::from)
}

/// Makes a connection survive an outage: TCP does not end it for lack of a response before `longest` has passed. Returns
/// whether that succeeded: if TCP cannot be made to retry often, a new connection is established sooner than an old one
/// recovers.
pub(crate) fn outlast(socket: &Socket, longest: Duration) -> bool {
    tcp::limit_retransmission_interval(socket.as_fd(), RETRANSMIT)
        && socket.set_tcp_user_timeout(Some(longest)).is_ok()
}

/// Sets how long TCP retries on `socket`, and how often.
fn limit_waits(socket: &Socket, longest: Duration) -> io::Result<()> {
    tcp::limit_retransmission_interval(socket.as_fd(), RETRANSMIT);
    socket.set_tcp_user_timeout(Some(longest))
}

fn connect_from_any(
    local: IpAddr,
    remote: SocketAddr,
    device: Option<&str>,
    longest: Duration,
) -> io::Result<Connecting> {
    let socket = new_socket(local)?;
    bind_to_device(&socket, device)?;
    limit_waits(&socket, longest)?;
    socket.bind(&SocketAddr::new(local, 0).into())?;
    start_connect(&socket, remote)?;
    Ok(Connecting { socket, privileged: false })
}

fn start_connect(socket: &Socket, remote: SocketAddr) -> io::Result<()> {
    match socket.connect(&SockAddr::from(remote)) {
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
        other => other,
    }
}

#[expect(clippy::disallowed_methods, reason = "the number is seen to here")]
fn new_socket(ip: IpAddr) -> io::Result<Socket> {
    let domain = if ip.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    let socket = above_standard(Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::sockopt::tcp_congestion;
    use std::net::TcpListener;

    #[test]
    fn connections_have_the_congestion_control_of_the_settings_or_the_systems() {
        let systems = tcp_congestion(new_socket(Ipv4Addr::LOCALHOST.into()).unwrap()).unwrap();
        // Every kernel has this algorithm.
        for (setting, expected) in
            [(None, systems.as_str()), (Some("reno"), "reno"), (Some("none such"), &systems)]
        {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let address = listener.local_addr().unwrap();
            let connecting = connect(address.ip(), address, None, Duration::from_secs(1)).unwrap();
            let config = SocklndConfig { congestion: setting.map(str::to_owned), ..SocklndConfig::default() };
            settle(&connecting.socket, &config, Duration::from_secs(1)).unwrap();
            assert_eq!(tcp_congestion(&connecting.socket).unwrap(), expected, "{setting:?}");
        }
    }
}
