//! Whole messages, byte for byte, as the specification lays them out.
#![allow(clippy::unwrap_used)]

// The linker arguments for LNet's symbols apply to all tests.
use lnet as _;
use ptlrpc::message::checksum::{early_reply_is_intact, seal_early_reply};
use ptlrpc::message::{
    Body, BodyFlags, ByteOrder, ConnectData, ConnectFlags, ConnectOps, ConnectReply, ConnectRequest,
    ExportCookie, Message, MessageFlags, MessageKind, MessageMut, Opcode, Service, Xid,
};

/// A field: its description, and its bytes from a little-endian and from a big-endian machine.
type Field = (&'static str, &'static str, &'static str);

/// A field of zeros, which is the same in either byte order.
const fn zeros(what: &'static str, digits: &'static str) -> Field {
    (what, digits, digits)
}

const ZEROS_4: &str = "00000000";
const ZEROS_8: &str = "0000000000000000";
const ZEROS_24: &str = "000000000000000000000000000000000000000000000000";
const ZEROS_32: &str = "0000000000000000000000000000000000000000000000000000000000000000";
const ZEROS_104: &str = "00000000000000000000000000000000000000000000000000000000000000000000000000000000\
                         00000000000000000000000000000000000000000000000000000000000000000000000000000000\
                         000000000000000000000000000000000000000000000000";

fn bytes(order: ByteOrder, fields: &[Field]) -> Vec<u8> {
    let digits: Vec<u8> = fields
        .iter()
        .flat_map(|(_, little, big)| if order == ByteOrder::Little { little.chars() } else { big.chars() })
        .map(|digit| digit.to_digit(16).unwrap() as u8)
        .collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// The first byte that differs, and in which field.
fn assert_same(got: &[u8], order: ByteOrder, fields: &[Field], name: &str) {
    let mut at = 0;
    for field in fields {
        let want = bytes(order, &[*field]);
        let end = at + want.len();
        assert_eq!(got.get(at..end), Some(&want[..]), "{name}, {order:?}: {} at {at}", field.0);
        at = end;
    }
    assert_eq!(got.len(), at, "{name}, {order:?}");
}

const PING: &[Field] = &[
    ("lm_bufcount", "01000000", "00000001"),
    ("lm_secflvr", "00000000", "00000000"),
    ("lm_magic", "d30bd00b", "0bd00bd3"),
    ("lm_repsize: 224", "e0000000", "000000e0"),
    ("lm_cksum", "00000000", "00000000"),
    ("lm_flags: AT_SUPPORT", "01000000", "00000001"),
    zeros("padding", ZEROS_8),
    ("lm_buflens[0]: 184", "b8000000", "000000b8"),
    zeros("padding", ZEROS_4),
    ("pb_handle", "efcdab8967452301", "0123456789abcdef"),
    ("pb_type: 4711", "67120000", "00001267"),
    ("pb_version: OBD", "03000100", "00010003"),
    ("pb_opc: 400", "90010000", "00000190"),
    ("pb_status", "00000000", "00000000"),
    ("pb_last_xid", "c0ffff779ceb1806", "0618eb9c77ffffc0"),
    zeros("pb_tag and padding", ZEROS_8),
    zeros("pb_last_committed", ZEROS_8),
    zeros("pb_transno", ZEROS_8),
    ("pb_flags: RESENT", "02000000", "00000002"),
    ("pb_op_flags", "00000000", "00000000"),
    ("pb_conn_cnt", "02000000", "00000002"),
    ("pb_timeout", "07000000", "00000007"),
    ("pb_service_time", "00000000", "00000000"),
    ("pb_limit", "00000000", "00000000"),
    zeros("pb_slv", ZEROS_8),
    zeros("pb_pre_versions", ZEROS_32),
    ("pb_mbits", "000000789ceb1806", "0618eb9c78000000"),
    zeros("padding", ZEROS_24),
    ("pb_jobid: lnetctl.0", "6c6e657463746c2e30000000", "6c6e657463746c2e30000000"),
    zeros("pb_jobid", ZEROS_8),
    zeros("pb_jobid", ZEROS_8),
    zeros("pb_jobid", ZEROS_4),
];

fn ping_body() -> Body {
    let mut job_id = [0; 32];
    job_id[..9].copy_from_slice(b"lnetctl.0");
    Body {
        handle: ExportCookie(0x0123_4567_89ab_cdef),
        last_xid: Xid(0x0618_eb9c_77ff_ffc0),
        flags: BodyFlags::RESENT,
        conn_cnt: 2,
        timeout: 7,
        mbits: 0x0618_eb9c_7800_0000,
        job_id,
        ..Body::request(Service::OBD, Opcode::PING)
    }
}

#[test]
fn a_ping_has_the_bytes_of_the_table() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let mut out = [0xee; 224];
        let mut message = MessageMut::new_in(order, &mut out, &[184]).unwrap();
        message.set_repsize(224);
        message.set_flags(MessageFlags::AT_SUPPORT);
        message.set_body(&ping_body());
        assert_same(&out, order, PING, "ping");

        let bytes = bytes(order, PING);
        let message = Message::parse(&bytes).unwrap();
        assert_eq!((message.order(), message.buffer_count()), (order, 1));
        assert_eq!((message.repsize(), message.cksum()), (224, 0));
        assert_eq!(message.flags(), MessageFlags::AT_SUPPORT);
        assert_eq!(message.body(), Ok(ping_body()));
    }
}

const CONNECT: &[Field] = &[
    ("lm_bufcount", "06000000", "00000006"),
    ("lm_secflvr", "00000000", "00000000"),
    ("lm_magic", "d30bd00b", "0bd00bd3"),
    ("lm_repsize: 544", "20020000", "00000220"),
    ("lm_cksum", "00000000", "00000000"),
    ("lm_flags: AT_SUPPORT", "01000000", "00000001"),
    zeros("padding", ZEROS_8),
    ("lm_buflens[0]: 184", "b8000000", "000000b8"),
    ("lm_buflens[1]: 39", "27000000", "00000027"),
    ("lm_buflens[2]: 39", "27000000", "00000027"),
    ("lm_buflens[3]: 8", "08000000", "00000008"),
    ("lm_buflens[4]: 192", "c0000000", "000000c0"),
    ("lm_buflens[5]: 0", "00000000", "00000000"),
    zeros("pb_handle", ZEROS_8),
    ("pb_type: 4711", "67120000", "00001267"),
    ("pb_version: OBD", "03000100", "00010003"),
    ("pb_opc: OST_CONNECT", "08000000", "00000008"),
    ("pb_status", "00000000", "00000000"),
    zeros("pb_last_xid", ZEROS_8),
    zeros("pb_tag and padding", ZEROS_8),
    zeros("pb_last_committed", ZEROS_8),
    zeros("pb_transno", ZEROS_8),
    ("pb_flags", "00000000", "00000000"),
    ("pb_op_flags: INITIAL, NEXT_VER", "a0000000", "000000a0"),
    ("pb_conn_cnt", "01000000", "00000001"),
    ("pb_timeout", "05000000", "00000005"),
    ("pb_service_time", "00000000", "00000000"),
    ("pb_limit", "00000000", "00000000"),
    zeros("pb_slv", ZEROS_8),
    zeros("pb_pre_versions", ZEROS_32),
    zeros("pb_mbits", ZEROS_8),
    zeros("padding", ZEROS_24),
    zeros("pb_jobid", ZEROS_32),
    ("target: lustre-OST0000", "6c75737472652d4f535430303030", "6c75737472652d4f535430303030"),
    zeros("target: NUL to 38 bytes", ZEROS_24),
    zeros("target: NUL to 39 bytes", "00"),
    zeros("padding", "00"),
    (
        "client: 0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0",
        "30663165326433632d346235612d363937382d383739362d613562346333643265316630",
        "30663165326433632d346235612d363937382d383739362d613562346333643265316630",
    ),
    zeros("client: NUL to 39 bytes", "000000"),
    zeros("padding", "00"),
    ("handle", "1032547698badcfe", "fedcba9876543210"),
    ("connect_flags", "20000001100100a0", "a000011001000020"),
    ("version: 2.15.8.0", "00080f02", "020f0800"),
    ("grant: 2 MiB", "00002000", "00200000"),
    ("index", "00000000", "00000000"),
    ("brw_size: 4 MiB", "00004000", "00400000"),
    ("ibits", "7f00000000000000", "000000000000007f"),
    ("grant_blkbits", "0c", "0c"),
    ("inobits", "09", "09"),
    ("tax_kb", "1800", "0018"),
    ("max_blks", "00010000", "00000100"),
    zeros("transno", ZEROS_8),
    ("group", "00000000", "00000000"),
    ("cksum_types", "07000000", "00000007"),
    ("max_easize", "00000100", "00010000"),
    ("instance", "03000000", "00000003"),
    ("maxbytes", "00f0ffffffffff7f", "7ffffffffffff000"),
    ("maxmodrpcs", "0800", "0008"),
    ("padding", "000000000000", "000000000000"),
    ("connect_flags2: REP_MBITS", "0000100000000000", "0000000000100000"),
    zeros("nothing yet", ZEROS_104),
];

fn connect_body() -> Body {
    Body {
        op_flags: ConnectOps::INITIAL | ConnectOps::NEXT_VER,
        conn_cnt: 1,
        timeout: 5,
        ..Body::request(Service::OBD, Opcode::OST_CONNECT)
    }
}

fn connect_data() -> ConnectData {
    use ConnectFlags as F;
    ConnectData {
        flags: F::VERSION | F::AT | F::FULL20 | F::IMP_RECOV | F::BULK_MBITS | F::REP_MBITS,
        version: 0x020f_0800,
        grant: 2 << 20,
        index: 0,
        brw_size: 4 << 20,
        ibits: 0x7f,
        grant_blkbits: 12,
        inobits: 9,
        tax_kb: 24,
        max_blks: 256,
        transno: 0,
        group: 0,
        cksum_types: 7,
        max_easize: 65536,
        instance: 3,
        maxbytes: 0x7fff_ffff_ffff_f000,
        maxmodrpcs: 8,
    }
}

fn connect_request() -> ConnectRequest {
    ConnectRequest {
        target: "lustre-OST0000".parse().unwrap(),
        client: "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0".parse().unwrap(),
        handle: ExportCookie(0xfedc_ba98_7654_3210),
        data: connect_data(),
    }
}

#[test]
fn a_connect_request_has_the_bytes_of_the_table() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let mut out = [0xee; 520];
        let mut message = connect_request().build_in(order, &mut out, &connect_body()).unwrap();
        message.set_repsize(ConnectReply::MAX_LEN as u32);
        message.set_flags(MessageFlags::AT_SUPPORT);
        assert_same(&out, order, CONNECT, "connect request");

        let bytes = bytes(order, CONNECT);
        let message = Message::parse(&bytes).unwrap();
        assert_eq!((message.order(), message.buffer_count(), message.repsize()), (order, 6, 544));
        assert_eq!(message.body(), Ok(connect_body()));
        assert_eq!(ConnectRequest::read(&message), Ok(connect_request()));
        assert_eq!(message.buffer(5), Some(&[][..]));
    }
}

#[test]
fn messages_are_in_this_machines_byte_order() {
    let order = ByteOrder::NATIVE;
    let (mut native, mut chosen) = ([0; 520], [0; 520]);
    connect_request().build(&mut native, &connect_body()).unwrap();
    connect_request().build_in(order, &mut chosen, &connect_body()).unwrap();
    assert_eq!(native, chosen);
    assert_eq!(Message::parse(&native).unwrap().order(), order);
}

#[test]
fn an_early_reply_is_as_long_as_a_ping_and_has_its_checksum_in_the_header() {
    let body = Body { timeout: 35, ..Body::reply_to(&connect_body()) };
    let mut out = [0; 224];
    let mut message = MessageMut::new_in(ByteOrder::Little, &mut out, &[184]).unwrap();
    message.set_body(&body);
    seal_early_reply(&mut message);
    let message = Message::parse(&out).unwrap();
    assert_eq!(message.body().map(|body| (body.kind, body.timeout)), Ok((MessageKind::Reply, 35)));
    assert!(early_reply_is_intact(&message));
    // The checksum covers all of the body, and nothing else.
    assert_eq!(message.cksum(), !crc32fast::hash(&out[40..]));
}
