//! Raw TCP with many connections: one loop around epoll(7) on either side. Messages leave on all connections in turn, and each is
//! acknowledged with as many bytes.

use super::WARM_UP;
use super::exchange::{BATCH, Waits};
use super::words;
use crate::cpu;
use crate::error::{Error, context};
use crate::peer_process::{Peer, limit};
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::process::Command;
use std::time::{Duration, Instant};

/// Size in bytes of a message, and of its acknowledgement.
const SIZE: usize = 8;
/// Maximum number of sockets that the kernel reports at once.
const EVENTS: usize = 64;
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// The result of a measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    /// Messages per second.
    pub(crate) rate: f64,
    /// CPU seconds for a message of the sending process.
    pub(crate) cpu_here: f64,
    /// CPU seconds for a message of the other process, if the kernel tells.
    pub(crate) cpu_there: Option<f64>,
}

/// Sends messages on `connections` connections to another process, with `in_flight` on all of them together.
pub(crate) fn measure(
    connections: usize,
    in_flight: usize,
    waits: Waits,
    duration: Duration,
) -> Result<Measured, Error> {
    let program = std::env::current_exe().map_err(context("this program"))?;
    let mut command = Command::new(program);
    command.args([words::MANY_SERVER, &connections.to_string(), waits.argument()]);
    let mut server = Peer::start(&mut command, limit(duration))?;
    let port = server.first_line()?.parse().map_err(context("the server's port"))?;
    let mut client = Client::connect(port, connections, waits).map_err(context("connecting"))?;
    client.repeat(in_flight, WARM_UP).map_err(context("raw TCP"))?;
    let (here, there) = (cpu::used()?, cpu::of_process(server.id()));
    let begin = Instant::now();
    let messages = client.repeat(in_flight, duration).map_err(context("raw TCP"))? as f64;
    let rate = messages / begin.elapsed().as_secs_f64();
    let cpu_here = (cpu::used()? - here) / messages;
    let used = cpu::of_process(server.id()).ok().zip(there.ok()).map(|(after, before)| after - before);
    Ok(Measured { rate, cpu_here, cpu_there: used.map(|used| used / messages) })
}

/// Serves the connections of one client and ends with the first that ends; prints its port first.
pub(crate) fn serve(connections: usize, waits: Waits) -> Result<(), Error> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(context("listening"))?;
    println!("{}", listener.local_addr().map_err(context("listening"))?.port());
    respond(&listener, connections, waits).map_err(context("answering"))
}

fn respond(listener: &TcpListener, connections: usize, waits: Waits) -> io::Result<()> {
    let accepted = (0..connections).map(|_| listener.accept().map(|(stream, _)| stream));
    let mut side = Side::new(accepted.collect::<io::Result<_>>()?, waits)?;
    loop {
        match side.receive(|side, from, messages| side.allow(from, messages)) {
            Ok(()) => side.send()?,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

struct Client {
    side: Side,
    /// The connection of the next message.
    turn: usize,
}

impl Client {
    fn connect(port: u16, connections: usize, waits: Waits) -> io::Result<Self> {
        let streams = (0..connections).map(|_| TcpStream::connect((Ipv4Addr::LOCALHOST, port)));
        Ok(Self { side: Side::new(streams.collect::<io::Result<_>>()?, waits)?, turn: 0 })
    }

    /// Sends messages for `duration` and waits for all acknowledgements; returns their number.
    fn repeat(&mut self, in_flight: usize, duration: Duration) -> io::Result<usize> {
        let begin = Instant::now();
        let (mut started, mut acknowledged) = (in_flight, 0);
        self.allow(in_flight);
        while acknowledged < started {
            self.side.send()?;
            let mut came = 0;
            self.side.receive(|_, _, messages| came += messages)?;
            acknowledged += came;
            if came > 0 && begin.elapsed() < duration {
                self.allow(came);
                started += came;
            }
        }
        Ok(acknowledged)
    }

    fn allow(&mut self, messages: usize) {
        for _ in 0..messages {
            self.side.allow(self.turn, 1);
            self.turn = (self.turn + 1) % self.side.ends.len();
        }
    }
}

/// The connections of a process.
struct Side {
    epoll: OwnedFd,
    waits: Waits,
    ends: Vec<End>,
    /// The connections that have something to send.
    due: Vec<usize>,
    /// Space for what one call reads, and what one call writes.
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
}

struct End {
    stream: TcpStream,
    /// Number of bytes that are to be sent.
    owed: usize,
    /// Number of bytes of an incomplete message.
    partial: usize,
}

impl Side {
    fn new(streams: Vec<TcpStream>, waits: Waits) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (number, stream) in streams.iter().enumerate() {
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            let data = epoll::EventData::new_u64(number as u64);
            epoll::add(&epoll, stream, data, epoll::EventFlags::IN)?;
        }
        let ends = streams.into_iter().map(|stream| End { stream, owed: 0, partial: 0 }).collect();
        Ok(Self {
            epoll,
            waits,
            ends,
            due: Vec::new(),
            incoming: vec![0; BATCH],
            outgoing: vec![0x5a; BATCH],
        })
    }

    /// Allows `messages` more messages to leave on a connection.
    fn allow(&mut self, connection: usize, messages: usize) {
        let Some(end) = self.ends.get_mut(connection) else { return };
        if end.owed == 0 {
            self.due.push(connection);
        }
        end.owed += messages * SIZE;
    }

    /// Sends the allowed messages, with one call for each connection. What a socket does not take is left for the next time.
    fn send(&mut self) -> io::Result<()> {
        let Self { ends, due, outgoing, .. } = self;
        let mut result = Ok(());
        due.retain(|connection| {
            let Some(end) = ends.get_mut(*connection) else { return false };
            let bytes = outgoing.get(..end.owed.min(outgoing.len())).unwrap_or_default();
            match (&end.stream).write(bytes) {
                Ok(length) => end.owed -= length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => result = Err(error),
            }
            end.owed > 0
        });
        result
    }

    /// Reads once from each connection that has bytes. Tells `each` how many messages are complete with
    /// them.
    fn receive(&mut self, mut each: impl FnMut(&mut Self, usize, usize)) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS);
        let sleeps = self.waits == Waits::Asleep && self.due.is_empty();
        let timeout = if sleeps { None } else { Some(&AT_ONCE) };
        epoll::wait(&self.epoll, spare_capacity(&mut events), timeout)?;
        for event in events {
            let connection = event.data.u64() as usize;
            let Some(end) = self.ends.get_mut(connection) else { continue };
            match (&end.stream).read(&mut self.incoming) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(length) => {
                    let bytes = end.partial + length;
                    end.partial = bytes % SIZE;
                    each(self, connection, bytes / SIZE);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_is_acknowledged_on_any_number_of_connections() {
        for (connections, in_flight) in [(1, 1), (1, 64), (8, 64), (64, 64), (100, 64), (3, 20_000)] {
            for waits in [Waits::Polling, Waits::Asleep] {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
                let port = listener.local_addr().unwrap().port();
                let waits_there = Waits::parse(waits.argument()).unwrap();
                let server = std::thread::spawn(move || respond(&listener, connections, waits_there));
                let mut client = Client::connect(port, connections, waits).unwrap();
                for _ in 0..2 {
                    let acknowledged = client.repeat(in_flight, Duration::ZERO).unwrap();
                    assert_eq!(acknowledged, in_flight, "{connections}");
                    assert!(
                        client.side.ends.iter().all(|it| (it.owed, it.partial) == (0, 0)),
                        "{connections}"
                    );
                }
                drop(client);
                server.join().unwrap().unwrap();
            }
        }
    }
}
