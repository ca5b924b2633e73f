//! A peer whose bytes a test controls one by one.

use super::{BITS, PORTAL, TIMEOUT, tcp};
use lnet_wire::byte_order::ByteOrder;
use lnet_wire::{Body, Header, Nid, Pid, WireHandle};
use socket2::{Domain, SockRef, Socket, Type};
use socklnd::proto::frame::{self, Cookies, Head, Incoming};
use socklnd::proto::hello::{Decoded, Hello};
use socklnd::proto::{ConnectionType, Version, acceptor};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};

/// One end of a connection, controlled byte by byte by a test.
pub struct Raw {
    pub stream: TcpStream,
    pub version: Version,
}

impl Raw {
    /// Connects from `from`, from an unprivileged port if that is 0.
    pub fn connect(from: IpAddr, from_port: u16, to: IpAddr, port: u16) -> Self {
        let socket = Socket::new(Domain::for_address(SocketAddr::new(from, 0)), Type::STREAM, None).unwrap();
        socket.set_reuse_address(true).unwrap();
        socket.bind(&SocketAddr::new(from, from_port).into()).unwrap();
        socket.connect(&SocketAddr::new(to, port).into()).unwrap();
        Self::over(socket.into())
    }

    pub fn over(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, version: Version::V3 }
    }

    /// Connects and sends a HELLO; returns the response, too.
    pub fn hello(from: Ipv4Addr, to: Ipv4Addr, port: u16, kind: ConnectionType) -> (Self, Hello) {
        Self::send_hello(from, to, port, &hello(from, to, Some(kind)))
    }

    /// Connects and sends `hello`; returns the response, too.
    pub fn send_hello(from: Ipv4Addr, to: Ipv4Addr, port: u16, hello: &Hello) -> (Self, Hello) {
        let mut raw = Self::connect(from.into(), 0, to.into(), port);
        raw.version = hello.version;
        raw.send(&[acceptor::encode_request(tcp(to)), hello.encode().unwrap()].concat());
        let response = raw.read_hello();
        (raw, response)
    }

    /// Opens a connection.
    pub fn open(from: Ipv4Addr, to: Ipv4Addr, port: u16, kind: ConnectionType) -> Self {
        let (raw, response) = Self::hello(from, to, port, kind);
        assert_eq!(response.connection_type, Some(kind.mirror()));
        raw
    }

    /// Opens a connection as a node of this implementation with this number.
    pub fn open_as_same_implementation(
        from: Ipv4Addr,
        to: Ipv4Addr,
        port: u16,
        number: u64,
        kind: ConnectionType,
    ) -> Self {
        let hello = hello_of_same_implementation(from, to, number, kind);
        // A node that still ends an earlier connection answers with type none: its peer is to try again.
        loop {
            let (raw, response) = Self::send_hello(from, to, port, &hello);
            if let Some(answered) = response.connection_type {
                assert_eq!(answered, kind.mirror());
                return raw;
            }
        }
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    pub fn send_slowly(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.send(std::slice::from_ref(byte));
        }
    }

    pub fn read(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    pub fn read_hello(&mut self) -> Hello {
        let mut bytes = Vec::new();
        loop {
            match Hello::decode(&bytes).unwrap() {
                Decoded::Need(n) => bytes.extend(self.read(n - bytes.len())),
                Decoded::Done { hello, .. } => return hello,
            }
        }
    }

    /// Reads the next message or NOOP, and the payload.
    pub fn read_message(&mut self) -> (Incoming, Vec<u8>) {
        let mut bytes = Vec::new();
        loop {
            match frame::decode(self.version, ByteOrder::Little, &bytes).unwrap() {
                Incoming::Need(n) => bytes.extend(self.read(n - bytes.len())),
                Incoming::Message { header, .. } => {
                    let payload = self.read(header.payload_length as usize);
                    return (frame::decode(self.version, ByteOrder::Little, &bytes).unwrap(), payload);
                }
                noop => return (noop, Vec::new()),
            }
        }
    }

    pub fn read_noop(&mut self) -> Cookies {
        match self.read_message().0 {
            Incoming::Noop { cookies, .. } => cookies,
            other => panic!("{other:?} in place of a NOOP"),
        }
    }

    pub fn read_lnet(&mut self) -> (Header, Cookies, Vec<u8>) {
        match self.read_message() {
            (Incoming::Message { header, cookies, .. }, payload) => (header, cookies, payload),
            other => panic!("{other:?} in place of a message"),
        }
    }

    /// Reads until the other side closes.
    pub fn read_to_end(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return all,
                Ok(got) => all.extend(&buffer[..got]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return all,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    pub fn put(&mut self, header: &Header, cookies: Cookies, payload: &[u8]) {
        let bytes = message(self.version, header, cookies, payload);
        self.send(&bytes);
    }
}

pub fn message(version: Version, header: &Header, cookies: Cookies, payload: &[u8]) -> Vec<u8> {
    let head = Head::message(version, header, cookies).unwrap();
    [head.bytes(), payload].concat()
}

pub fn hello(from: Ipv4Addr, to: Ipv4Addr, kind: Option<ConnectionType>) -> Hello {
    Hello {
        version: Version::V3,
        src_nid: tcp(from),
        dest_nid: Some(tcp(to)),
        src_pid: Pid::LUSTRE,
        dest_pid: Pid(0),
        src_incarnation: 42,
        dest_incarnation: 0,
        connection_type: kind,
        ips: vec![],
    }
}

pub fn put_header(from: Nid, to: Nid, len: usize, ack: bool) -> Header {
    Header {
        dest_nid: to,
        src_nid: from,
        dest_pid: Pid::LUSTRE,
        src_pid: Pid::LUSTRE,
        payload_length: len as u32,
        body: Body::Put {
            ack: ack.then_some(WireHandle { interface_cookie: 5, object_cookie: 6 }),
            match_bits: BITS,
            hdr_data: 3,
            portal: PORTAL,
            offset: 0,
        },
    }
}

/// Makes an accept that waits too long fail.
pub fn limit_accepts(listener: &TcpListener) {
    SockRef::from(listener).set_read_timeout(Some(TIMEOUT)).unwrap();
}

/// A peer that waits for connections.
pub struct Listening(TcpListener);

impl Listening {
    pub fn on(ip: Ipv4Addr, port: u16) -> Self {
        let listener = TcpListener::bind((ip, port)).unwrap();
        limit_accepts(&listener);
        Self(listener)
    }

    /// Accepts the next connection, if there is one already, and reads its HELLO.
    pub fn try_accept_handshake(&self) -> Option<(Raw, Hello)> {
        self.0.set_nonblocking(true).unwrap();
        let caller = self.0.accept();
        self.0.set_nonblocking(false).unwrap();
        let stream = caller.ok()?.0;
        stream.set_nonblocking(false).unwrap();
        Some(Self::listen_to(stream))
    }

    /// Accepts the next connection, and reads its request and HELLO.
    pub fn accept_handshake(&self) -> (Raw, Hello) {
        Self::listen_to(self.0.accept().unwrap().0)
    }

    /// Accepts the next connection, from which nothing is read.
    pub fn accept_without_response(&self) -> Raw {
        Raw::over(self.0.accept().unwrap().0)
    }

    fn listen_to(stream: TcpStream) -> (Raw, Hello) {
        let mut raw = Raw::over(stream);
        let request = raw.read(16);
        assert_eq!(request[..8], [0, 0x71, 0xce, 0xac, 1, 0, 0, 0]);
        let hello = raw.read_hello();
        (raw, hello)
    }

    /// Accepts the next connection with its handshake.
    pub fn accept(&self, me: Ipv4Addr) -> (Raw, ConnectionType) {
        let (mut raw, asked) = self.accept_handshake();
        let kind = asked.connection_type.unwrap();
        let response = Hello {
            version: asked.version,
            src_nid: tcp(me),
            dest_nid: Some(asked.src_nid),
            connection_type: Some(kind.mirror()),
            ..hello(me, me, None)
        };
        raw.version = asked.version;
        raw.send(&response.encode().unwrap());
        (raw, kind)
    }
}

/// Returns a HELLO of a node of this implementation with this number.
pub fn hello_of_same_implementation(
    from: Ipv4Addr,
    to: Ipv4Addr,
    number: u64,
    kind: ConnectionType,
) -> Hello {
    Hello { dest_incarnation: socklnd::implementation_id(number), ..hello(from, to, Some(kind)) }
}

/// Cookies of a message that asks for no delivery ACK and carries none.
pub const NO_COOKIES: Cookies = Cookies { request: 0, ack: 0 };

/// The flag of the ID of a message that is sent again.
pub const RESEND: u64 = 1 << 63;

/// Returns the ID of message `number` with the connection sequence `conn_seq`.
pub const fn message_id(conn_seq: u64, number: u64) -> u64 {
    conn_seq << 40 | number
}

pub const fn asks_for_ack(request: u64) -> Cookies {
    Cookies { request, ack: 0 }
}

pub const fn cookies_of(request: u64, ack: u64) -> Cookies {
    Cookies { request, ack }
}
