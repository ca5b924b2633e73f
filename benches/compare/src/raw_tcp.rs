//! Raw TCP, as the lower bound for the others: blocking sockets with nothing on top, two processes, one connection.

use crate::contestant::Contestant;
use crate::error::{Error, context};
use crate::options::RAW_TCP_SERVER;
use crate::peer_process::Peer;
use crate::scenario::{Operation, Scenario};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

/// How the connection is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mode {
    /// Data one way without a pause. TCP itself says how much is under way.
    Stream,
    /// One message at a time, each answered before the next.
    Answered,
    /// To and fro without ever sleeping: what a program gains that asks the socket again and again.
    Polled,
}

pub(crate) const MODES: [Mode; 3] = [Mode::Stream, Mode::Answered, Mode::Polled];

const WARM_UP: Duration = Duration::from_millis(50);
/// Bytes of what answers a message in one direction.
const ANSWER: usize = 8;

impl Contestant for Mode {
    fn name(&self) -> &'static str {
        match self {
            Self::Stream => "raw TCP",
            Self::Answered => "raw TCP, each message answered",
            Self::Polled => "raw TCP, polled",
        }
    }

    fn supports(&self, scenario: Scenario) -> bool {
        match (self, scenario) {
            (Self::Stream, _) => true,
            (Self::Answered, Scenario::Rate { in_flight, .. }) => in_flight == 1,
            (Self::Answered, Scenario::RoundTrip { .. }) | (Self::Polled, Scenario::Rate { .. }) => false,
            (Self::Polled, Scenario::RoundTrip { .. }) => true,
        }
    }

    fn measure(&mut self, scenario: Scenario, duration: Duration) -> Result<f64, Error> {
        let program = std::env::current_exe().map_err(context("this program"))?;
        let mut server = Peer::start(Command::new(program).arg(RAW_TCP_SERVER))?;
        let port: u16 = server.first_line()?.parse().map_err(context("the server's port"))?;
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(context("connecting"))?;
        client(stream, &Plan::of(*self, scenario), scenario, duration).map_err(context("raw TCP"))
    }
}

/// What the client tells the server before it starts: little-endian numbers of 8 bytes each.
struct Plan {
    /// Bytes of a message from the client.
    there: usize,
    /// Bytes of the answer; 0 for none until the client has sent all.
    back: usize,
    /// Neither side sleeps for a message.
    polled: bool,
}

impl Plan {
    const fn of(mode: Mode, scenario: Scenario) -> Self {
        let size = scenario.size();
        let (there, back) = match (mode, scenario) {
            (_, Scenario::RoundTrip { .. }) => (size, size),
            (Mode::Stream | Mode::Polled, _) => (size, 0),
            (Mode::Answered, Scenario::Rate { operation: Operation::Put, .. }) => (size, ANSWER),
            (Mode::Answered, Scenario::Rate { operation: Operation::Get, .. }) => (ANSWER, size),
        };
        Self { there, back, polled: matches!(mode, Mode::Polled) }
    }

    fn to_bytes(&self) -> [u8; 24] {
        let numbers = [self.there as u64, self.back as u64, u64::from(self.polled)];
        let mut bytes = [0; 24];
        for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: [u8; 24]) -> Self {
        let number = |place: usize| {
            let bytes = bytes.iter().skip(8 * place).take(8);
            bytes.rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
        };
        Self { there: number(0), back: number(1), polled: number(2) != 0 }
    }

    /// Fills `buffer` from the socket as this plan has it.
    fn read(&self, stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<()> {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match stream.read(rest) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(length) => filled += length,
                Err(error) if self.polled && error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn client(mut stream: TcpStream, plan: &Plan, scenario: Scenario, duration: Duration) -> io::Result<f64> {
    stream.set_nodelay(true)?;
    stream.write_all(&plan.to_bytes())?;
    // Messages are so short then that the socket takes them whole.
    stream.set_nonblocking(plan.polled)?;
    let message = vec![0x5a; plan.there];
    let mut answer = vec![0; plan.back];
    let mut exchange = |stream: &mut TcpStream| {
        stream.write_all(&message)?;
        plan.read(stream, &mut answer)
    };

    let warm = Instant::now() + WARM_UP;
    while Instant::now() < warm {
        exchange(&mut stream)?;
    }
    let begin = Instant::now();
    let mut exchanges = 0u64;
    while begin.elapsed() < duration {
        exchange(&mut stream)?;
        exchanges += 1;
    }
    // What a stream still holds counts as not sent: the server closes when it has read everything.
    stream.shutdown(Shutdown::Write)?;
    stream.set_nonblocking(false)?;
    stream.read_to_end(&mut Vec::new())?;
    let seconds = begin.elapsed().as_secs_f64();
    Ok(match scenario {
        Scenario::RoundTrip { .. } => seconds * 1e6 / exchanges as f64,
        Scenario::Rate { size, .. } => size as f64 * exchanges as f64 / seconds,
    })
}

/// Serves one connection and ends with it; prints its port first.
pub(crate) fn serve() -> Result<(), Error> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(context("listening"))?;
    println!("{}", listener.local_addr().map_err(context("listening"))?.port());
    let (stream, _) = listener.accept().map_err(context("accepting"))?;
    answer(stream).map_err(context("answering"))
}

fn answer(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut plan = [0; 24];
    stream.read_exact(&mut plan)?;
    let plan = Plan::from_bytes(plan);
    stream.set_nonblocking(plan.polled)?;
    let mut message = vec![0; plan.there];
    let answer = vec![0x5a; plan.back];
    while plan.read(&mut stream, &mut message).is_ok() {
        stream.write_all(&answer)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_learns_the_plan_that_the_client_has() {
        let plan = Plan { there: 8, back: 1 << 20, polled: true };
        let learned = Plan::from_bytes(plan.to_bytes());
        assert_eq!((learned.there, learned.back, learned.polled), (8, 1 << 20, true));
    }
}
