//! Whole messages, byte for byte, as in selftest 16.
#![allow(clippy::unwrap_used, clippy::panic)]

// The linker arguments for LNet's symbols apply to all tests.
use lnet as _;
use lnet_selftest::wire::*;
use lnet_wire::{Nid, Pid};

/// The session of the examples: 10.99.0.11@tcp, 212198.
fn session() -> SessionId {
    SessionId::new("10.99.0.11@tcp".parse().unwrap(), 212_198).unwrap()
}

const SID: &str = "0b00630a00000200 e63c030000000000";
const NO_SID: &str = "ffffffffffffffff ffffffffffffffff";

/// A message of these hexadecimal digits, and of zeros up to its length.
fn message(digits: &str) -> Message {
    let digits: Vec<u8> =
        digits.chars().filter_map(|digit| digit.to_digit(16)).map(|digit| digit as u8).collect();
    let mut message = [0; MESSAGE_LEN];
    for (byte, pair) in message.iter_mut().zip(digits.chunks(2)) {
        *byte = pair[0] << 4 | pair[1];
    }
    message
}

/// A little-endian message with a header of this type and features 1.
fn with_header(kind: &str, body: &str) -> Message {
    message(&format!("0df0b0ee 01000000 {kind} 00000000 00000000 01000000 {body}"))
}

fn destinations() -> Destinations {
    let nodes = ["10.99.0.12@tcp", "10.99.0.13@tcp"].map(|nid| (nid.parse::<Nid>().unwrap(), Pid(12345)));
    Destinations::new(&nodes).unwrap()
}

fn client(rw: Rw, check: Check, size: u32) -> AddTest {
    AddTest {
        session: session(),
        batch: BatchId(2),
        parameters: TestParameters::Brw(BrwParameters::new(rw, check, size, 0).unwrap()),
        concurrency: Concurrency::new(4).unwrap(),
        stop_on_error: true,
        instance: Instance::Client { times: Loop::Endless, destinations: destinations().count() },
    }
}

fn server(parameters: TestParameters, load: u32, concurrency: u32) -> AddTest {
    AddTest {
        session: session(),
        batch: BatchId(2),
        parameters,
        concurrency: Concurrency::new(concurrency).unwrap(),
        stop_on_error: true,
        instance: Instance::Server { load: ServerLoad::new(load) },
    }
}

fn batch(command: BatchCommand) -> Request {
    Request::Batch(BatchRequest { session: session(), batch: BatchId(2), command })
}

/// The golden requests: name, request, its two match bits, and the bytes of its type and of its body.
fn requests() -> Vec<(&'static str, Request, u64, u64, &'static str, String)> {
    let rpyid = |low: u64| 0xe17b_0000_0000_0000 + low;
    let brw = |rw, check, size| TestParameters::Brw(BrwParameters::new(rw, check, size, 0).unwrap());
    let make = MakeSession { session: Some(session()), force: false, name: "sess".parse().unwrap() };
    let join = JoinRequest { session: None, group: "cli".parse().unwrap() };
    let ping = PingRequest { sequence: 0, seconds: 0x6b00_e17f, nanoseconds: 0x1e5b_adb6 };
    let write = BrwRequest { rw: Rw::Write, check: Check::Simple, length: BulkLength::new(4096).unwrap() };
    let common_server = format!("{SID} 0200000000000000");
    vec![
        (
            "MKSN",
            Request::MakeSession(make),
            rpyid(1),
            0,
            "00000000",
            format!("0100000000007be1 {SID} 00000000 73657373"),
        ),
        (
            "RMSN",
            Request::RemoveSession(session()),
            rpyid(0x16),
            0,
            "02000000",
            format!("1600000000007be1 {SID}"),
        ),
        ("DEBUG", Request::Debug(session()), rpyid(0x30), 0, "0a000000", format!("3000000000007be1 {SID}")),
        (
            "STAT",
            Request::QueryStat(session()),
            rpyid(0x1c),
            0,
            "06000000",
            format!("1c00000000007be1 {SID}"),
        ),
        (
            "TEST server, ping",
            Request::AddTest(server(TestParameters::Ping, 1, 1)),
            rpyid(2),
            0,
            "08000000",
            format!(
                "0200000000007be1 0000000000000000 {common_server} 0c000000 01000000 01000000 00 01 00000000"
            ),
        ),
        (
            "TEST server, brw write 4K simple",
            Request::AddTest(server(brw(Rw::Write, Check::Simple, 4096), 1, 1)),
            rpyid(2),
            0,
            "08000000",
            format!(
                "0200000000007be1 0000000000000000 {common_server} 0b000000 01000000 01000000 00 01 00000000
                 0200 0200 00100000 00000000"
            ),
        ),
        (
            "TEST server, brw write 64K simple, concurrency 4",
            Request::AddTest(server(brw(Rw::Write, Check::Simple, 65536), 4, 4)),
            rpyid(2),
            0,
            "08000000",
            format!(
                "0200000000007be1 0000000000000000 {common_server} 0b000000 04000000 04000000 00 01 00000000
                 0200 0200 00000100 00000000"
            ),
        ),
        (
            "TEST client, brw read 64K full",
            Request::AddTest(client(Rw::Read, Check::Full, 65536)),
            rpyid(0x34),
            rpyid(0x35),
            "08000000",
            format!(
                "3400000000007be1 3500000000007be1 {common_server} 0b000000 ffffffff 04000000 01 01 02000000
                 0100 0300 00000100 00000000"
            ),
        ),
        (
            "BATCH run",
            batch(BatchCommand::Run { timeout: 0 }),
            rpyid(0x31),
            0,
            "04000000",
            format!("3100000000007be1 {SID} 0200000000000000 01000000 00000000 00000000"),
        ),
        (
            "BATCH stop --force",
            batch(BatchCommand::Stop { force: true }),
            rpyid(0x31),
            0,
            "04000000",
            format!("3100000000007be1 {SID} 0200000000000000 02000000 00000000 01000000"),
        ),
        (
            "BATCH query of test 1",
            batch(BatchCommand::Query { test: 1 }),
            rpyid(0x31),
            0,
            "04000000",
            format!("3100000000007be1 {SID} 0200000000000000 03000000 01000000 00000000"),
        ),
        (
            "JOIN",
            Request::Join(join),
            rpyid(0x36),
            0,
            "10000000",
            format!("3600000000007be1 {NO_SID} 636c69"),
        ),
        (
            "PING",
            Request::Ping(ping),
            rpyid(6),
            0,
            "0e000000",
            "0600000000007be1 cefabeba 00000000 7fe1006b00000000 b6ad5b1e00000000".to_owned(),
        ),
        (
            "BRW write 4K",
            Request::Brw(write),
            0xe142_0000_0000_0006,
            0xe142_0000_0000_0007,
            "0c000000",
            "06000000000042e1 07000000000042e1 02000000 00100000 02000000".to_owned(),
        ),
    ]
}

#[test]
fn requests_have_the_bytes_of_the_examples() {
    for (what, request, reply_bits, bulk_bits, kind, body) in requests() {
        let bytes = request.write(Features::KNOWN, reply_bits, bulk_bits);
        assert_eq!(bytes, with_header(kind, &body), "{what}");
        let read = IncomingRequest::parse(request.service(), &bytes).unwrap();
        assert_eq!((read.reply_bits, read.features), (reply_bits, Features::KNOWN), "{what}");
    }
}

#[test]
fn what_a_console_asks_for_is_what_a_node_reads() {
    let read = |request: &Request| {
        let bytes = request.write(Features::KNOWN, 1, 2);
        IncomingRequest::parse(request.service(), &bytes).unwrap().body
    };
    for (what, request, ..) in requests() {
        let wanted = match request {
            Request::MakeSession(body) => ReceivedBody::MakeSession(body),
            Request::RemoveSession(session) => ReceivedBody::RemoveSession(Some(session)),
            Request::Debug(_) => ReceivedBody::Debug,
            Request::Batch(it) => ReceivedBody::Batch(IncomingBatch {
                session: Some(it.session),
                batch: it.batch,
                command: Some(it.command),
            }),
            Request::AddTest(it) => ReceivedBody::AddTest(Ok(IncomingTest {
                session: it.session,
                batch: it.batch,
                bulk_bits: 2,
                instance: match it.instance {
                    Instance::Server { load } => {
                        IncomingInstance::Server { service: it.parameters.service(), load }
                    }
                    Instance::Client { times, destinations } => IncomingInstance::Client {
                        times,
                        concurrency: it.concurrency,
                        stop_on_error: it.stop_on_error,
                        destinations: destinations.number(),
                        parameters: Ok(it.parameters),
                    },
                },
            })),
            Request::QueryStat(session) => ReceivedBody::QueryStat(Some(session)),
            Request::Join(body) => ReceivedBody::Join(body),
            Request::Brw(body) => ReceivedBody::Brw(IncomingBrw { bulk_bits: 2, transfer: Ok(body) }),
            Request::Ping(body) => ReceivedBody::Ping(body),
        };
        assert_eq!(read(&request), wanted, "{what}");
    }
}

fn replies() -> Vec<(&'static str, Reply, &'static str, String)> {
    let ok = SessionReply { status: Status::OK, session: Some(session()) };
    let name = "sess".parse().unwrap();
    let made =
        MakeSessionReply { status: Status::OK, session: Some(session()), timeout: 100, name: Name::EMPTY };
    let refused = MakeSessionReply { status: Status::BUSY, name, ..made };
    let debug = DebugReply { status: Status::OK, session: Some(session()), timeout: 100, batches: 0, name };
    let stats = Stats {
        framework: FrameworkCounters { running_ms: 3430, ..FrameworkCounters::default() },
        rpc: RpcCounters { rpcs_rcvd: 8, bulk_get: 20480, ..RpcCounters::default() },
        lnet: LnetCounters {
            msgs_max: 1,
            send_count: 14,
            recv_count: 15,
            send_length: 1168,
            recv_length: 21808,
            ..LnetCounters::default()
        },
    };
    vec![
        ("MKSN", Reply::MakeSession(made), "01000000", format!("00000000 {SID} 64000000")),
        (
            "MKSN, refused",
            Reply::MakeSession(refused),
            "01000000",
            format!("10000000 {SID} 64000000 73657373"),
        ),
        ("DEBUG", Reply::Debug(debug), "0b000000", format!("00000000 {SID} 64000000 00000000 73657373")),
        ("TEST", Reply::AddTest(ok), "09000000", format!("00000000 {SID}")),
        (
            "RMSN",
            Reply::RemoveSession(SessionReply { session: None, ..ok }),
            "03000000",
            format!("00000000 {NO_SID}"),
        ),
        (
            "BATCH",
            Reply::Batch(BatchReply { status: Status::OK, session: Some(session()), active: 4 }),
            "05000000",
            format!("00000000 {SID} 04000000"),
        ),
        (
            "STAT",
            Reply::QueryStat(StatReply { status: Status::OK, session: Some(session()), stats }),
            "07000000",
            format!(
                "00000000 {SID}
                 660d0000 00000000 00000000 00000000 00000000
                 00000000 00000000 08000000 00000000 00000000 0050000000000000 0000000000000000
                 00000000 01000000 00000000 0e000000 0f000000 00000000 00000000
                 9004000000000000 3055000000000000"
            ),
        ),
        ("BRW", Reply::Brw(Status::OK), "0d000000", "00000000".to_owned()),
        (
            "PING",
            Reply::Ping(PingReply { status: Status::OK, sequence: Some(0) }),
            "0f000000",
            "00000000 cefabeba 00000000".to_owned(),
        ),
    ]
}

#[test]
fn replies_have_the_bytes_of_the_examples_and_are_read_again() {
    for (what, reply, kind, body) in replies() {
        let bytes = reply.write(Features::KNOWN);
        assert_eq!(bytes, with_header(kind, &body), "{what}");
        let read = IncomingReply::parse(reply.service(), &bytes).unwrap();
        assert_eq!((read.reply, read.features), (reply, Features::KNOWN), "{what}");
    }
}

#[test]
fn the_list_of_destinations_has_the_bytes_of_the_example() {
    let list = destinations();
    let wanted = message("0c00630a00000200 39300000 0d00630a00000200 39300000");
    assert_eq!(list.bytes(Features::KNOWN), wanted[..24]);
    assert_eq!(list.bytes(Features::NONE).len(), 4096);
}

#[test]
fn without_the_feature_parameters_are_in_pages() {
    let bytes = Request::AddTest(client(Rw::Read, Check::Full, 8192)).write(Features::NONE, 1, 2);
    assert_eq!(bytes[82..94], message("01000000 02000000 03000000")[..12]);
    let ReceivedBody::AddTest(Ok(read)) = IncomingRequest::parse(Service::AddTest, &bytes).unwrap().body
    else {
        panic!("no test");
    };
    let IncomingInstance::Client { parameters, .. } = read.instance else { panic!("no client") };
    assert_eq!(parameters, Ok(client(Rw::Read, Check::Full, 8192).parameters));
}

/// Swaps the bytes of integers: where each is, and how long.
fn swap(message: &Message, fields: &[(usize, usize)]) -> Message {
    let mut swapped = *message;
    let header = [0, 4, 8, 12, 16, 20].map(|at| (at, 4));
    for (at, len) in header.iter().chain(fields) {
        swapped[*at..at + len].reverse();
    }
    swapped
}

#[test]
fn messages_of_big_endian_peers_are_read() {
    let swapped = |request: &Request, fields: &[(usize, usize)]| {
        let bytes = request.write(Features::KNOWN, 0x0102_0304_0506_0708, 9);
        let read = |bytes| IncomingRequest::parse(request.service(), bytes).unwrap();
        let (little, big) = (read(&bytes), read(&swap(&bytes, fields)));
        assert_eq!(big, IncomingRequest { order: ByteOrder::Big, ..little }, "{request:?}");
    };
    let brw = BrwRequest { rw: Rw::Write, check: Check::Simple, length: BulkLength::new(4096).unwrap() };
    swapped(&Request::Brw(brw), &[(24, 8), (32, 8), (40, 4), (44, 4), (48, 4)]);
    swapped(
        &Request::AddTest(client(Rw::Write, Check::Simple, 4096)),
        &[
            (24, 8),
            (32, 8),
            (40, 8),
            (48, 8),
            (56, 8),
            (64, 4),
            (68, 4),
            (72, 4),
            (78, 4),
            (82, 2),
            (84, 2),
            (86, 4),
            (90, 4),
        ],
    );
}

/// A row is a change of a request, and the result of reading it.
#[test]
fn what_is_no_message_gets_no_reply() {
    let ping = Request::Ping(PingRequest { sequence: 1, seconds: 2, nanoseconds: 3 });
    let good = ping.write(Features::KNOWN, 7, 0);
    let read = |bytes: &[u8]| IncomingRequest::parse(Service::Ping, bytes).map(|it| it.body);
    assert!(read(&good).is_ok());
    assert_eq!(read(&good[..159]), Err(Unanswerable::Length));
    assert_eq!(read(&[]), Err(Unanswerable::Length));
    let changed = |at: usize, value: u8| {
        let mut bytes = good;
        bytes[at] = value;
        read(&bytes)
    };
    for (at, value, wanted) in [
        (0, 0x0e, Err(Unanswerable::Magic)),
        (8, 12, Err(Unanswerable::Kind)),
        (8, 15, Err(Unanswerable::Kind)),
        (32, 0, Err(Unanswerable::PingMagic)),
        (4, 2, Ok(ReceivedBody::OtherVersion)),
    ] {
        assert_eq!(changed(at, value), wanted, "byte {at} is {value}");
    }
}

#[test]
fn what_a_node_refuses_of_brw_is_found_in_the_order_of_the_checks() {
    let length = BulkLength::new(4096).unwrap();
    let good = Request::Brw(BrwRequest { rw: Rw::Read, check: Check::None, length });
    let with = |features: u32, rw: u32, len: u32, flags: u32| {
        let mut bytes = good.write(Features(features), 1, 2);
        for (at, value) in [(40, rw), (44, len), (48, flags)] {
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        match IncomingRequest::parse(Service::Brw, &bytes).unwrap().body {
            ReceivedBody::Brw(brw) => brw.transfer.map(|it| it.length.bytes()),
            other => panic!("{other:?}"),
        }
    };
    let (invalid, features) = (Err(BrwRefusal::Invalid), Err(BrwRefusal::UnknownFeatures));
    for (features, rw, len, flags, wanted) in [
        (1, 1, 4096, 1, Ok(4096)),
        (1, 2, 1 << 20, 3, Ok(1 << 20)),
        (1, 2, 8, 2, Ok(8)),
        (1, 0, 4096, 1, invalid),
        (1, 3, 4096, 1, invalid),
        (1, 1, 4096, 0, invalid),
        (1, 1, 4096, 4, invalid),
        (2, 3, 4096, 1, invalid),
        (2, 1, 4096, 1, features),
        (3, 1, 12, 1, features),
        (1, 1, 0, 1, invalid),
        (1, 1, (1 << 20) + 8, 1, invalid),
        (1, 1, u32::MAX, 1, invalid),
        (1, 1, 4100, 1, invalid),
        (0, 1, 4096, 1, Ok(4096)),
        (0, 1, 8, 1, invalid),
    ] {
        assert_eq!(with(features, rw, len, flags), wanted, "{features:#x} {rw} {len} {flags}");
    }
}

#[test]
fn what_a_node_refuses_of_a_test_is_a_row_of_the_table() {
    let bytes = Request::AddTest(client(Rw::Read, Check::None, 4096)).write(Features::KNOWN, 1, 2);
    let read = |bytes: &[u8]| match IncomingRequest::parse(Service::AddTest, bytes).unwrap().body {
        ReceivedBody::AddTest(test) => test.map(|it| match it.instance {
            IncomingInstance::Client { parameters, .. } => parameters.is_ok(),
            IncomingInstance::Server { .. } => true,
        }),
        other => panic!("{other:?}"),
    };
    let changed = |at: usize, value: u32, len: usize| {
        let mut bytes = bytes;
        bytes[at..at + len].copy_from_slice(&value.to_le_bytes()[..len]);
        read(&bytes)
    };
    assert_eq!(read(&bytes), Ok(true));
    for (what, at, value, len, wanted) in [
        ("loop 0", 68, 0, 4, Err(InvalidTest)),
        ("loop -2147483648", 68, 1 << 31, 4, Ok(true)),
        ("concurrency 0", 72, 0, 4, Err(InvalidTest)),
        ("concurrency 1024", 72, 1024, 4, Ok(true)),
        ("concurrency 1025", 72, 1025, 4, Err(InvalidTest)),
        ("no destination", 78, 0, 4, Err(InvalidTest)),
        ("as many destinations as fit", 78, 256 * 341, 4, Ok(true)),
        ("more", 78, 256 * 341 + 1, 4, Err(InvalidTest)),
        ("service 5", 64, 5, 4, Err(InvalidTest)),
        ("service 13", 64, 13, 4, Err(InvalidTest)),
        ("server without destinations", 76, 0, 1, Ok(true)),
        ("opcode 3", 82, 3, 2, Ok(false)),
        ("flags 0", 84, 0, 2, Ok(false)),
        ("length 0", 86, 0, 4, Ok(false)),
        ("length 12", 86, 12, 4, Ok(false)),
        ("length beyond 1 MiB", 86, (1 << 20) + 8, 4, Ok(false)),
        ("offset 4", 90, 4, 4, Ok(false)),
        ("offset beyond a page", 90, 4104, 4, Ok(true)),
    ] {
        assert_eq!(changed(at, value, len), wanted, "{what}");
    }
    let mut no_session = bytes;
    no_session[40..48].fill(0xff);
    assert_eq!(read(&no_session), Err(InvalidTest), "no session");
}

#[test]
fn parameters_that_make_a_kernel_node_panic_cannot_be_made() {
    use UnsafeParameters as Unsafe;
    for (size, offset, wanted) in [
        (8, 0, None),
        (1 << 20, 0, None),
        (4088, 8, None),
        (4104, 4088, None),
        (0, 0, Some(Unsafe::Size)),
        (12, 0, Some(Unsafe::Size)),
        ((1 << 20) + 8, 0, Some(Unsafe::Size)),
        (4096, 4, Some(Unsafe::Offset)),
        (4096, 4096, Some(Unsafe::Offset)),
        (4096, 8, Some(Unsafe::OffsetWithSize)),
        (1 << 20, 8, Some(Unsafe::OffsetWithSize)),
    ] {
        let made = BrwParameters::new(Rw::Read, Check::Full, size, offset);
        assert_eq!(made.err(), wanted, "size {size}, offset {offset}");
    }
}

#[test]
fn a_reply_of_another_type_is_none() {
    let reply = Reply::Brw(Status::OK).write(Features::KNOWN);
    assert_eq!(IncomingReply::parse(Service::Ping, &reply), Err(BadReply));
    assert_eq!(IncomingReply::parse(Service::Brw, &reply[..24]), Err(BadReply));
    let mut other_magic = reply;
    other_magic[3] = 0;
    assert_eq!(IncomingReply::parse(Service::Brw, &other_magic), Err(BadReply));
}
