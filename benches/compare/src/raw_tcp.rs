//! Raw TCP, as the bound for the others: nothing on top of sockets, two processes, one connection.

mod exchange;

use crate::contestant::{Contestant, Sample};
use crate::error::{Error, context};
use crate::options::RAW_TCP_SERVER;
use crate::peer_process::{Peer, limit};
use crate::scenario::{Operation, Scenario};
use exchange::Exchange;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

/// How the connection is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mode {
    /// Data one way without a pause, by sockets that block. TCP itself says how much is in flight.
    Stream,
    /// One message at a time, each acknowledged before the next, by sockets that block.
    Answered,
    /// To and fro without ever sleeping: what a program gains that asks the socket again and again.
    Polled,
    /// The scenario's number of messages in flight, each acknowledged, without ever sleeping.
    Acknowledged,
}

pub(crate) const MODES: [Mode; 4] = [Mode::Stream, Mode::Answered, Mode::Polled, Mode::Acknowledged];
pub(crate) const POLLED: &str = "raw TCP, polled";
pub(crate) const ACKNOWLEDGED: &str = "raw TCP, acknowledged";

const WARM_UP: Duration = Duration::from_millis(50);
/// Bytes of what acknowledges a PUT, or asks for a GET.
const ANSWER: usize = 8;

impl Contestant for Mode {
    fn name(&self) -> &'static str {
        match self {
            Self::Stream => "raw TCP",
            Self::Answered => "raw TCP, acknowledged, sleeping",
            Self::Polled => POLLED,
            Self::Acknowledged => ACKNOWLEDGED,
        }
    }

    fn supports(&self, scenario: Scenario) -> bool {
        match (self, scenario) {
            (Self::Stream, _) => true,
            (Self::Answered, Scenario::Rate { in_flight, .. }) => in_flight == 1,
            (Self::Polled, Scenario::RoundTrip { .. }) | (Self::Acknowledged, Scenario::Rate { .. }) => true,
            (Self::Answered | Self::Acknowledged, Scenario::RoundTrip { .. })
            | (Self::Polled, Scenario::Rate { .. }) => false,
        }
    }

    fn trial(&mut self, scenario: Scenario) -> Result<Sample, Error> {
        self.measure(scenario, Duration::ZERO)
    }

    fn measure(&mut self, scenario: Scenario, duration: Duration) -> Result<Sample, Error> {
        let program = std::env::current_exe().map_err(context("this program"))?;
        let mut server = Peer::start(Command::new(program).arg(RAW_TCP_SERVER), limit(duration))?;
        let port: u16 = server.first_line()?.parse().map_err(context("the server's port"))?;
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(context("connecting"))?;
        let counted = client(&stream, &Plan::of(*self, scenario), duration).map_err(context("raw TCP"))?;
        Ok(counted.sample(scenario))
    }
}

/// What the client tells the server before it starts: little-endian numbers of 8 bytes each.
#[derive(Debug, PartialEq)]
struct Plan {
    /// Bytes of a message from the client.
    there: usize,
    /// Bytes of the answer; 0 for none until the client has sent all.
    back: usize,
    /// Messages of the client that wait for their answers, if neither side sleeps; 0 if both sides block.
    polled: usize,
}

impl Plan {
    const fn of(mode: Mode, scenario: Scenario) -> Self {
        let size = scenario.size();
        let (there, back) = match (mode, scenario) {
            (_, Scenario::RoundTrip { .. }) => (size, size),
            (Mode::Stream, _) => (size, 0),
            (_, Scenario::Rate { operation: Operation::Put, .. }) => (size, ANSWER),
            (_, Scenario::Rate { operation: Operation::Get, .. }) => (ANSWER, size),
        };
        let polled = match (mode, scenario) {
            (Mode::Stream | Mode::Answered, _) => 0,
            (Mode::Polled | Mode::Acknowledged, Scenario::RoundTrip { .. }) => 1,
            (Mode::Polled | Mode::Acknowledged, Scenario::Rate { in_flight, .. }) => in_flight,
        };
        Self { there, back, polled }
    }

    fn to_bytes(&self) -> [u8; 24] {
        let numbers = [self.there as u64, self.back as u64, self.polled as u64];
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
        Self { there: number(0), back: number(1), polled: number(2) }
    }
}

/// What the client did.
struct Counted {
    /// Messages of the client, each with its answer.
    exchanges: u64,
    seconds: f64,
    /// Those of the warm-up.
    before: u64,
}

impl Counted {
    fn sample(&self, scenario: Scenario) -> Sample {
        let value = match scenario {
            Scenario::RoundTrip { .. } => self.seconds * 1e6 / self.exchanges as f64,
            Scenario::Rate { size, .. } => size as f64 * self.exchanges as f64 / self.seconds,
        };
        Sample { value, messages: scenario.messages_of_operation() * (self.before + self.exchanges) }
    }
}

fn client(mut stream: &TcpStream, plan: &Plan, duration: Duration) -> io::Result<Counted> {
    stream.set_nodelay(true)?;
    stream.write_all(&plan.to_bytes())?;
    if plan.polled == 0 {
        blocking_client(stream, plan, duration)
    } else {
        polling_client(stream, plan, duration)
    }
}

fn blocking_client(mut stream: &TcpStream, plan: &Plan, duration: Duration) -> io::Result<Counted> {
    let message = vec![0x5a; plan.there];
    let mut answer = vec![0; plan.back];
    let mut repeat = |duration| {
        let begin = Instant::now();
        let mut exchanges = 0;
        while exchanges == 0 || begin.elapsed() < duration {
            stream.write_all(&message)?;
            stream.read_exact(&mut answer)?;
            exchanges += 1;
        }
        Ok::<u64, io::Error>(exchanges)
    };
    let before = repeat(WARM_UP)?;
    let begin = Instant::now();
    let exchanges = repeat(duration)?;
    // What a stream still holds counts as not sent: the server closes when it has read everything.
    stream.shutdown(Shutdown::Write)?;
    stream.read_to_end(&mut Vec::new())?;
    Ok(Counted { exchanges, seconds: begin.elapsed().as_secs_f64(), before })
}

fn polling_client(stream: &TcpStream, plan: &Plan, duration: Duration) -> io::Result<Counted> {
    stream.set_nonblocking(true)?;
    let mut end = Exchange::new(plan.there, plan.back, 0);
    let mut repeat = |duration| {
        let begin = Instant::now();
        let (mut started, mut answered) = (plan.polled, 0);
        end.allow(plan.polled);
        while answered < started {
            let answers = end.turn(stream)?;
            if answers == 0 {
                continue;
            }
            answered += answers;
            if begin.elapsed() < duration {
                end.allow(answers);
                started += answers;
            }
        }
        Ok::<u64, io::Error>(answered as u64)
    };
    let before = repeat(WARM_UP)?;
    let begin = Instant::now();
    let exchanges = repeat(duration)?;
    Ok(Counted { exchanges, seconds: begin.elapsed().as_secs_f64(), before })
}

/// Serves one connection and ends with it; prints its port first.
pub(crate) fn serve() -> Result<(), Error> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(context("listening"))?;
    println!("{}", listener.local_addr().map_err(context("listening"))?.port());
    let (stream, _) = listener.accept().map_err(context("accepting"))?;
    answer(&stream).map_err(context("answering"))
}

fn answer(mut stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut plan = [0; 24];
    stream.read_exact(&mut plan)?;
    let plan = Plan::from_bytes(plan);
    if plan.polled > 0 {
        stream.set_nonblocking(true)?;
        let mut end = Exchange::new(plan.back, plan.there, 0);
        loop {
            match end.turn(stream) {
                Ok(messages) => end.allow(messages),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
    let mut message = vec![0; plan.there];
    let answer = vec![0x5a; plan.back];
    while stream.read_exact(&mut message).is_ok() {
        stream.write_all(&answer)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::rate;

    #[test]
    fn the_server_learns_the_plan_that_the_client_has() {
        let plan = Plan { there: 8, back: 1 << 20, polled: 64 };
        assert_eq!(Plan::from_bytes(plan.to_bytes()), plan);
    }

    #[test]
    fn every_mode_moves_messages_in_every_scenario_that_it_supports() {
        let mut scenarios = vec![Scenario::RoundTrip { size: 8 }, Scenario::RoundTrip { size: 1 << 20 }];
        for operation in [Operation::Put, Operation::Get] {
            for (size, in_flight) in [(8, 64), (1000, 1), (4096, 8), (1 << 20, 1), (1 << 20, 8)] {
                scenarios.push(rate(operation, size, in_flight));
            }
        }
        for scenario in scenarios {
            for mode in MODES.into_iter().filter(|mode| mode.supports(scenario)) {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
                let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
                let server = std::thread::spawn(move || answer(&listener.accept().unwrap().0));
                let counted = client(&stream, &Plan::of(mode, scenario), Duration::ZERO).unwrap();
                drop(stream);
                server.join().unwrap().unwrap();
                assert!(counted.exchanges >= 1 && counted.before >= 1, "{mode:?}, {scenario}");
            }
        }
    }
}
