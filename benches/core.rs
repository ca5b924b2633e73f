//! Cost of one message in the core: match look-up, header codec, posting an event.
#![allow(missing_docs, clippy::unwrap_used)]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use lnet_core::lnd::{DeferredRx, RxAction, Upcalls};
use lnet_core::{
    Core, CoreConfig, EqHandle, InsertPosition, MatchId, MdMemory, MdOptions, MdSpec, NiTunables, Provenance,
    Target,
};
use lnet_wire::{Body, Header, Nid, Pid};
use lolnd::Lolnd;
use std::hint::black_box;
use std::sync::Arc;

const PORTAL: u32 = 5;

fn node() -> Arc<Core> {
    let core = Core::new(CoreConfig::new(Pid::LUSTRE, 1).without_discovery());
    core.admin().add_ni(Nid::LOOPBACK, NiTunables::default(), &Lolnd).unwrap();
    core
}

fn spec(options: u32, eq: Option<EqHandle>) -> MdSpec {
    let options = MdOptions(options);
    MdSpec { start: 0, length: 0, threshold: -1, max_size: 0, options, user_ptr: 0, eq }
}

fn attach(core: &Core, match_bits: u64, ignore_bits: u64, eq: Option<EqHandle>) {
    let me = core
        .data_path()
        .me_attach(PORTAL, MatchId::ANY, match_bits, ignore_bits, true, InsertPosition::After)
        .unwrap();
    let memory = MdMemory::contiguous(0, 0);
    core.data_path().md_attach(me, spec(MdOptions::OP_PUT.0, eq), memory, false, &mut |_| ()).unwrap();
}

fn put(match_bits: u64) -> Header {
    let body = Body::Put { ack: None, match_bits, hdr_data: 0, portal: PORTAL, offset: 0 };
    let (dest_nid, src_nid) = (Nid::LOOPBACK, Nid::LOOPBACK);
    Header { dest_nid, src_nid, dest_pid: Pid(0), src_pid: Pid(0), payload_length: 0, body }
}

/// Measures an arriving PUT without payload: matched, charged, completed.
fn match_lookup(c: &mut Criterion) {
    let mut group = c.benchmark_group("arriving PUT, exact entries");
    for entries in [1_u64, 1_000, 100_000] {
        let core = node();
        for bits in 0..entries {
            attach(&core, bits, 0, None);
        }
        let ni = Arc::clone(core.nets().ni(Nid::LOOPBACK).unwrap());
        let no_hold = || -> Arc<dyn DeferredRx> { unreachable!("the portal is not lazy") };
        let mut bits = 0;
        group.bench_function(BenchmarkId::from_parameter(entries), |b| {
            b.iter(|| {
                bits = (bits + 7919) % entries;
                match core.data_path().receive(
                    &ni,
                    Nid::LOOPBACK,
                    &put(bits),
                    &Provenance::default(),
                    &no_hold,
                ) {
                    RxAction::Deliver(message) => core.data_path().received(message, Ok(())),
                    action => unreachable!("{action:?}"),
                }
            });
        });
        core.admin().shutdown();
    }
    group.finish();
}

fn header_codec(c: &mut Criterion) {
    let header = put(77);
    let bytes = header.encode().unwrap();
    c.bench_function("header encode", |b| b.iter(|| black_box(&header).encode()));
    c.bench_function("header decode", |b| b.iter(|| Header::decode(black_box(&bytes))));
}

/// Measures a PUT over the loopback with both events on a ring: two events posted and read.
fn event_post(c: &mut Criterion) {
    let core = node();
    let eq = core.data_path().eq_alloc(16, None).unwrap();
    attach(&core, 1, 0, Some(eq));
    let md = core.data_path().md_bind(spec(0, Some(eq)), MdMemory::contiguous(0, 0), false).unwrap();
    let target =
        Target { nid: Some(Nid::LOOPBACK), pid: Pid::LUSTRE, portal: PORTAL, match_bits: 1, offset: 0 };
    c.bench_function("loopback PUT, two events on a ring", |b| {
        b.iter(|| {
            core.data_path().put(None, md, false, target, 0).unwrap();
            assert!(
                core.data_path().eq_get(eq).unwrap().is_some()
                    && core.data_path().eq_get(eq).unwrap().is_some()
            );
        });
    });
    core.admin().shutdown();
}

criterion_group!(benches, match_lookup, header_codec, event_post);
criterion_main!(benches);
