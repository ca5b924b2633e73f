//! A node whose list of drivers is empty: it has the loopback.
#![allow(clippy::unwrap_used)]

use lnet_core::memory::RecvBuffer;
use lnet_core::{EventKind, MdOptions, MdSpec, Target};
use lnet_dlc::request::{AddLocalNi, LndTunables, NiTunables, SettingState};
use lnet_dlc::{Backend, Request};
use lnet_node::{DriverConfigs, Node, PingRequest, StartConfig};
use lnet_wire::{Errno, Nid, Pid, ProcessId};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

const SELF: ProcessId = ProcessId { nid: Nid::LOOPBACK, pid: Pid::LUSTRE };

fn node() -> Arc<Node> {
    let config = StartConfig { drivers: DriverConfigs::none(), ..StartConfig::default() };
    Node::start(Pid::LUSTRE, config).unwrap()
}

#[test]
fn a_node_without_drivers_pings_itself_and_waits_for_events() {
    let node = node();
    let ping = PingRequest { target: SELF, source: None, max_entries: 16, timeout: None };
    assert!(node.ping(ping).is_ok());

    let core = node.core().data_path();
    let eq = core.eq_alloc(8, None).unwrap();
    let room = RecvBuffer::new(4096);
    let spec = MdSpec {
        start: room.address(),
        length: 4096,
        threshold: 2,
        max_size: 0,
        options: MdOptions::TRUNCATE,
        user_ptr: 0,
        eq: Some(eq),
    };
    let kinds = thread::scope(|scope| {
        let next = || node.eq_poll(&[eq], Some(Duration::from_secs(300))).unwrap().unwrap().1.event.kind;
        let waiting = scope.spawn(move || [next(), next()]);
        let md = core.bind_owned(spec, room.memory(), true, Arc::new(room.clone())).unwrap();
        core.get(None, md, Target::of_pings(SELF)).unwrap();
        waiting.join().unwrap()
    });
    assert_eq!(kinds, [EventKind::Send, EventKind::Reply]);
}

#[test]
fn a_node_without_drivers_adds_no_net_and_shows_no_tunable_of_a_driver() {
    let node = node();
    let backend: &dyn Backend = &*node;
    let (tunables, lnd) = (NiTunables::default(), LndTunables::default());
    let (net, interface) = ("tcp".parse().unwrap(), Some("lo".to_owned()));
    let add = AddLocalNi { net, interface, tunables, lnd, cpts: None };
    let refused = backend.call(Request::AddLocalNi(add)).unwrap_err();
    assert_eq!(refused.errno, Errno::ProtocolNotSupported);
    assert_eq!(refused.text(), "net tcp: not started (there is no driver for nets of this kind here)");
    let all: Vec<SettingState> = backend.ask(Request::GetSettings).unwrap();
    assert!(all.iter().all(|state| state.module == "lnet"));
}
