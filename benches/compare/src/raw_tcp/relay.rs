//! A process between the two of raw TCP, which passes bytes on in both directions: the bound for a router, which does the
//! same with messages.

use super::carrier::{Carrier, Copying, Passed};
use super::words;
use crate::error::{Error, context};
use crate::peer_process::{Peer, limit};
use rustix::event::{PollFd, PollFlags, poll};
use std::io::{self, Read};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

/// Starts a relay to a port. Its first line of output is the port on which it listens.
pub(super) fn start(copying: Copying, port: u16, duration: Duration) -> Result<Peer, Error> {
    let program = std::env::current_exe().map_err(context("this program"))?;
    let mut command = Command::new(program);
    command.args([words::RELAY, copying.argument(), &port.to_string()]);
    Peer::start(&mut command, limit(duration))
}

/// Serves one connection; then waits for the end of its input, so that its CPU time can still be read.
pub(crate) fn run(copying: Copying, port: u16) -> Result<(), Error> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(context("listening"))?;
    println!("{}", listener.local_addr().map_err(context("listening"))?.port());
    let (client, _) = listener.accept().map_err(context("accepting"))?;
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(context("connecting"))?;
    pass_on(copying, &client, &server).map_err(context("relaying"))?;
    io::stdin().read_to_end(&mut Vec::new()).map_err(context("waiting"))?;
    Ok(())
}

/// Passes bytes on until both sides have sent all.
fn pass_on(copying: Copying, client: &TcpStream, server: &TcpStream) -> io::Result<()> {
    for socket in [client, server] {
        socket.set_nodelay(true)?;
        socket.set_nonblocking(true)?;
    }
    let mut there = Direction::new(copying, client, server)?;
    let mut back = Direction::new(copying, server, client)?;
    while !(there.is_over && back.is_over) {
        let mut sockets = [
            PollFd::new(client, there.wants_in() | back.wants_out()),
            PollFd::new(server, back.wants_in() | there.wants_out()),
        ];
        poll(&mut sockets, None)?;
        let [of_client, of_server] = sockets.map(|socket| socket.revents());
        there.turn(of_client, of_server)?;
        back.turn(of_server, of_client)?;
    }
    Ok(())
}

/// One direction of the relay.
struct Direction<'a> {
    from: &'a TcpStream,
    to: &'a TcpStream,
    carrier: Carrier,
    is_over: bool,
}

impl<'a> Direction<'a> {
    fn new(copying: Copying, from: &'a TcpStream, to: &'a TcpStream) -> io::Result<Self> {
        Ok(Self { from, to, carrier: Carrier::new(copying)?, is_over: false })
    }

    fn wants_in(&self) -> PollFlags {
        if self.is_over || self.carrier.holds_bytes() { PollFlags::empty() } else { PollFlags::IN }
    }

    fn wants_out(&self) -> PollFlags {
        if self.carrier.holds_bytes() { PollFlags::OUT } else { PollFlags::empty() }
    }

    /// Reads once and writes at once; bytes that the other socket does not accept are kept until it does.
    fn turn(&mut self, from: PollFlags, to: PollFlags) -> io::Result<()> {
        let ended = PollFlags::HUP | PollFlags::ERR;
        if self.is_over {
            return Ok(());
        }
        if self.carrier.holds_bytes() {
            if to.intersects(PollFlags::OUT | ended) {
                self.carrier.write(self.to)?;
            }
        } else if from.intersects(PollFlags::IN | ended) {
            match self.carrier.read(self.from)? {
                Passed::Nothing => {}
                Passed::Bytes => self.carrier.write(self.to)?,
                Passed::End => {
                    self.is_over = true;
                    // The other end may have closed both ways already.
                    let _ = self.to.shutdown(Shutdown::Write);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::thread;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (stream, listener.accept().unwrap().0)
    }

    #[test]
    fn all_bytes_of_both_directions_arrive_in_order() {
        for copying in [Copying::Buffer, Copying::Splice] {
            let ((mut client, near), (far, mut server)) = (pair(), pair());
            let relay = thread::spawn(move || pass_on(copying, &near, &far));
            let sent: Vec<u8> = (0..3 << 20).map(|place: u32| (place % 251) as u8).collect();
            let expected = sent.clone();
            let echo = thread::spawn(move || {
                let mut received = Vec::new();
                server.read_to_end(&mut received).unwrap();
                server.write_all(&received).unwrap();
            });
            client.write_all(&sent).unwrap();
            client.shutdown(Shutdown::Write).unwrap();
            let mut response = Vec::new();
            client.read_to_end(&mut response).unwrap();
            assert!(response == expected, "{copying:?}");
            echo.join().unwrap();
            relay.join().unwrap().unwrap();
        }
    }
}
