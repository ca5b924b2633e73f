//! TEST: a test is added to a batch (selftest 3.2, 5.6).

use super::batch::BatchId;
use super::brw::{BulkLength, Check, Rw};
use super::constants::{MAX_CONCURRENCY, MAX_DESTINATIONS, PAGE};
use super::destinations::DestinationCount;
use super::features::Features;
use super::fields::{Fields, Writer};
use super::header::BULK_BITS;
use super::service::Service;
use super::session_id::SessionId;

/// The number of RPCs that a loop of a client sends one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loop {
    /// The loop does not end by itself.
    Endless,
    /// The loop ends after this many RPCs.
    Times(std::num::NonZeroU32),
}

impl Loop {
    /// Converts the signed number of the wire and of `lst`: below 0 is endless. `None`: it is 0.
    pub fn new(number: i32) -> Option<Self> {
        match u32::try_from(number) {
            Ok(times) => std::num::NonZeroU32::new(times).map(Self::Times),
            Err(_) => Some(Self::Endless),
        }
    }

    /// The number of the wire.
    pub const fn number(self) -> i32 {
        match self {
            Self::Endless => -1,
            Self::Times(times) => times.get().cast_signed(),
        }
    }
}

/// The number of RPCs of a client in flight to each destination: 1 to 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Concurrency(u32);

impl Concurrency {
    /// A concurrency of `number`; `None` if it is out of range.
    pub fn new(number: u32) -> Option<Self> {
        (1..=MAX_CONCURRENCY).contains(&number).then_some(Self(number))
    }

    /// The number.
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// The load that a server can expect, sent in place of a loop. Only a hint for the number of its buffers, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ServerLoad(std::num::NonZeroI32);

impl ServerLoad {
    /// Makes a load of `rpcs` RPCs; a number outside of the range of the wire is replaced by the nearest one inside.
    pub fn new(rpcs: u32) -> Self {
        let number = i32::try_from(rpcs.max(1)).unwrap_or(i32::MAX);
        Self(std::num::NonZeroI32::new(number).unwrap_or(std::num::NonZeroI32::MAX))
    }

    /// The number of RPCs; `None`: without end.
    pub fn rpcs(self) -> Option<u32> {
        u32::try_from(self.0.get()).ok()
    }
}

/// Parameters of brw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BrwParameters {
    rw: Rw,
    check: Check,
    length: BulkLength,
    offset: u32,
}

/// The reason why parameters must not be sent to a node: it might panic (selftest 8.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsafeParameters {
    /// The size is invalid.
    #[error("the size must be 8 bytes to 1 MiB, and a multiple of 8")]
    Size,
    /// The offset is invalid.
    #[error("the offset must be a multiple of 8, and less than 4096")]
    Offset,
    /// The offset is invalid with this size.
    #[error("the offset and the size must not reach into another page than the size does alone")]
    OffsetWithSize,
}

impl BrwParameters {
    /// Parameters that a console may send to any node, kernel nodes included. The error names a parameter that would be unsafe.
    pub fn new(rw: Rw, check: Check, size: u32, offset: u32) -> Result<Self, UnsafeParameters> {
        let length = BulkLength::new(size).ok_or(UnsafeParameters::Size)?;
        if !offset.is_multiple_of(8) || offset >= PAGE {
            return Err(UnsafeParameters::Offset);
        }
        if offset + size > size.next_multiple_of(PAGE) {
            return Err(UnsafeParameters::OffsetWithSize);
        }
        Ok(Self { rw, check, length, offset })
    }

    /// The direction.
    pub const fn rw(&self) -> Rw {
        self.rw
    }

    /// The part of the data that is checked.
    pub const fn check(&self) -> Check {
        self.check
    }

    /// The number of bytes that an RPC transfers.
    pub const fn length(&self) -> BulkLength {
        self.length
    }

    /// The offset of the client's memory in its first page, in bytes.
    pub const fn offset(&self) -> u32 {
        self.offset
    }

    /// Reads the parameters that a client's node accepts from a console (selftest 8.3): of the offset only its place in a page
    /// counts.
    fn read(fields: Fields<'_>, features: Features) -> Result<Self, InvalidTest> {
        let (rw, check, length, offset) = match features.has_bulk_len() {
            true => (fields.u16(82).into(), fields.u16(84).into(), fields.u32(86), fields.u32(90)),
            false => (fields.u32(82), fields.u32(90), fields.u32(86).saturating_mul(PAGE), 0),
        };
        if !offset.is_multiple_of(8) {
            return Err(InvalidTest);
        }
        Ok(Self {
            rw: Rw::from_number(rw).ok_or(InvalidTest)?,
            check: Check::from_number(check).ok_or(InvalidTest)?,
            length: BulkLength::new(length).ok_or(InvalidTest)?,
            offset: offset % PAGE,
        })
    }

    fn write(&self, writer: &mut Writer, features: Features) {
        if features.has_bulk_len() {
            writer.u16(82, self.rw.number());
            writer.u16(84, self.check.number());
            writer.u32(86, self.length.bytes());
            writer.u32(90, self.offset);
        } else {
            writer.u32(82, self.rw.number().into());
            writer.u32(86, self.length.pages());
            writer.u32(90, self.check.number().into());
        }
    }
}

/// The kind of a test, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TestParameters {
    /// Bulk transfers.
    Brw(BrwParameters),
    /// Round trips.
    Ping,
}

impl TestParameters {
    /// The service that the RPCs of the test go to.
    pub const fn service(&self) -> Service {
        match self {
            Self::Brw(_) => Service::Brw,
            Self::Ping => Service::Ping,
        }
    }
}

/// A node's part in a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instance {
    /// The node answers RPCs.
    Server {
        /// The load to expect.
        load: ServerLoad,
    },
    /// The node sends RPCs.
    Client {
        /// The number of RPCs that each loop of the test sends.
        times: Loop,
        /// The number of destinations in the list that it fetches.
        destinations: DestinationCount,
    },
}

/// A console adds a test to a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddTest {
    /// The session of the console.
    pub session: SessionId,
    /// The batch.
    pub batch: BatchId,
    /// The kind of the test, with its parameters.
    pub parameters: TestParameters,
    /// The number of RPCs in flight to each destination.
    pub concurrency: Concurrency,
    /// Whether a loop of the client ends when one of its RPCs fails. Consoles always set it.
    pub stop_on_error: bool,
    /// The node's part.
    pub instance: Instance,
}

impl AddTest {
    pub(super) fn write(&self, writer: &mut Writer, features: Features) {
        let (number, is_client, destinations) = match self.instance {
            Instance::Server { load } => (load.0.get(), 0, 0),
            Instance::Client { times, destinations } => (times.number(), 1, destinations.number()),
        };
        writer.session(40, Some(self.session));
        writer.u64(56, self.batch.0);
        writer.u32(64, self.parameters.service().number());
        writer.u32(68, number.cast_unsigned());
        writer.u32(72, self.concurrency.number());
        writer.u8(76, is_client);
        writer.u8(77, self.stop_on_error.into());
        writer.u32(78, destinations);
        if let TestParameters::Brw(parameters) = &self.parameters {
            parameters.write(writer, features);
        }
    }
}

/// A test is invalid: the reply is EINVAL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidTest;

/// A node's part in a test, as a console asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncomingInstance {
    /// The node answers RPCs; parameters do not count.
    Server {
        /// The service that is used.
        service: Service,
        /// The load to expect.
        load: ServerLoad,
    },
    /// The node sends RPCs.
    Client {
        /// The number of RPCs that each loop of the test sends.
        times: Loop,
        /// The number of RPCs in flight to each destination.
        concurrency: Concurrency,
        /// Whether a loop ends when one of its RPCs fails.
        stop_on_error: bool,
        /// The number of destinations in the list.
        destinations: u32,
        /// The kind of the test. Wrong parameters are found last of all.
        parameters: Result<TestParameters, InvalidTest>,
    },
}

/// The request of a console for a test, as it was received, unchecked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IncomingTest {
    /// The session of the console.
    pub session: SessionId,
    /// The batch.
    pub batch: BatchId,
    /// The match bits of the list of destinations.
    pub bulk_bits: u64,
    /// The node's part.
    pub instance: IncomingInstance,
}

impl IncomingTest {
    /// Reads a test, with the checks of selftest 5.6 that depend on nothing but the message.
    pub(super) fn read(fields: Fields<'_>, features: Features) -> Result<Self, InvalidTest> {
        let number = std::num::NonZeroI32::new(fields.i32(68)).ok_or(InvalidTest)?;
        let concurrency = Concurrency::new(fields.u32(72)).ok_or(InvalidTest)?;
        let session = fields.session(40).ok_or(InvalidTest)?;
        let is_client = fields.u8(76) != 0;
        let destinations = fields.u32(78);
        if destinations > MAX_DESTINATIONS || is_client && destinations == 0 {
            return Err(InvalidTest);
        }
        let service =
            Service::from_number(fields.u32(64)).filter(|it| !it.is_framework()).ok_or(InvalidTest)?;
        let instance = if is_client {
            IncomingInstance::Client {
                times: Loop::new(number.get()).ok_or(InvalidTest)?,
                concurrency,
                stop_on_error: fields.u8(77) != 0,
                destinations,
                parameters: match service {
                    Service::Brw => BrwParameters::read(fields, features).map(TestParameters::Brw),
                    _ => Ok(TestParameters::Ping),
                },
            }
        } else {
            IncomingInstance::Server { service, load: ServerLoad(number) }
        };
        Ok(Self { session, batch: BatchId(fields.u64(56)), bulk_bits: fields.u64(BULK_BITS), instance })
    }
}
