//! The path of replies, of a service on a node with two NIs, one of which is removed. One test, because it sets the environment.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use lnet as _;
use ptlrpc::lnet::{Nid, ProcessId};
use ptlrpc::service::ServiceConfig;
use std::net::{Ipv4Addr, TcpListener};
use support::client::ECHO;
use support::{Server, config, echo};

const FIRST: &str = "127.0.21.1";
const SECOND: &str = "127.0.21.2";

fn nid(address: &str) -> Nid {
    format!("{address}@tcp").parse().unwrap()
}

/// Removes an NI from this process's node, as an operator may at any time.
fn remove_ni(address: &str) {
    const IOC_LIBCFS_DEL_LOCAL_NI: u32 = 0xc0b8_6560;
    const LEN: usize = 2728;
    let mut argument = [0_u64; LEN / 8];
    argument[0] = u64::from(LEN as u32) | 0x0001_000b << 32;
    argument[1] = nid(address).to_u64().unwrap();
    // SAFETY: the argument of this command, as long as it says.
    let rc = unsafe { lnet::ctl::_LNetCtl(IOC_LIBCFS_DEL_LOCAL_NI, argument.as_mut_ptr().cast()) };
    assert_eq!(rc, 0);
}

/// snd-045, snd-070: fails if a reply does not leave from the NID that the request came to, or is given up
/// when that interface is gone.
#[test]
fn replies_take_the_path_of_the_request_or_another_if_its_ni_is_removed() {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    for (name, value) in [
        ("LNET_NETWORKS", format!("tcp({FIRST},{SECOND})")),
        ("LNET_ACCEPT", "all".to_owned()),
        ("LNET_ACCEPT_PORT", port.to_string()),
        ("LNET_DISCOVERY", "0".to_owned()),
    ] {
        // SAFETY: no other thread of this program looks at the environment now.
        unsafe { std::env::set_var(name, value) };
    }
    let server = Server::start(ServiceConfig { reply_fallback: true, ..config() }, |request| {
        if request.buffer(1) == Some(b"gone") {
            remove_ni(FIRST);
        }
        echo(request)
    });
    let mut client = server.client();
    (client.server, client.from) = (ProcessId::lustre(nid(FIRST)), Some(nid(SECOND)));
    client.connect();
    let path = |word: &[u8]| {
        let got = client.ask(&client.body(ECHO), &[word]);
        assert_eq!(got.buffers, [word]);
        (got.event.source().unwrap().nid, got.event.target().unwrap().nid)
    };
    assert_eq!(path(b"word"), (nid(FIRST), nid(SECOND)));
    assert_eq!(server.service.counts().replies_again, 0);
    assert_eq!(path(b"gone"), (nid(SECOND), nid(SECOND)));
    let counts = server.service.counts();
    assert_eq!((counts.replies_failed, counts.replies_again), (1, 1));
}
