//! Raw TCP, as the bound for the others: nothing on top of sockets, two processes, one connection.

pub(crate) mod carrier;
pub(crate) mod exchange;
pub(crate) mod many;
pub(crate) mod relay;
pub(crate) mod words;

use crate::contestant::{Contestant, Sample};
use crate::cpu;
use crate::delays::{Delays, Percentiles};
use crate::error::{Error, context};
use crate::peer_process::{Peer, limit};
use crate::scenario::{Operation, Scenario};
use carrier::Copying;
use exchange::{Exchange, Waits};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

/// The use of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mode {
    /// Data one way without a pause, by sockets that block. TCP itself decides how much is in flight.
    Stream,
    /// One message at a time over blocking sockets: each is acknowledged before the next is sent.
    Responded,
    /// Messages back and forth without ever sleeping: the bound for a program that polls the socket.
    Polled,
    /// The scenario's number of messages in flight, each acknowledged, without ever sleeping.
    Acknowledged,
    /// The same, but both ends sleep until bytes arrive, also for round trips.
    Sleeping,
}

pub(crate) const MODES: [Mode; 4] = [Mode::Stream, Mode::Responded, Mode::Polled, Mode::Acknowledged];
pub(crate) const POLLED: &str = "raw TCP, polled";
pub(crate) const ACKNOWLEDGED: &str = "raw TCP, acknowledged";

const WARM_UP: Duration = Duration::from_millis(50);
/// Size in bytes of the acknowledgement of a PUT, and of the request of a GET.
const ANSWER: usize = 8;
/// Size of a [`Plan`] in bytes.
const PLAN: usize = 32;

impl Contestant for Mode {
    fn name(&self) -> &'static str {
        match self {
            Self::Stream => "raw TCP",
            Self::Responded => "raw TCP, acknowledged, sleeping",
            Self::Polled => POLLED,
            Self::Acknowledged => ACKNOWLEDGED,
            Self::Sleeping => "raw TCP, sleeping",
        }
    }

    fn supports(&self, scenario: Scenario) -> bool {
        match (self, scenario) {
            (Self::Stream | Self::Sleeping, _) => true,
            (Self::Responded, Scenario::Rate { in_flight, .. }) => in_flight == 1,
            (Self::Polled, Scenario::RoundTrip { .. }) | (Self::Acknowledged, Scenario::Rate { .. }) => true,
            (Self::Responded | Self::Acknowledged, Scenario::RoundTrip { .. })
            | (Self::Polled, Scenario::Rate { .. }) => false,
        }
    }

    fn trial(&mut self, scenario: Scenario) -> Result<Sample, Error> {
        self.measure(scenario, Duration::ZERO)
    }

    fn measure(&mut self, scenario: Scenario, duration: Duration) -> Result<Sample, Error> {
        let (_server, port) = self.start_server(duration)?;
        self.ask(port, scenario, duration)
    }
}

impl Mode {
    fn start_server(self, duration: Duration) -> Result<(Peer, u16), Error> {
        let program = std::env::current_exe().map_err(context("this program"))?;
        let mut server = Peer::start(Command::new(program).arg(words::SERVER), limit(duration))?;
        let port = server.first_line()?.parse().map_err(context("the server's port"))?;
        Ok((server, port))
    }

    /// Runs the measurement with the server on this port.
    fn ask(self, port: u16, scenario: Scenario, duration: Duration) -> Result<Sample, Error> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(context("connecting"))?;
        let counted = client(&stream, &Plan::of(self, scenario), duration).map_err(context("raw TCP"))?;
        Ok(counted.sample(scenario))
    }
}

/// Raw TCP through a relay.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relayed {
    pub(crate) name: &'static str,
    pub(crate) copying: Copying,
    /// The modes in round trips, and in rates.
    pub(crate) ends: [Mode; 2],
}

impl Relayed {
    const fn ends(&self, scenario: Scenario) -> Mode {
        let [round_trip, rate] = self.ends;
        match scenario {
            Scenario::RoundTrip { .. } => round_trip,
            Scenario::Rate { .. } => rate,
        }
    }
}

impl Contestant for Relayed {
    fn name(&self) -> &'static str {
        self.name
    }

    fn supports(&self, scenario: Scenario) -> bool {
        self.ends(scenario).supports(scenario)
    }

    fn trial(&mut self, scenario: Scenario) -> Result<Sample, Error> {
        self.measure(scenario, Duration::ZERO)
    }

    fn measure(&mut self, scenario: Scenario, duration: Duration) -> Result<Sample, Error> {
        let ends = self.ends(scenario);
        let (_server, port) = ends.start_server(duration)?;
        let mut relay = relay::start(self.copying, port, duration)?;
        let port = relay.first_line()?.parse().map_err(context("the relay's port"))?;
        let sample = ends.ask(port, scenario, duration)?;
        Ok(Sample { between: Some(cpu::of_process(relay.id())?), ..sample })
    }
}

/// The plan that the client sends to the server before it starts: little-endian numbers of 8 bytes each.
#[derive(Debug, PartialEq)]
struct Plan {
    /// Size of a message from the client in bytes.
    there: usize,
    /// Size of the response in bytes; 0 for none until the client has sent all.
    back: usize,
    /// Number of messages of the client that wait for their responses; 0 if both sides block.
    in_flight: usize,
    /// Whether sides that do not block sleep until bytes arrive.
    waits: Waits,
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
        let in_flight = match (mode, scenario) {
            (Mode::Stream | Mode::Responded, _) => 0,
            (_, Scenario::RoundTrip { .. }) => 1,
            (_, Scenario::Rate { in_flight, .. }) => in_flight,
        };
        let waits = match mode {
            Mode::Sleeping => Waits::Asleep,
            Mode::Stream | Mode::Responded | Mode::Polled | Mode::Acknowledged => Waits::Polling,
        };
        Self { there, back, in_flight, waits }
    }

    fn to_bytes(&self) -> [u8; PLAN] {
        let sleeps = self.waits == Waits::Asleep;
        let numbers = [self.there as u64, self.back as u64, self.in_flight as u64, u64::from(sleeps)];
        let mut bytes = [0; PLAN];
        for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: [u8; PLAN]) -> Self {
        let number = |place: usize| {
            let bytes = bytes.iter().skip(8 * place).take(8);
            bytes.rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
        };
        let waits = if number(3) == 0 { Waits::Polling } else { Waits::Asleep };
        Self { there: number(0), back: number(1), in_flight: number(2), waits }
    }
}

/// Counts of the client.
struct Counted {
    /// Number of messages of the client, each with its response.
    exchanges: u64,
    seconds: f64,
    /// Number of exchanges of the warm-up.
    before: u64,
    /// The delays of single exchanges, of those that follow one another.
    delays: Option<Percentiles>,
}

impl Counted {
    fn sample(&self, scenario: Scenario) -> Sample {
        let value = match scenario {
            Scenario::RoundTrip { .. } => self.seconds * 1e6 / self.exchanges as f64,
            Scenario::Rate { size, .. } => size as f64 * self.exchanges as f64 / self.seconds,
        };
        let messages = scenario.messages_of_operation() * (self.before + self.exchanges);
        let is_round_trip = matches!(scenario, Scenario::RoundTrip { .. });
        Sample { value, messages, between: None, delays: self.delays.filter(|_| is_round_trip) }
    }
}

fn client(mut stream: &TcpStream, plan: &Plan, duration: Duration) -> io::Result<Counted> {
    stream.set_nodelay(true)?;
    stream.write_all(&plan.to_bytes())?;
    if plan.in_flight == 0 {
        blocking_client(stream, plan, duration)
    } else {
        nonblocking_client(stream, plan, duration)
    }
}

fn blocking_client(mut stream: &TcpStream, plan: &Plan, duration: Duration) -> io::Result<Counted> {
    let message = vec![0x5a; plan.there];
    let mut response = vec![0; plan.back];
    let mut repeat = |duration, delays: &mut Delays| {
        let begin = Instant::now();
        let (mut exchanges, mut last) = (0, Duration::ZERO);
        while exchanges == 0 || last < duration {
            stream.write_all(&message)?;
            stream.read_exact(&mut response)?;
            exchanges += 1;
            delays.record_since(&mut last, begin);
        }
        Ok::<u64, io::Error>(exchanges)
    };
    let mut delays = Delays::new().map_err(io::Error::other)?;
    let before = repeat(WARM_UP, &mut delays)?;
    delays.clear();
    let begin = Instant::now();
    let exchanges = repeat(duration, &mut delays)?;
    // Bytes that a stream still holds count as not sent: the server closes when it has read everything.
    stream.shutdown(Shutdown::Write)?;
    stream.read_to_end(&mut Vec::new())?;
    let seconds = begin.elapsed().as_secs_f64();
    Ok(Counted { exchanges, seconds, before, delays: Some(delays.percentiles()) })
}

fn nonblocking_client(stream: &TcpStream, plan: &Plan, duration: Duration) -> io::Result<Counted> {
    stream.set_nonblocking(true)?;
    let mut end = Exchange::new(plan.there, plan.back, plan.waits);
    let mut repeat = |duration, delays: &mut Delays| {
        let (begin, mut last) = (Instant::now(), Duration::ZERO);
        let (mut started, mut answered) = (plan.in_flight, 0);
        end.allow(plan.in_flight);
        while answered < started {
            let responses = end.turn(stream)?;
            if responses == 0 {
                continue;
            }
            answered += responses;
            delays.record_since(&mut last, begin);
            if last < duration {
                end.allow(responses);
                started += responses;
            }
        }
        Ok::<u64, io::Error>(answered as u64)
    };
    let mut delays = Delays::new().map_err(io::Error::other)?;
    let before = repeat(WARM_UP, &mut delays)?;
    delays.clear();
    let begin = Instant::now();
    let exchanges = repeat(duration, &mut delays)?;
    let seconds = begin.elapsed().as_secs_f64();
    // With several in flight nobody knows which response is that of which message.
    let delays = (plan.in_flight == 1).then(|| delays.percentiles());
    Ok(Counted { exchanges, seconds, before, delays })
}

/// Serves one connection and ends with it; prints its port first.
pub(crate) fn serve() -> Result<(), Error> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(context("listening"))?;
    println!("{}", listener.local_addr().map_err(context("listening"))?.port());
    let (stream, _) = listener.accept().map_err(context("accepting"))?;
    respond(&stream).map_err(context("answering"))
}

fn respond(mut stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut plan = [0; PLAN];
    stream.read_exact(&mut plan)?;
    let plan = Plan::from_bytes(plan);
    if plan.in_flight > 0 {
        stream.set_nonblocking(true)?;
        let mut end = Exchange::new(plan.back, plan.there, plan.waits);
        loop {
            match end.turn(stream) {
                Ok(messages) => end.allow(messages),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
    let mut message = vec![0; plan.there];
    let response = vec![0x5a; plan.back];
    while stream.read_exact(&mut message).is_ok() {
        stream.write_all(&response)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::rate;

    #[test]
    fn the_server_learns_the_plan_that_the_client_has() {
        for waits in [Waits::Polling, Waits::Asleep] {
            let plan = Plan { there: 8, back: 1 << 20, in_flight: 64, waits };
            assert_eq!(Plan::from_bytes(plan.to_bytes()), plan);
        }
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
            for mode in MODES.into_iter().chain([Mode::Sleeping]).filter(|mode| mode.supports(scenario)) {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
                let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
                let server = std::thread::spawn(move || respond(&listener.accept().unwrap().0));
                let counted = client(&stream, &Plan::of(mode, scenario), Duration::ZERO).unwrap();
                drop(stream);
                server.join().unwrap().unwrap();
                assert!(counted.exchanges >= 1 && counted.before >= 1, "{mode:?}, {scenario}");
            }
        }
    }
}
