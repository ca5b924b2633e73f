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

/// Makes a socket that listens on `address`, one of IPv6 for IPv6 only. Connections have its type of service from their first packet on.
pub(crate) fn listen(address: SocketAddr, backlog: i32, tos: Option<u8>) -> io::Result<Socket> {
    let socket = new_socket(address.ip())?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    set_type_of_service(&socket, address.ip(), tos)?;
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

/// This node's end of a connect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectFrom<'a> {
    /// The address.
    pub(crate) local: IpAddr,
    /// The link that the connection is bound to.
    pub(crate) device: Option<&'a str>,
    /// The IP type of service; `None`: the system's.
    pub(crate) tos: Option<u8>,
    /// The time for which TCP tries.
    pub(crate) longest: Duration,
}

impl ConnectFrom<'_> {
    fn new_socket(&self) -> io::Result<Socket> {
        let socket = new_socket(self.local)?;
        bind_to_device(&socket, self.device)?;
        set_type_of_service(&socket, self.local, self.tos)?;
        limit_waits(&socket, self.longest)?;
        Ok(socket)
    }
}

/// Starts to connect to `remote`, from the highest privileged source port that is free, or from any port where this process may not bind
/// a privileged one.
pub(crate) fn connect(from: ConnectFrom<'_>, remote: SocketAddr) -> io::Result<Connecting> {
    for port in (FIRST_PRIVILEGED_PORT..=LAST_PRIVILEGED_PORT).rev() {
        // A socket that connects to its own address and port would connect to itself.
        if port == remote.port() {
            continue;
        }
        let socket = from.new_socket()?;
        // One port may serve connections to several peers.
        socket.set_reuse_address(true)?;
        match socket.bind(&SocketAddr::new(from.local, port).into()) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AddrInUse => continue,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                return connect_from_any(from, remote);
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

/// Whether connections from this address of the machine can have privileged source ports.
pub(crate) fn may_be_privileged(local: IpAddr) -> bool {
    let bound = new_socket(local)
        .and_then(|socket| socket.bind(&SocketAddr::new(local, LAST_PRIVILEGED_PORT).into()));
    bound.map_or_else(|error| error.kind() == ErrorKind::AddrInUse, |()| true)
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

/// Sets the type of service of what a socket with the address `local` sends: of IPv4 the field of that name, of IPv6 the traffic class.
fn set_type_of_service(socket: &Socket, local: IpAddr, tos: Option<u8>) -> io::Result<()> {
    match (local, tos) {
        (_, None) => Ok(()),
        (IpAddr::V4(_), Some(tos)) => socket.set_tos_v4(tos.into()),
        (IpAddr::V6(_), Some(tos)) => socket.set_tclass_v6(tos.into()),
    }
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

fn connect_from_any(from: ConnectFrom<'_>, remote: SocketAddr) -> io::Result<Connecting> {
    let socket = from.new_socket()?;
    socket.bind(&SocketAddr::new(from.local, 0).into())?;
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

    fn from(local: IpAddr, tos: Option<u8>) -> ConnectFrom<'static> {
        ConnectFrom { local, device: None, tos, longest: Duration::from_secs(1) }
    }

    /// The option is read at both ends: the listener's is that of the accepted socket.
    #[test]
    fn connections_of_both_families_have_their_type_of_service_from_the_start() {
        for local in [IpAddr::from([127, 0, 0, 1]), std::net::Ipv6Addr::LOCALHOST.into()] {
            let listen_at = SocketAddr::new(local, 0);
            // Not every machine has IPv6.
            let Ok(listener) = listen(listen_at, 1, Some(0x88)) else {
                assert!(local.is_ipv6());
                continue;
            };
            let address = listener.local_addr().unwrap().as_socket().unwrap();
            let of = |socket: &Socket| match local {
                IpAddr::V4(_) => socket.tos_v4().unwrap(),
                IpAddr::V6(_) => socket.tclass_v6().unwrap(),
            };
            let connecting = connect(from(local, Some(0x28)), address).unwrap();
            assert_eq!((of(&connecting.socket), of(&listener)), (0x28, 0x88), "{local}");
            listener.set_nonblocking(false).unwrap();
            assert_eq!(of(&listener.accept().unwrap().0), 0x88, "{local}");
            assert_eq!(of(&connect(from(local, None), address).unwrap().socket), 0, "{local}");
        }
    }

    #[test]
    fn connections_have_the_congestion_control_of_the_settings_or_the_systems() {
        let systems = tcp_congestion(new_socket(Ipv4Addr::LOCALHOST.into()).unwrap()).unwrap();
        // Every kernel has this algorithm.
        for (setting, expected) in
            [(None, systems.as_str()), (Some("reno"), "reno"), (Some("none such"), &systems)]
        {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let address = listener.local_addr().unwrap();
            let connecting = connect(from(address.ip(), None), address).unwrap();
            let config = SocklndConfig { congestion: setting.map(str::to_owned), ..SocklndConfig::default() };
            settle(&connecting.socket, &config, Duration::from_secs(1)).unwrap();
            assert_eq!(tcp_congestion(&connecting.socket).unwrap(), expected, "{setting:?}");
        }
    }
}
