//! LNet's drop and delay rules, by the C API.
#![allow(dead_code)]

use std::ffi::{c_int, c_uint, c_void};

const IOC_LIBCFS_LNET_FAULT: c_uint = 0xc008_6540;
const DROP_ADD: u32 = 0;
const DROP_DEL: u32 = 1;
const DELAY_ADD: u32 = 4;
const DELAY_DEL: u32 = 5;
const REQUESTS: u32 = 0b0110;
const ANSWERS: u32 = 0b1001;
const LOOPBACK: u64 = 9 << 48;

unsafe extern "C" {
    fn LNetCtl(command: c_uint, argument: *mut c_void) -> c_int;
}

/// `lnet_fault_attr`.
#[repr(C)]
struct Attr {
    source: u64,
    dest: u64,
    portals: u64,
    kinds: u32,
    pad: u32,
    rate: u32,
    interval: u32,
    rest: [u64; 7],
}

/// A fault rule that drops messages of this node to itself, until this value is dropped.
pub(crate) struct DropRule(());

impl DropRule {
    /// Drops one in `rate` PUTs and GETs to these portals, and with `answers` also ACKs and REPLYs.
    pub(crate) fn one_in(rate: u32, portals: &[u32], responses: bool) -> Self {
        let portals = portals.iter().fold(0, |all, portal| all | 1 << portal);
        assert_eq!(control(DROP_ADD, rate, 0, portals, REQUESTS), 0);
        if responses {
            assert_eq!(control(DROP_ADD, rate, 0, 0, ANSWERS), 0);
        }
        Self(())
    }
}

/// Delays each PUT and GET of this node to itself for one portal, as long as this exists.
pub(crate) struct DelayRule(());

impl DelayRule {
    pub(crate) fn by_seconds(latency: u32, portal: u32) -> Self {
        assert_eq!(control(DELAY_ADD, 1, latency, 1 << portal, REQUESTS), 0);
        Self(())
    }
}

fn control(what: u32, rate: u32, latency: u32, portals: u64, kinds: u32) -> c_int {
    let rest = [latency.into(), 0, 0, 0, 0, 0, 0];
    let (source, dest) = (LOOPBACK, LOOPBACK);
    let mut attr = Attr { source, dest, portals, kinds, pad: 0, rate, interval: 0, rest };
    // `libcfs_ioctl_data`, of which most is 0.
    let mut data = [0_u64; 16];
    let bytes = data.as_mut_ptr().cast::<u8>();
    let put = |offset: usize, value: u32| {
        // SAFETY: inside the array.
        unsafe { bytes.add(offset).cast::<u32>().write_unaligned(value) };
    };
    put(0, 128 + size_of::<Attr>() as u32);
    put(4, 0x0001_000a);
    put(24, what);
    put(64, size_of::<Attr>() as u32);
    data[9] = &raw mut attr as u64;
    // SAFETY: the argument of this command; it outlives the call.
    unsafe { LNetCtl(IOC_LIBCFS_LNET_FAULT, data.as_mut_ptr().cast()) }
}

impl Drop for DropRule {
    fn drop(&mut self) {
        control(DROP_DEL, 0, 0, 0, 0);
    }
}

impl Drop for DelayRule {
    fn drop(&mut self) {
        control(DELAY_DEL, 0, 0, 0, 0);
    }
}
