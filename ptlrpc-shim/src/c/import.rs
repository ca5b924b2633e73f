//! `struct obd_import`.

use super::entry::{entry, name, store_process, until};
use super::process::{ObjectGuard, client};
use crate::Errno;
use crate::client::{Import, ImportConfig, ImportState};
use crate::lnet::lnet_process_id;
use crate::message::portal::Portals;
use crate::message::{ConnectData, ConnectFlags, Opcode, Portal, Service};
use lnet_api::c_pointer::{In, Out, Owned, Text};
use std::ffi::c_int;
use std::sync::Arc;
use std::time::Duration;

/// The import behind a `struct obd_import *` of the program.
pub(super) struct ObdImport {
    pub(super) import: Arc<Import>,
    _guard: ObjectGuard,
}

/// `struct ptlrpc_import_conf`.
#[repr(C)]
struct CConf<'a> {
    target: Text<'a>,
    client_uuid: Text<'a>,
    servers: In<'a, Text<'a>>,
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
pub(super) struct TargetKind {
    pub(super) portals: Portals,
    pub(super) bulk: Portal,
    pub(super) service: Service,
    connect: Opcode,
    disconnect: Opcode,
}

/// Indexed by `enum ptlrpc_kind`.
const KINDS: [TargetKind; 3] = [
    TargetKind {
        portals: Portals::OST,
        bulk: Portal::OST_BULK,
        service: Service::OST,
        connect: Opcode::OST_CONNECT,
        disconnect: Opcode::OST_DISCONNECT,
    },
    TargetKind {
        portals: Portals::MDS,
        bulk: Portal::MDS_BULK,
        service: Service::MDS,
        connect: Opcode::MDS_CONNECT,
        disconnect: Opcode::MDS_DISCONNECT,
    },
    TargetKind {
        portals: Portals::MGS,
        bulk: Portal::MGS_BULK,
        service: Service::MGS,
        connect: Opcode::MGS_CONNECT,
        disconnect: Opcode::MGS_DISCONNECT,
    },
];

/// The most servers of a target.
const MAX_SERVERS: usize = 64;

impl TargetKind {
    pub(super) fn of(number: u32) -> Result<&'static Self, Errno> {
        KINDS.get(number as usize).ok_or(Errno::Invalid)
    }
}

/// The given portal, or the default if it is 0.
pub(super) const fn portal(given: u32, default: Portal) -> Portal {
    if given == 0 { default } else { Portal(given) }
}

/// Converts the upper half of a protocol version; 0 stands for `default`. `EINVAL` if it has more than 16 bits.
pub(super) fn service(given: u32, default: Service) -> Result<Service, Errno> {
    match given {
        0 => Ok(default),
        _ => given.try_into().map(Service).map_err(|_| Errno::Invalid),
    }
}

/// Connect data with these flags and this number of slots; 0 is the default.
pub(super) fn connect_data(flags: u64, flags2: u64, max_mod_rpcs: u32) -> Result<ConnectData, Errno> {
    let default = ImportConfig::default_connect_data();
    let max_mod_rpcs = u16::try_from(max_mod_rpcs).map_err(|_| Errno::Invalid)?;
    let flags = ConnectFlags(u128::from(flags2) << 64 | u128::from(flags));
    Ok(ConnectData {
        flags: if flags == ConnectFlags::NONE { default.flags } else { flags },
        maxmodrpcs: if max_mod_rpcs == 0 { default.maxmodrpcs } else { max_mod_rpcs },
        ..default
    })
}

impl CConf<'_> {
    /// Reads the configuration of an import.
    fn read(&self) -> Result<ImportConfig, Errno> {
        let kind = TargetKind::of(self.kind)?;
        let (target, client) = (name(self.target)?, name(self.client_uuid)?);
        // SAFETY: an array of the program's, which has as many strings as the structure says, unchanged during the call (`ptlrpc.h`).
        let servers = unsafe { self.servers.elements(self.server_count, MAX_SERVERS, Errno::Invalid) }?;
        let servers = servers.iter().map(|server| server.utf8_or(Errno::Invalid).map(str::to_owned));
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
            return Err(Errno::Invalid);
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
extern "C" fn ptlrpc_import_new(conf: In<'_, CConf<'_>>, mut import: Out<'_, *mut ObdImport>) -> c_int {
    entry("ptlrpc_import_new", || {
        import.store(std::ptr::null_mut(), Errno::Invalid)?;
        let config = conf.or(Errno::Invalid)?.read()?;
        let made = ObdImport { import: client()?.import(config)?, _guard: ObjectGuard::new() };
        import.store(Owned::give(made), Errno::Invalid).map(|()| 0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn class_import_put(import: Owned<ObdImport>) {
    entry("class_import_put", || import.take(Errno::Invalid).map(drop));
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_connect_import(import: In<'_, ObdImport>, timeout_ms: c_int) -> c_int {
    entry("ptlrpc_connect_import", || {
        import.or(Errno::Invalid)?.import.connect(until(timeout_ms)).map(|()| 0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_disconnect_import(import: In<'_, ObdImport>, timeout_ms: c_int) -> c_int {
    entry("ptlrpc_disconnect_import", || {
        let import = &import.or(Errno::Invalid)?.import;
        let timeout = match u64::try_from(timeout_ms) {
            Ok(timeout) => Duration::from_millis(timeout),
            Err(_) => client()?.timeouts().fixed,
        };
        import.disconnect(timeout).map(|()| 0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_import_state(import: In<'_, ObdImport>) -> c_int {
    entry("ptlrpc_import_state", || {
        let state = import.or(Errno::Invalid)?.import.state();
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
extern "C" fn ptlrpc_import_handle(import: In<'_, ObdImport>, mut conn_cnt: Out<'_, u32>) -> u64 {
    entry("ptlrpc_import_handle", || {
        let (handle, count) = import.or(Errno::Invalid)?.import.handle();
        conn_cnt.store_if_wanted(count);
        Ok(handle.0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_import_peer(import: In<'_, ObdImport>, peer: Out<'_, lnet_process_id>) -> c_int {
    entry("ptlrpc_import_peer", || {
        let found = import.or(Errno::Invalid)?.import.peer().ok_or(Errno::NotConnected)?;
        store_process(peer, found.peer)
    })
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_obd_ping(import: In<'_, ObdImport>) -> c_int {
    entry("ptlrpc_obd_ping", || import.or(Errno::Invalid)?.import.ping().map(|()| 0))
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_rediscover(import: In<'_, ObdImport>) -> c_int {
    entry("ptlrpc_rediscover", || import.or(Errno::Invalid)?.import.rediscover().map(|()| 0))
}
