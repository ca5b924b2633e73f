//! A proxy between two nodes that cuts connections after a number of bytes.

use socket2::{Domain, Socket, Type};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

/// A number of bytes that exceeds what any test sends.
const NEVER: i64 = i64::MAX / 2;

/// Forwards connections to a node as if they came from another address.
pub struct Cutter {
    shared: Arc<Shared>,
}

struct Shared {
    /// Number of bytes that still pass towards the target.
    forward: AtomicI64,
    /// Number of bytes that still pass from the target back to the source.
    back: AtomicI64,
    open: Mutex<Vec<TcpStream>>,
    over: AtomicBool,
}

impl Cutter {
    /// Listens on `listen`, and forwards each connection from `source` to `target`.
    pub fn start(listen: (Ipv4Addr, u16), source: Ipv4Addr, target: (Ipv4Addr, u16)) -> Self {
        let listener = TcpListener::bind(listen).unwrap();
        let shared = Arc::new(Shared {
            forward: AtomicI64::new(NEVER),
            back: AtomicI64::new(NEVER),
            open: Mutex::default(),
            over: AtomicBool::new(false),
        });
        let thread = Arc::clone(&shared);
        std::thread::spawn(move || {
            while let Ok((caller, _)) = listener.accept() {
                if thread.over.load(Ordering::SeqCst) {
                    return;
                }
                thread.join(caller, source, target);
            }
        });
        Self { shared }
    }

    /// Makes all connections end once `forward` more bytes have gone to the target, or `back` from it.
    pub fn cut_after(&self, forward: Option<i64>, back: Option<i64>) {
        self.shared.forward.store(forward.unwrap_or(NEVER), Ordering::SeqCst);
        self.shared.back.store(back.unwrap_or(NEVER), Ordering::SeqCst);
        if forward == Some(0) {
            self.shared.cut();
        }
    }

    /// Whether the cut is still to come.
    pub fn is_armed(&self) -> bool {
        self.shared.forward.load(Ordering::SeqCst) < NEVER / 2
            || self.shared.back.load(Ordering::SeqCst) < NEVER / 2
    }
}

impl Shared {
    fn join(self: &Arc<Self>, caller: TcpStream, source: Ipv4Addr, target: (Ipv4Addr, u16)) {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::new(source.into(), 0).into()).unwrap();
        if socket.connect(&SocketAddr::from(target).into()).is_err() {
            return;
        }
        let called: TcpStream = socket.into();
        for stream in [&caller, &called] {
            stream.set_nodelay(true).unwrap();
            self.open.lock().unwrap().push(stream.try_clone().unwrap());
        }
        let ends = (caller.try_clone().unwrap(), called.try_clone().unwrap());
        for (from, to, forward) in [(caller, called, true), (ends.1, ends.0, false)] {
            let shared = Arc::clone(self);
            std::thread::spawn(move || shared.copy(from, to, forward));
        }
    }

    fn copy(&self, mut from: TcpStream, mut to: TcpStream, forward: bool) {
        let left = if forward { &self.forward } else { &self.back };
        let mut buffer = [0; 4096];
        while let Ok(got) = from.read(&mut buffer) {
            if got == 0 {
                break;
            }
            let before = left.fetch_sub(got as i64, Ordering::SeqCst);
            let pass = usize::try_from(before).unwrap_or(0).min(got);
            if to.write_all(&buffer[..pass]).is_err() {
                break;
            }
            if before <= got as i64 {
                self.forward.store(NEVER, Ordering::SeqCst);
                self.back.store(NEVER, Ordering::SeqCst);
                self.cut();
                return;
            }
        }
        let _ = (from.shutdown(std::net::Shutdown::Both), to.shutdown(std::net::Shutdown::Both));
    }

    /// Shuts both directions down; each side can still read the bytes that have passed.
    fn cut(&self) {
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

impl Drop for Cutter {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        self.shared.cut();
    }
}
