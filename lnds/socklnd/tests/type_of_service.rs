//! The IP type of service of an NI's connections.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::{Errno, NiConfig};
use socket2::SockRef;
use socklnd::proto::ConnectionType;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::BorrowedFd;
use support::*;

/// The types of service of this process's sockets between two addresses, as `local` has them; its port 0 is any.
fn types_of_service(local: SocketAddr, remote: IpAddr) -> Vec<u32> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd").unwrap() {
        let Ok(number) = entry.unwrap().file_name().to_str().unwrap().parse() else { continue };
        // SAFETY: the number is only passed to getsockname, getpeername and getsockopt, which fail if another thread has closed it.
        let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
        let socket = SockRef::from(&descriptor);
        let address = |it: std::io::Result<socket2::SockAddr>| it.ok().and_then(|it| it.as_socket());
        let (here, there) = (address(socket.local_addr()), address(socket.peer_addr()));
        let is_here =
            here.is_some_and(|here| here.ip() == local.ip() && (local.port() == 0 || here == local));
        if is_here && there.is_some_and(|there| there.ip() == remote) {
            all.extend(socket.tos_v4());
        }
    }
    all
}

#[test]
fn connections_in_both_directions_have_the_type_of_service_of_the_ni_or_of_the_driver() {
    for (of_driver, of_ni, expected) in [
        (-1, None, 0),
        (0x20, None, 0x20),
        (0x20, Some(0x48), 0x48),
        // -1, which is the system's.
        (0x20, Some(u32::MAX), 0),
        (-1, Some(0), 0),
    ] {
        let (low, high, port) = addresses();
        let config = socklnd::SocklndConfig { tos: of_driver, ..config(port) };
        let node = Node::start(tcp(addresses().0), config);
        let lnd_numbers: Vec<_> = of_ni.map(|tos| ("tos", tos)).into_iter().collect();
        let ni = NiConfig { lnd_numbers, ..NiConfig::default() };
        node.core.admin().add_ni(tcp(high), ni, &*node.driver).unwrap();
        let shown = node.core.nets().ni(tcp(high)).unwrap().lnd_numbers();
        let known = of_ni.map_or(of_driver, u32::cast_signed);
        assert_eq!(shown, Vec::from_iter((known >= 0).then_some(("tos", known.unsigned_abs()))));
        let _raw = Raw::open(low, high, port, ConnectionType::Control);
        let accepted = types_of_service(SocketAddr::new(high.into(), port), low.into());
        assert_eq!(accepted, [expected], "{of_driver} {of_ni:?}");
        let third = Ipv4Addr::from(u32::from(low) - 1);
        let listener = Listening::on(third, port);
        let md = node.bind_bytes(pattern(8, 1));
        node.core.data_path().put(Some(tcp(high)), md, false, target(tcp(third)), 0).unwrap();
        let _connected = listener.accept(third);
        let connected = types_of_service(SocketAddr::new(high.into(), 0), third.into());
        assert!(!connected.is_empty() && connected.iter().all(|tos| *tos == expected), "{connected:?}");
    }
}

#[test]
fn an_ni_with_an_impossible_type_of_service_does_not_start() {
    let (_, high, port) = addresses();
    let node = Node::start(tcp(addresses().0), config(port));
    let ni = NiConfig { lnd_numbers: vec![("tos", 256)], ..NiConfig::default() };
    let error = node.core.admin().add_ni(tcp(high), ni, &*node.driver).unwrap_err();
    assert_eq!(error.errno, Errno::Invalid);
    assert!(error.text.contains("tos 256 is not within 0 to 255"), "{error}");
}
