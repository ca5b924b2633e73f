//! The seeds of the fuzz target for messages of PtlRPC: one message of each kind.

use ptlrpc::message::checksum::seal_early_reply;
use ptlrpc::message::{
    Body, ByteOrder, ConnectData, ConnectFlags, ConnectOps, ConnectReply, ConnectRequest, ExportCookie,
    MessageFlags, MessageKind, MessageMut, Opcode, Service, Xid, size_of_message,
};

/// Gives all seeds to `add`, each with its name.
pub fn seeds(mut add_seed: impl FnMut(String, Vec<u8>)) {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let mut add = |name: &str, bytes: Vec<u8>| {
            add_seed(format!("{name}-{order:?}").to_lowercase(), bytes);
        };
        let connect = Body {
            op_flags: ConnectOps::INITIAL,
            conn_cnt: 1,
            timeout: 5,
            ..Body::request(Service::OBD, Opcode::OST_CONNECT)
        };
        let ping = Body {
            handle: ExportCookie(0x0123_4567_89ab_cdef),
            last_xid: Xid(0x0618_eb9c_77ff_ffc0),
            ..Body::request(Service::OBD, Opcode::PING)
        };
        let refusal = Body { kind: MessageKind::Error, status: -107, ..Body::reply_to(&ping) };
        let data = ConnectData {
            flags: ConnectFlags::VERSION | ConnectFlags::AT | ConnectFlags::REP_MBITS,
            version: 0x020f_0800,
            brw_size: 4 << 20,
            ..ConnectData::default()
        };
        let request = ConnectRequest {
            target: "lustre-OST0000".parse().unwrap(),
            client: "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0".parse().unwrap(),
            handle: ExportCookie(0xfedc_ba98_7654_3210),
            data,
        };

        let mut bytes = vec![0; ConnectRequest::LEN];
        request.build_in(order, &mut bytes, &connect).unwrap();
        add("connect", bytes);
        let mut bytes = vec![0; ConnectReply::LEN];
        let reply = Body { op_flags: ConnectOps::RECONNECT, ..Body::reply_to(&connect) };
        ConnectReply { data }.build_in(order, &mut bytes, &reply).unwrap();
        add("connect-reply", bytes);
        add("ping", written(order, &[184], &ping, |_| ()));
        add("version-2", written(order, &[152], &ping, |_| ()));
        add("refusal", written(order, &[184], &refusal, |_| ()));
        add("early-reply", written(order, &[184], &Body::reply_to(&ping), seal_early_reply));
        let lengths: Vec<u32> = (0..32).map(|index| if index == 0 { 184 } else { index % 11 }).collect();
        let echo = Body::request(Service::OST, *Opcode::ECHO.start());
        let fill = |message: &mut MessageMut<'_>| {
            for (index, fill) in (1..32).zip(b'A'..) {
                message.buffer_mut(index).unwrap().fill(fill);
            }
        };
        add("32-buffers", written(order, &lengths, &echo, fill));
    }
}

fn written(
    order: ByteOrder,
    lengths: &[u32],
    body: &Body,
    then: impl FnOnce(&mut MessageMut<'_>),
) -> Vec<u8> {
    let mut bytes = vec![0; size_of_message(lengths).unwrap()];
    let mut message = MessageMut::new_in(order, &mut bytes, lengths).unwrap();
    message.set_flags(MessageFlags::AT_SUPPORT);
    message.set_body(body);
    then(&mut message);
    bytes
}
