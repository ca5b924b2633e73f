//! `struct obd_import`.

use super::entry::{array, borrow, entry, name, store, store_process, text, until};
use super::process::{ObjectGuard, client};
use crate::client::{Import, ImportConfig, ImportState};
use crate::errno::Errno;
use crate::lnet::lnet_process_id;
use crate::message::portal::Portals;
use crate::message::{ConnectData, ConnectFlags, Opcode, Portal, Service};
use std::ffi::{c_char, c_int};
use std::sync::Arc;
use std::time::Duration;

/// The import behind a `struct obd_import *` of the program.
pub(super) struct ObdImport {
    pub(super) import: Arc<Import>,
    _guard: ObjectGuard,
}

/// `struct ptlrpc_import_conf`.
#[repr(C)]
struct CConf {
    target: *const c_char,
    client_uuid: *const c_char,
    servers: *const *const c_char,
    server_count: u32,
    kind: u32,
    request_portal: u32,
    reply_portal: u32,
    bulk_portal: u32,
    service_version: u32,
    connect_opcode: u32,
    disconnect_opcode: u32,
    max_mod_rpcs: u32,
    reserved: u32,
    connect_flags: u64,
    connect_flags2: u64,
}

/// The defaults of a kind of target.
pub(super) struct Kind {
    pub(super) portals: Portals,
    pub(super) bulk: Portal,
    pub(super) service: Service,
    connect: Opcode,
    disconnect: Opcode,
}

/// Indexed by `enum ptlrpc_kind`.
const KINDS: [Kind; 3] = [
    Kind {
        portals: Portals::OST,
        bulk: Portal::OST_BULK,
        service: Service::OST,
        connect: Opcode::OST_CONNECT,
        disconnect: Opcode::OST_DISCONNECT,
    },
    Kind {
        portals: Portals::MDS,
        bulk: Portal::MDS_BULK,
        service: Service::MDS,
        connect: Opcode::MDS_CONNECT,
        disconnect: Opcode::MDS_DISCONNECT,
    },
    Kind {
        portals: Portals::MGS,
        bulk: Portal::MGS_BULK,
        service: Service::MGS,
        connect: Opcode::MGS_CONNECT,
        disconnect: Opcode::MGS_DISCONNECT,
    },
];

/// The most servers of a target.
const MAX_SERVERS: usize = 64;

impl Kind {
    pub(super) fn of(number: u32) -> Result<&'static Self, Errno> {
        KINDS.get(number as usize).ok_or(Errno::INVALID)
    }
}

/// The given portal, or the default if it is 0.
pub(super) const fn portal(given: u32, default: Portal) -> Portal {
    if given == 0 { default } else { Portal(given) }
}

/// Converts the upper half of a protocol version; 0 stands for `default`. `EINVAL`: it has more than 16 bits.
pub(super) fn service(given: u32, default: Service) -> Result<Service, Errno> {
    match given {
        0 => Ok(default),
        _ => given.try_into().map(Service).map_err(|_| Errno::INVALID),
    }
}

/// Connect data with these flags and this number of slots; 0 is the default.
pub(super) fn connect_data(flags: u64, flags2: u64, max_mod_rpcs: u32) -> Result<ConnectData, Errno> {
    let default = ImportConfig::default_connect_data();
    let max_mod_rpcs = u16::try_from(max_mod_rpcs).map_err(|_| Errno::INVALID)?;
    let flags = ConnectFlags(u128::from(flags2) << 64 | u128::from(flags));
    Ok(ConnectData {
        flags: if flags == ConnectFlags::NONE { default.flags } else { flags },
        maxmodrpcs: if max_mod_rpcs == 0 { default.maxmodrpcs } else { max_mod_rpcs },
        ..default
    })
}

impl CConf {
    /// Reads the configuration of an import.
    ///
    /// # Safety
    /// The contract of the C API.
    unsafe fn read(&self) -> Result<ImportConfig, Errno> {
        let kind = Kind::of(self.kind)?;
        // SAFETY: this function's contract.
        let (target, client) = unsafe { (name(self.target)?, name(self.client_uuid)?) };
        // SAFETY: the same.
        let servers = unsafe { array(self.servers, self.server_count, MAX_SERVERS) }?;
        let servers = servers.iter().map(|server| {
            // SAFETY: the same.
            unsafe { text(*server) }.map(str::to_owned)
        });
        let opcode = |given, default| if given == 0 { default } else { Opcode(given) };
        let (connect, disconnect) =
            (opcode(self.connect_opcode, kind.connect), opcode(self.disconnect_opcode, kind.disconnect));
        let portals = Portals {
            request: portal(self.request_portal, kind.portals.request),
            reply: portal(self.reply_portal, kind.portals.reply),
        };
        let bulk_portal = portal(self.bulk_portal, kind.bulk);
        // PR-31: a request portal matches any message, replies and bulk data too.
        let is_right = ![portals.reply, bulk_portal].contains(&portals.request)
            && connect.is_connect()
            && disconnect.is_disconnect()
            && self.reserved == 0;
        if !is_right {
            return Err(Errno::INVALID);
        }
        Ok(ImportConfig {
            target,
            client,
            servers: servers.collect::<Result<_, _>>()?,
            portals,
            bulk_portal,
            service: service(self.service_version, kind.service)?,
            connect,
            disconnect,
            connect_data: connect_data(self.connect_flags, self.connect_flags2, self.max_mod_rpcs)?,
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_import_new(conf: *const CConf, import: *mut *mut ObdImport) -> c_int {
    entry("ptlrpc_import_new", || {
        // SAFETY: the contract of the C API.
        unsafe { store(import, std::ptr::null_mut()) }?;
        // SAFETY: the same.
        let config = unsafe { borrow(conf)?.read() }?;
        let made = ObdImport { import: client()?.import(config)?, _guard: ObjectGuard::new() };
        // SAFETY: the same. The program has it until `class_import_put`.
        unsafe { store(import, Box::into_raw(Box::new(made))) }.map(|()| 0)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn class_import_put(import: *mut ObdImport) {
    entry("class_import_put", || {
        if !import.is_null() {
            // SAFETY: by contract one that `ptlrpc_import_new` gave, and is not used any more.
            drop(unsafe { Box::from_raw(import) });
        }
        Ok(())
    });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_connect_import(import: *const ObdImport, timeout_ms: c_int) -> c_int {
    entry("ptlrpc_connect_import", || {
        // SAFETY: the contract of the C API.
        unsafe { borrow(import) }?.import.connect(until(timeout_ms)).map(|()| 0)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_disconnect_import(import: *const ObdImport, timeout_ms: c_int) -> c_int {
    entry("ptlrpc_disconnect_import", || {
        // SAFETY: the contract of the C API.
        let import = &unsafe { borrow(import) }?.import;
        let timeout = match u64::try_from(timeout_ms) {
            Ok(timeout) => Duration::from_millis(timeout),
            Err(_) => client()?.timeouts().fixed,
        };
        import.disconnect(timeout).map(|()| 0)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_import_state(import: *const ObdImport) -> c_int {
    entry("ptlrpc_import_state", || {
        // SAFETY: the contract of the C API.
        let state = unsafe { borrow(import) }?.import.state();
        Ok(match state {
            ImportState::New => 0,
            ImportState::Disconnected => 1,
            ImportState::Connecting => 2,
            ImportState::Full => 3,
            ImportState::Closed => 4,
        })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_import_handle(import: *const ObdImport, conn_cnt: *mut u32) -> u64 {
    entry("ptlrpc_import_handle", || {
        // SAFETY: the contract of the C API.
        let (handle, count) = unsafe { borrow(import) }?.import.handle();
        if !conn_cnt.is_null() {
            // SAFETY: the same.
            unsafe { store(conn_cnt, count) }?;
        }
        Ok(handle.0)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_import_peer(import: *const ObdImport, peer: *mut lnet_process_id) -> c_int {
    entry("ptlrpc_import_peer", || {
        // SAFETY: the contract of the C API.
        let found = unsafe { borrow(import) }?.import.peer().ok_or(Errno::NOT_CONNECTED)?;
        // SAFETY: the same.
        unsafe { store_process(peer, found.peer) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_obd_ping(import: *const ObdImport) -> c_int {
    entry("ptlrpc_obd_ping", || {
        // SAFETY: the contract of the C API.
        unsafe { borrow(import) }?.import.ping().map(|()| 0)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_rediscover(import: *const ObdImport) -> c_int {
    entry("ptlrpc_rediscover", || {
        // SAFETY: the contract of the C API.
        unsafe { borrow(import) }?.import.rediscover().map(|()| 0)
    })
}
