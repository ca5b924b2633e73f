//! The reports that a process under load sends to the test: lines of text, each with its time.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// An operation, by a number that no other has: the incarnation of the process that began it, and a count in there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Op(pub u64);

/// The number of a process among those of one run, from 0.
pub type Incarnation = u16;

impl Op {
    const COUNT_BITS: u32 = 40;

    pub const fn new(incarnation: Incarnation, count: u64) -> Self {
        Self((incarnation as u64) << Self::COUNT_BITS | count)
    }

    /// The incarnation of the process that began the operation.
    pub const fn incarnation(self) -> Incarnation {
        (self.0 >> Self::COUNT_BITS) as Incarnation
    }

    /// The number of operations that this process had begun before.
    pub const fn count(self) -> u64 {
        self.0 & ((1 << Self::COUNT_BITS) - 1)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.incarnation(), self.count())
    }
}

impl FromStr for Op {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (incarnation, count) = text.split_once('.').ok_or(())?;
        Ok(Self::new(incarnation.parse().map_err(drop)?, count.parse().map_err(drop)?))
    }
}

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An operation that ends when its PUT is sent.
    Put,
    /// Ends when the target has confirmed it.
    PutWithAck,
    /// Ends when the data is there.
    Get,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Put, Self::PutWithAck, Self::Get];
    /// The kinds that end with a response.
    pub const ANSWERED: [Self; 2] = [Self::PutWithAck, Self::Get];

    const fn letter(self) -> &'static str {
        match self {
            Self::Put => "P",
            Self::PutWithAck => "A",
            Self::Get => "G",
        }
    }
}

/// An event in a process under load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessEvent {
    /// The process runs, and its interfaces exist.
    Ready,
    /// The process began an operation.
    Started { op: Op, kind: Kind, len: u32 },
    /// An operation of the process had its last event. `wrong` describes the error; it is empty on success.
    Ended { op: Op, wrong: String },
    /// An operation of the process had no last event within its timeout, and was unlinked.
    GivenUp { op: Op },
    /// An operation of the process returned other data than it asked for.
    Spoilt { op: Op },
    /// An event of the process's own operation came after its end.
    Stray { op: Op, text: String },
    /// A PUT arrived in the memory of the process.
    Arrived { op: Op, intact: bool },
    /// A GET fetched data of the process.
    Fetched { op: Op },
    /// The number of PUTs that an interface of the process has sent and received so far.
    Counted { card: usize, sent: u64, received: u64 },
    /// The process begins no more operations.
    Stopped,
    /// The process has carried out an order, or could not: then `wrong` says why.
    Did { wrong: String },
    /// A remark for the log.
    Note(String),
}

/// A line of a process: the event and its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The time on the machine's monotonic clock, which all processes have in common.
    pub at: Duration,
    pub what: ProcessEvent,
}

/// The machine's monotonic clock.
pub fn now() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

impl Report {
    pub fn now(what: ProcessEvent) -> Self {
        Self { at: now(), what }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.at.as_micros())?;
        match &self.what {
            ProcessEvent::Ready => write!(f, "ready"),
            ProcessEvent::Started { op, kind, len } => write!(f, "started {op} {} {len}", kind.letter()),
            ProcessEvent::Ended { op, wrong } => write!(f, "ended {op} {wrong}"),
            ProcessEvent::GivenUp { op } => write!(f, "given-up {op}"),
            ProcessEvent::Spoilt { op } => write!(f, "spoilt {op}"),
            ProcessEvent::Stray { op, text } => write!(f, "stray {op} {text}"),
            ProcessEvent::Arrived { op, intact } => write!(f, "arrived {op} {intact}"),
            ProcessEvent::Fetched { op } => write!(f, "fetched {op}"),
            ProcessEvent::Counted { card, sent, received } => write!(f, "counted {card} {sent} {received}"),
            ProcessEvent::Stopped => write!(f, "stopped"),
            ProcessEvent::Did { wrong } => write!(f, "did {wrong}"),
            ProcessEvent::Note(text) => write!(f, "note {text}"),
        }
    }
}

impl FromStr for Report {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        fn word<T: FromStr>(rest: &mut &str) -> Result<T, ()> {
            let (word, behind) = rest.split_once(' ').unwrap_or((rest, ""));
            *rest = behind;
            word.parse().map_err(drop)
        }
        let mut rest = line;
        let at = Duration::from_micros(word(&mut rest)?);
        let kind: String = word(&mut rest)?;
        let rest = &mut rest;
        let what = match kind.as_str() {
            "ready" => ProcessEvent::Ready,
            "started" => {
                let op = word(rest)?;
                let letter: String = word(rest)?;
                let kind = Kind::ALL.into_iter().find(|kind| kind.letter() == letter).ok_or(())?;
                ProcessEvent::Started { op, kind, len: word(rest)? }
            }
            "ended" => ProcessEvent::Ended { op: word(rest)?, wrong: (*rest).to_owned() },
            "given-up" => ProcessEvent::GivenUp { op: word(rest)? },
            "spoilt" => ProcessEvent::Spoilt { op: word(rest)? },
            "stray" => ProcessEvent::Stray { op: word(rest)?, text: (*rest).to_owned() },
            "arrived" => ProcessEvent::Arrived { op: word(rest)?, intact: word(rest)? },
            "fetched" => ProcessEvent::Fetched { op: word(rest)? },
            "counted" => {
                ProcessEvent::Counted { card: word(rest)?, sent: word(rest)?, received: word(rest)? }
            }
            "stopped" => ProcessEvent::Stopped,
            "did" => ProcessEvent::Did { wrong: (*rest).to_owned() },
            "note" => ProcessEvent::Note((*rest).to_owned()),
            _ => return Err(()),
        };
        Ok(Self { at, what })
    }
}

#[test]
fn a_report_round_trips() {
    let op = Op::new(7, 1_234_567);
    let all = [
        ProcessEvent::Ready,
        ProcessEvent::Started { op, kind: Kind::PutWithAck, len: 8 },
        ProcessEvent::Ended { op, wrong: String::new() },
        ProcessEvent::Ended { op, wrong: "SEND: EIO".into() },
        ProcessEvent::GivenUp { op },
        ProcessEvent::Spoilt { op },
        ProcessEvent::Stray { op, text: "Ack, last".into() },
        ProcessEvent::Arrived { op, intact: false },
        ProcessEvent::Fetched { op },
        ProcessEvent::Counted { card: 1, sent: 2, received: 3 },
        ProcessEvent::Stopped,
        ProcessEvent::Did { wrong: "no such thing".into() },
        ProcessEvent::Note("one two".into()),
    ];
    for what in all {
        let report = Report { at: Duration::from_micros(5_000_001), what };
        assert_eq!(report.to_string().parse(), Ok(report));
    }
    for wrong in ["", "x ready", "1 nothing", "1 started 1.2 Z 8", "1 ended 12"] {
        assert_eq!(wrong.parse::<Report>(), Err(()), "{wrong}");
    }
}
