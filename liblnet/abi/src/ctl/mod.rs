//! The control call `LNetCtl`: commands with the numbers of the kernel's `ioctl` (c-abi 5).
//!
//! Commands that the control socket accepts too are carried out in the same way as from there: [`dlc`] converts the
//! structure to a request, and stores the reply in the structure.

mod argument;
mod dlc;
mod fault;
mod selection;
pub(crate) mod udsp;

use self::argument::Argument;
use crate::backend;
use crate::entry::{entry, not_null};
use crate::ni::nid_to_c;
use crate::types::{
    libcfs_ioctl_data, lnet_counters, lnet_ioctl_lnet_stats, lnet_ioctl_ping_data, lnet_process_id,
};
use lnet_core::Errno;
use lnet_dlc::request::{self, Discovered, DistanceResponse, LnetStats};
use lnet_dlc::{Backend, Request};
use lnet_node::PingRequest;
use lnet_wire::{Nid, Pid, ProcessId};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::NonNull;
use std::time::{Duration, SystemTime};

/// The number of `/dev/lnet` among the devices of `l_ioctl`.
const LNET_DEV_ID: c_int = 0;
/// The longest wait, and the most NIDs, of `IOC_LIBCFS_PING`.
const PING_MAX: Duration = Duration::from_secs(120);
const PING_MAX_IDS: u32 = 20;
const PROCESS_ID_SIZE: u32 = size_of::<lnet_process_id>() as u32;

/// Sends a command or a query to the node. cmd is an IOC_LIBCFS_* number, arg its argument,
/// which starts with a struct libcfs_ioctl_hdr; results are stored in it. IOC_LIBCFS_LNET_FAULT may leave the header
/// and the lengths of its buffers zero.
///
/// Returns 0. Errors: -EINVAL (unknown command; wrong header, length or content), -EOPNOTSUPP (a command
/// that this library does not have), -ENOENT (past the end of a list), and the errors of the command. Must not be called
/// from an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetCtl(cmd: c_uint, arg: *mut c_void) -> c_int {
    entry("LNetCtl", || {
        backend::control()?;
        let command = Command::parse(cmd)?;
        let arg = not_null(arg)?;
        // SAFETY: checked for NULL; an argument of the program's, with the header, and as many bytes as it says, or for this command a whole structure;
        // for the call to read and write.
        let argument = unsafe {
            match Argument::without_header(arg).filter(|_| command == Command::Fault) {
                Some(argument) => argument,
                None => Argument::parse(arg)?,
            }
        };
        command.run(argument).map(|()| 0)
    })
}

/// Does the same as ioctl on the device /dev/lnet (dev_id LNET_DEV_ID), but for the node of this process: LNetCtl.
/// Returns 0; -1 with errno set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _l_ioctl(dev_id: c_int, opc: c_uint, buf: *mut c_void) -> c_int {
    let rc = match dev_id {
        // SAFETY: the argument of the program's, as `LNetCtl` takes it.
        LNET_DEV_ID => unsafe { _LNetCtl(opc, buf) },
        _ => -libc::ENODEV,
    };
    if rc >= 0 {
        return rc;
    }
    // SAFETY: the address of this thread's errno, always valid.
    unsafe { *libc::__errno_location() = -rc };
    -1
}

/// Declares the file of a device of l_ioctl. There are no such files here: returns 0 and does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _register_ioc_dev(
    dev_id: c_int,
    dev_name: *const c_char,
    major: c_int,
    minor: c_int,
) -> c_int {
    let _ = (dev_id, dev_name, major, minor);
    0
}

/// Ends register_ioc_dev. Does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _unregister_ioc_dev(dev_id: c_int) {
    let _ = dev_id;
}

/// Stores the counters of the node in *counters; zeros while the network is down.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lnet_counters_get(counters: *mut lnet_counters) {
    entry("lnet_counters_get", || {
        let counters = not_null(counters)?;
        let now = backend::control().and_then(|node| counters_of(&*node)).unwrap_or_default();
        // SAFETY: checked for NULL; a variable of the program's, which the call may write until it returns.
        unsafe { counters.write(now) };
        Ok(())
    });
}

/// The way in which a command is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Command {
    GetNi,
    FailNid,
    NotifyRouter,
    Distance,
    Ping,
    PingPeer,
    Fault,
    Discover,
    GetStats,
    Dlc(dlc::Command),
}

impl Command {
    /// Reads the number that C passes, whose upper half has a size: 8 up to command 80, 184 after.
    fn parse(cmd: u32) -> Result<Self, Errno> {
        let number = cmd & 0xff;
        let size = if number <= 80 { 8 } else { 184 };
        if cmd != 0xc000_0000 | size << 16 | u32::from(b'e') << 8 | number {
            return Err(Errno::Invalid);
        }
        Ok(match number {
            50 => Self::GetNi,
            51 => Self::FailNid,
            55 => Self::NotifyRouter,
            58 => Self::Distance,
            61 => Self::Ping,
            62 => Self::PingPeer,
            64 => Self::Fault,
            77 => Self::Discover,
            91 => Self::GetStats,
            _ => match dlc::Command::numbered(number) {
                Some(command) => Self::Dlc(command),
                None => {
                    return Err(match number {
                        60 | 63 | 70..=112 => Errno::NotSupported,
                        _ => Errno::Invalid,
                    });
                }
            },
        })
    }

    fn run(self, argument: Argument) -> Result<(), Errno> {
        let node: &dyn Backend = &*backend::control()?;
        match self {
            Self::GetNi => get_ni(node, argument.data()?),
            Self::FailNid => fail_nid(node, argument.data()?),
            Self::NotifyRouter => notify_router(node, argument.data()?),
            Self::Distance => distance(node, argument.data()?),
            Self::Ping => ping(argument.data()?),
            Self::PingPeer => ping_peer(argument.at_least()?),
            Self::Fault => fault::run(node, argument.data()?),
            Self::Discover => discover(node, argument.at_least()?),
            Self::GetStats => {
                let stats: &mut lnet_ioctl_lnet_stats = argument.at_least()?;
                stats.st_cntrs = counters_of(node)?;
                Ok(())
            }
            Self::Dlc(command) => command.run(node, argument),
        }
    }
}

fn get_ni(node: &dyn Backend, data: &mut libcfs_ioctl_data) -> Result<(), Errno> {
    let own: ProcessId = node.ask(Request::GetNi(data.ioc_count))?;
    data.ioc_nid = nid_to_c(Some(own.nid));
    Ok(())
}

fn fail_nid(node: &dyn Backend, data: &mut libcfs_ioctl_data) -> Result<(), Errno> {
    node.tell(Request::FailNid(Nid::from_u64(data.ioc_nid), data.ioc_count))
}

/// Marks a peer NI as alive, if the flag is not 0, or as down since a time in seconds since 1970 that is not in the future.
fn notify_router(node: &dyn Backend, data: &mut libcfs_ioctl_data) -> Result<(), Errno> {
    let nid = Nid::from_u64(data.ioc_nid).ok_or(Errno::Invalid)?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    if data.ioc_u64[0] > now.as_secs() {
        return Err(Errno::Invalid);
    }
    node.tell(Request::NotifyRouter(request::NetNotice { nid, alive: data.ioc_flags != 0 }))
}

/// Stores the distance. If there is no path, that is the result and not an error.
fn distance(node: &dyn Backend, data: &mut libcfs_ioctl_data) -> Result<(), Errno> {
    let nid = Nid::from_u64(data.ioc_nid).ok_or(Errno::HostUnreachable);
    match nid.and_then(|nid| node.ask::<DistanceResponse>(Request::LnetDist(nid))) {
        Ok(distance) => {
            data.ioc_nid = nid_to_c(Some(distance.source));
            data.ioc_u32[0] = distance.hops;
            data.ioc_u32[1] = distance.order;
            Ok(())
        }
        Err(Errno::HostUnreachable) => {
            data.ioc_u32[0] = Errno::HostUnreachable.to_c() as u32;
            Ok(())
        }
        Err(other) => Err(other),
    }
}

fn ping(data: &mut libcfs_ioctl_data) -> Result<(), Errno> {
    let target = lnet_process_id { nid: data.ioc_nid, pid: data.ioc_u32[0] };
    let room = NonNull::new(data.ioc_pbuf1.cast::<lnet_process_id>()).ok_or(Errno::Fault)?;
    let response = ask(target, data.ioc_u32[1], data.ioc_plen1 / PROCESS_ID_SIZE)?;
    data.ioc_count = store(&response.ids, room, data.ioc_plen1 / PROCESS_ID_SIZE);
    Ok(())
}

fn ping_peer(data: &mut lnet_ioctl_ping_data) -> Result<(), Errno> {
    let room = NonNull::new(data.ping_buf).ok_or(Errno::Fault)?;
    let response = ask(data.ping_id, data.op_param, data.ping_count)?;
    data.ping_count = store(&response.ids, room, data.ping_count);
    data.mr_info = response.multi_rail.into();
    Ok(())
}

/// Discovers a node. The errno is that of the step that failed. NIDs beyond the given number are not stored, and not counted.
fn discover(node: &dyn Backend, data: &mut lnet_ioctl_ping_data) -> Result<(), Errno> {
    let room = NonNull::new(data.ping_buf).ok_or(Errno::Fault)?;
    if data.ping_count == 0 {
        return Err(Errno::Invalid);
    }
    let nid = Nid::from_u64(data.ping_id.nid).ok_or(Errno::Invalid)?;
    let target = ProcessId { nid, pid: Pid(data.ping_id.pid) };
    let ask = request::Discover { target, force: data.op_param != 0, max_nids: data.ping_count };
    let response = match node.ask(Request::Discover(ask))? {
        Discovered::Found { response, .. } => response,
        Discovered::Failed(failure) => return Err(failure.errno),
    };
    let id = |nid: &Nid| Some(lnet_process_id { nid: nid.to_u64()?, pid: response.pid });
    let ids: Vec<lnet_process_id> = response.nids.iter().filter_map(id).collect();
    data.ping_id = id(&response.primary).ok_or(Errno::Overflow)?;
    data.ping_count = store(&ids, room, data.ping_count);
    data.mr_info = response.multi_rail.into();
    Ok(())
}

/// The result of a ping.
struct Response {
    ids: Vec<lnet_process_id>,
    multi_rail: bool,
}

/// Pings a node; with a negative number of milliseconds it waits without limit.
fn ask(target: lnet_process_id, milliseconds: u32, room: u32) -> Result<Response, Errno> {
    let timeout = u64::try_from(milliseconds as i32).ok().map(Duration::from_millis);
    if timeout.is_some_and(|timeout| timeout > PING_MAX) || !(1..=PING_MAX_IDS).contains(&room) {
        return Err(Errno::Invalid);
    }
    let nid = Nid::from_u64(target.nid).ok_or(Errno::Invalid)?;
    let target = ProcessId { nid, pid: Pid(target.pid) };
    let request = PingRequest { target, source: None, max_entries: room, timeout };
    let info = backend::with(|node| node.ping(request))?;
    let nids = std::iter::once(Nid::LOOPBACK).chain(info.nids);
    // A NID that does not fit into C's eight bytes is left out.
    let ids = nids.filter_map(|nid| Some(lnet_process_id { nid: nid.to_u64()?, pid: info.pid }));
    Ok(Response { ids: ids.collect(), multi_rail: info.multi_rail })
}

/// Stores as many ids as there is space for; returns the number of all.
fn store(ids: &[lnet_process_id], to: NonNull<lnet_process_id>, room: u32) -> u32 {
    for (i, id) in ids.iter().take(room as usize).enumerate() {
        // SAFETY: the program's, for the call to write, with room for `room` of them, as the argument says.
        unsafe { to.add(i).write_unaligned(*id) };
    }
    ids.len().min(room as usize) as u32
}

/// The counters of a node. The counts in C are 32 bits wide and wrap.
fn counters_of(node: &dyn Backend) -> Result<lnet_counters, Errno> {
    let stats: Box<LnetStats> = node.ask(Request::GetLnetStats)?;
    Ok(lnet_counters {
        msgs_alloc: stats.msgs_alloc as u32,
        msgs_max: stats.msgs_max as u32,
        errors: stats.errors as u32,
        send_count: stats.send_count as u32,
        recv_count: stats.recv_count as u32,
        drop_count: stats.drop_count as u32,
        send_length: stats.send_length,
        recv_length: stats.recv_length,
        drop_length: stats.drop_length,
        ..lnet_counters::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_identified_by_their_whole_number() {
        let cases = [
            (0xc008_6532, Ok(Command::GetNi)),
            (0xc008_6537, Ok(Command::NotifyRouter)),
            (0xc008_653d, Ok(Command::Ping)),
            (0xc008_6540, Ok(Command::Fault)),
            (0xc008_654d, Ok(Command::Discover)),
            (0xc0b8_655b, Ok(Command::GetStats)),
            (0xc0b8_6563, Ok(Command::Dlc(dlc::Command::GetNumaRange))),
            (0xc0b8_6551, Ok(Command::Dlc(dlc::Command::AddRoute))),
            (0xc0b8_6567, Err(Errno::NotSupported)),
            (0xc0b8_6532, Err(Errno::Invalid)),
            (0xc008_6632, Err(Errno::Invalid)),
            (0xc0b8_6571, Err(Errno::Invalid)),
            (0, Err(Errno::Invalid)),
        ];
        for (number, expected) in cases {
            assert_eq!(Command::parse(number), expected, "{number:#x}");
        }
    }
}
