//! Messages that are lost on purpose, by the C API's own means.

use std::ffi::{c_int, c_uint, c_void};

const IOC_LIBCFS_LNET_FAULT: c_uint = 0xc008_6540;
const DROP_ADD: u32 = 0;
const DROP_DEL: u32 = 1;
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

/// One in so many messages of this node to itself is lost, as long as this is there.
pub(crate) struct Losing(());

impl Losing {
    /// PUTs and GETs to these portals, and ACKs and REPLYs where `answers` says so.
    pub(crate) fn one_in(rate: u32, portals: &[u32], answers: bool) -> Self {
        let portals = portals.iter().fold(0, |all, portal| all | 1 << portal);
        let requests = 0b0110;
        add(rate, portals, requests);
        if answers {
            add(rate, 0, 0b1001);
        }
        Self(())
    }
}

fn add(rate: u32, portals: u64, kinds: u32) {
    assert_eq!(control(DROP_ADD, rate, portals, kinds), 0);
}

fn control(what: u32, rate: u32, portals: u64, kinds: u32) -> c_int {
    let mut attr =
        Attr { source: LOOPBACK, dest: LOOPBACK, portals, kinds, pad: 0, rate, interval: 0, rest: [0; 7] };
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

impl Drop for Losing {
    fn drop(&mut self) {
        control(DROP_DEL, 0, 0, 0);
    }
}
