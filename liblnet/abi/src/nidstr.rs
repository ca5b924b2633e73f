//! Conversion of NIDs, networks and drivers to strings and back.

use crate::entry::{InConstString, helper};
use crate::types::{__u32, NID_ANY, lnet_nid_t, lnet_process_id};
use lnet_dlc::host_names::Names;
use lnet_wire::lnd_table::Lnd;
use lnet_wire::nid_text::{RawNet, RawNid};
use lnet_wire::{NetId, NetType, Nid, Pid};
use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_int};
use std::fmt::{self, Display, Write};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of strings in the ring (`LNET_NIDSTR_COUNT`).
const SLOTS: usize = 1024;
/// The size of each string. Callers compiled against 2.10 use the first 32 bytes, later ones 64.
const SLOT_SIZE: usize = 64;
/// The size of a string in the headers, `LNET_NIDSTR_SIZE`: programs that copy a string have space for this many bytes.
const NIDSTR_SIZE: usize = 32;

/// The next of 1024 strings that are used in turn, never NULL. A string is valid until 1024 others have
/// been returned.
#[unsafe(no_mangle)]
pub extern "C" fn _libcfs_next_nidstring() -> *mut c_char {
    next_slot()
}

/// Returns 1 if lnd is the number of a kind of network that has a name, else 0.
#[unsafe(no_mangle)]
pub extern "C" fn _libcfs_isknown_lnd(lnd: __u32) -> c_int {
    helper(0, || known(lnd).is_some().into())
}

/// The name of the kernel module that drives a kind of network; NULL if there is none. The string is static.
#[unsafe(no_mangle)]
pub extern "C" fn _libcfs_lnd2modname(lnd: __u32) -> *mut c_char {
    let name: &'static CStr = match known(lnd).and_then(|lnd| lnd.module) {
        Some("ksocklnd") => c"ksocklnd",
        Some("ko2iblnd") => c"ko2iblnd",
        Some("kgnilnd") => c"kgnilnd",
        _ => return ptr::null_mut(),
    };
    name.as_ptr().cast_mut()
}

/// Writes the name of a kind of network, such as tcp, or ?99?, into the n bytes of buf; returns buf. The
/// result is always terminated, and cut short where buf is too small.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _libcfs_lnd2str_r(lnd: __u32, buf: *mut c_char, n: usize) -> *mut c_char {
    // SAFETY: NULL, or `n` bytes of the program's, which the call may write.
    helper(buf, || unsafe {
        match known(lnd) {
            Some(lnd) => write_string(buf, n, lnd.name),
            None => write_string(buf, n, format_args!("?{lnd}?")),
        };
        buf
    })
}

/// The number of a kind of network by its name; -1 if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn _libcfs_str2lnd(str: InConstString<'_>) -> c_int {
    helper(-1, || {
        let lnd = str.utf8_or(()).ok().and_then(|name| name.parse::<NetType>().ok());
        lnd.map_or(-1, |lnd| lnd.0.into())
    })
}

/// Writes a network, such as tcp1, or <77:3>, into the n bytes of buf; returns buf. The result is always
/// terminated, and cut short where buf is too small.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _libcfs_net2str_r(net: __u32, buf: *mut c_char, n: usize) -> *mut c_char {
    // SAFETY: NULL, or `n` bytes of the program's, which the call may write.
    helper(buf, || unsafe {
        write_string(buf, n, RawNet(net));
        buf
    })
}

/// Writes a NID, such as 10.0.0.1@tcp1, or <?> for LNET_NID_ANY, into the n bytes of buf; returns buf. The
/// result is always terminated, and cut short where buf is too small.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _libcfs_nid2str_r(nid: lnet_nid_t, buf: *mut c_char, n: usize) -> *mut c_char {
    // SAFETY: NULL, or `n` bytes of the program's, which the call may write.
    helper(buf, || unsafe {
        write_string(buf, n, RawNid(nid));
        buf
    })
}

/// The network that a string such as tcp or o2ib3 names; 0xffffffff if it names none.
#[unsafe(no_mangle)]
pub extern "C" fn _libcfs_str2net(str: InConstString<'_>) -> __u32 {
    helper(u32::MAX, || {
        let net = str.utf8_or(()).ok().and_then(|text| text.parse::<NetId>().ok());
        net.map_or(u32::MAX, NetId::to_u32)
    })
}

/// The NID that a string such as 10.0.0.1@tcp names (tcp if there is no @); LNET_NID_ANY if it names none, or one whose
/// address is longer than four bytes. A host name may replace an IPv4 address; it is looked up by the system's resolver, for
/// at most 5 s.
#[unsafe(no_mangle)]
pub extern "C" fn _libcfs_str2nid(str: InConstString<'_>) -> lnet_nid_t {
    helper(NID_ANY, || {
        let nid = str.utf8_or(()).ok().and_then(|text| Names::new().nid(text).ok());
        nid.and_then(Nid::to_u64).unwrap_or(NID_ANY)
    })
}

/// Does the same as libcfs_str2nid, but accepts * for LNET_NID_ANY. Stores the NID in *nid and returns 1; returns 0, and
/// stores LNET_NID_ANY, if the string names none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _libcfs_str2anynid(nid: *mut lnet_nid_t, str: InConstString<'_>) -> c_int {
    helper(0, || {
        let parsed = match str.utf8_or(()).ok() {
            Some("*") => Some(NID_ANY),
            text => text.and_then(|text| Names::new().nid(text).ok()).and_then(Nid::to_u64),
        };
        if nid.is_null() {
            return 0;
        }
        // SAFETY: checked for NULL above; a variable of the program's, which the call may write.
        unsafe { nid.write(parsed.unwrap_or(NID_ANY)) };
        parsed.is_some().into()
    })
}

/// A process on a node, such as 12345-10.0.0.1@tcp, in a string of libcfs_next_nidstring: at most LNET_NIDSTR_SIZE
/// bytes with the terminator, truncated if necessary.
#[unsafe(no_mangle)]
pub extern "C" fn _libcfs_id2str(id: lnet_process_id) -> *mut c_char {
    let slot = next_slot();
    // SAFETY: the slot has more bytes than that.
    helper(slot, || unsafe {
        write_string(slot, NIDSTR_SIZE, format_args!("{}-{}", Pid(id.pid), RawNid(id.nid)));
        slot
    })
}

/// Writes `text`, terminated and truncated if necessary; returns the number of bytes before the terminator.
///
/// # Safety
/// `buf` is NULL or has room for `n` bytes.
pub(crate) unsafe fn write_string(buf: *mut c_char, n: usize, text: impl Display) -> usize {
    if buf.is_null() || n == 0 {
        return 0;
    }
    let mut out = Bounded { buf, room: n - 1, used: 0 };
    // The only error is that the space is used up.
    let _ = write!(out, "{text}");
    // SAFETY: `used` is below `n`.
    unsafe { buf.add(out.used).write(0) };
    out.used
}

struct Bounded {
    buf: *mut c_char,
    room: usize,
    used: usize,
}

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let fits = text.len().min(self.room - self.used);
        // SAFETY: `used + fits` is at most `room`, which is below the bytes behind `buf`.
        unsafe { ptr::copy_nonoverlapping(text.as_ptr(), self.buf.add(self.used).cast(), fits) };
        self.used += fits;
        if fits == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

fn known(lnd: u32) -> Option<&'static Lnd> {
    NetType(u16::try_from(lnd).ok()?).lnd()
}

fn next_slot() -> *mut c_char {
    static RING: Ring = Ring([const { UnsafeCell::new([0; SLOT_SIZE]) }; SLOTS]);
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    RING.0[NEXT.fetch_add(1, Ordering::Relaxed) % SLOTS].get().cast()
}

struct Ring([UnsafeCell<[u8; SLOT_SIZE]>; SLOTS]);

// SAFETY: the library only hands out pointers to the slots, each to one caller until all others were
// handed out; who uses one is the callers' agreement, as in C.
unsafe impl Sync for Ring {}
