//! A TCP connection that is made to see whether it is accepted, and closed again.

use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Connects to `address` within `connect_timeout`, from a port that the system chooses, and reads one byte within `read_timeout`. The
/// outer error is that of the connection; inside is the number of bytes, 0 where the other side has closed the connection, or the error of
/// the read: [`io::ErrorKind::WouldBlock`] where the connection stays open and nothing comes.
pub fn probe(
    address: SocketAddr,
    connect_timeout: Duration,
    read_timeout: Duration,
) -> io::Result<io::Result<usize>> {
    let mut stream = TcpStream::connect_timeout(&address, connect_timeout)?;
    stream.set_read_timeout(Some(read_timeout))?;
    Ok(stream.read(&mut [0; 1]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    const LONG: Duration = Duration::from_secs(100);
    const SHORT: Duration = Duration::from_millis(1);

    #[test]
    fn a_connection_is_refused_stays_open_or_is_closed() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let open = probe(address, LONG, SHORT).unwrap().unwrap_err().kind();
        assert!(matches!(open, io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut), "{open:?}");
        let closing = thread::spawn(move || {
            // The first connection is that of the probe above.
            for _ in 0..2 {
                drop(listener.accept().unwrap());
            }
        });
        assert_eq!(probe(address, LONG, LONG).unwrap().unwrap(), 0);
        closing.join().unwrap();
        assert_eq!(probe(address, LONG, SHORT).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }
}
