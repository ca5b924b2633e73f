//! `struct ptlrpc_service`.

use super::entry::{entry, ms, name};
use super::import::{TargetKind, connect_data, portal, service};
use super::process::{ObjectGuard, client};
use super::service_request::{Handle, Program};
use crate::Errno;
use crate::message::{Name, Opcode};
use crate::service::{Adaptive, Service, ServiceConfig, Target, Targets};
use lnet_api::c_pointer::{In, Out, Owned, Text};
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

/// The service behind a `struct ptlrpc_service *` of the program.
pub(super) struct PtlrpcService {
    service: Service,
    targets: Arc<Targets>,
    by_name: ByName,
    _guard: ObjectGuard,
}

type ByName = HashMap<Name, Arc<Target>>;

/// `struct ptlrpc_service_conf`.
#[repr(C)]
struct CConf<'a> {
    name: Text<'a>,
    targets: In<'a, Text<'a>>,
    target_count: u32,
    kind: u32,
    same_targets_as: In<'a, PtlrpcService>,
    opcodes: In<'a, u32>,
    opcode_count: u32,
    request_portal: u32,
    reply_portal: u32,
    bulk_portal: u32,
    service_version: u32,
    threads: u32,
    buffers: u32,
    buffers_limit: u32,
    buffer_size: u32,
    max_request: u32,
    max_reply: u32,
    max_mod_rpcs: u32,
    at_min_ms: u32,
    at_max_ms: u32,
    at_extra_ms: u32,
    at_early_margin_ms: u32,
    at_history_ms: u32,
    longest_timeout_ms: u32,
    evict_unresponsive_after_ms: u32,
    stop_timeout_ms: u32,
    flags: u32,
    reserved: u32,
    connect_flags: u64,
    connect_flags2: u64,
}

const NO_EARLY_REPLIES: u32 = 1;
const NO_REPLY_FALLBACK: u32 = 2;

/// The most targets, and the most operations, of a service.
const MAX_NAMED: usize = 4096;

/// `struct ptlrpc_service_counts`.
#[repr(C)]
struct CCounts {
    arrived: u64,
    served: u64,
    refused: u64,
    answered_again: u64,
    dropped: u64,
    early_replies: u64,
    replies_failed: u64,
    replies_again: u64,
    bulk_failed: u64,
    buffers_posted: u64,
    evicted: u64,
    connected: u64,
}

impl CConf<'_> {
    /// Reads the configuration of a service.
    fn read(&self) -> Result<ServiceConfig, Errno> {
        let kind = TargetKind::of(self.kind)?;
        let name = if self.name.get().is_none() { "ptlrpc" } else { self.name.utf8_or(Errno::Invalid)? };
        if self.flags & !(NO_EARLY_REPLIES | NO_REPLY_FALLBACK) != 0 || self.reserved != 0 {
            return Err(Errno::Invalid);
        }
        let default =
            ServiceConfig::new(name, kind.portals, kind.bulk, service(self.service_version, kind.service)?);
        let number = |given: u32, default: usize| if given == 0 { default } else { given as usize };
        let time = |given, default: Duration| ms(given).unwrap_or(default);
        let buffers = number(self.buffers, default.buffers);
        let adaptive = Adaptive {
            at_min: time(self.at_min_ms, default.adaptive.at_min),
            at_max: match self.flags & NO_EARLY_REPLIES {
                0 => time(self.at_max_ms, default.adaptive.at_max),
                _ => Duration::ZERO,
            },
            at_extra: time(self.at_extra_ms, default.adaptive.at_extra),
            at_early_margin: time(self.at_early_margin_ms, default.adaptive.at_early_margin),
            at_history: time(self.at_history_ms, default.adaptive.at_history),
        };
        Ok(ServiceConfig {
            request_portal: portal(self.request_portal, default.request_portal),
            reply_portal: portal(self.reply_portal, default.reply_portal),
            bulk_portal: portal(self.bulk_portal, default.bulk_portal),
            buffer_size: number(self.buffer_size, default.buffer_size),
            max_request: if self.max_request == 0 { default.max_request } else { self.max_request },
            max_reply: number(self.max_reply, default.max_reply),
            buffers,
            buffers_limit: number(self.buffers_limit, default.buffers_limit.max(4 * buffers)),
            threads: number(self.threads, default.threads),
            adaptive,
            longest_timeout: time(self.longest_timeout_ms, default.longest_timeout),
            reply_fallback: self.flags & NO_REPLY_FALLBACK == 0,
            evict_unresponsive_after: ms(self.evict_unresponsive_after_ms),
            stop_timeout: time(self.stop_timeout_ms, default.stop_timeout),
            ..default
        })
    }

    /// Returns the targets of this configuration, and those of the service that shares them.
    fn targets(&self) -> Result<(Arc<Targets>, ByName), Errno> {
        let (targets, mut by_name) = match self.same_targets_as.get() {
            Some(other) => (Arc::clone(&other.targets), other.by_name.clone()),
            None => (Targets::new(seed()), HashMap::new()),
        };
        let data = connect_data(self.connect_flags, self.connect_flags2, self.max_mod_rpcs)?;
        // SAFETY: an array of the program's, which has as many strings as the structure says, unchanged during the call (`ptlrpc.h`).
        for target in unsafe { self.targets.elements(self.target_count, MAX_NAMED, Errno::Invalid) }? {
            let target = name(*target)?;
            by_name.insert(target, targets.add(target, data)?);
        }
        if by_name.is_empty() { Err(Errno::Invalid) } else { Ok((targets, by_name)) }
    }
}

/// A different one each time, which cannot be guessed: the standard library seeds its hashers from the system's randomness.
fn seed() -> u64 {
    RandomState::new().hash_one(0_u8)
}

/// # Safety
/// Several threads at once may call `handler` with `argument`, until the service is unregistered.
#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_register_service(
    conf: In<'_, CConf<'_>>,
    handler: Option<Handle>,
    argument: *mut c_void,
    mut made: Out<'_, *mut PtlrpcService>,
) -> c_int {
    entry("ptlrpc_register_service", || {
        made.store(std::ptr::null_mut(), Errno::Invalid)?;
        let handler = handler.ok_or(Errno::Invalid)?;
        let conf = conf.or(Errno::Invalid)?;
        let config = conf.read()?;
        // SAFETY: an array of the program's, which has as many numbers as the structure says, unchanged during the call (`ptlrpc.h`).
        let opcodes = unsafe { conf.opcodes.elements(conf.opcode_count, MAX_NAMED, Errno::Invalid) }?;
        let client = client()?;
        let (targets, by_name) = conf.targets()?;
        let opcodes = (!opcodes.is_empty()).then(|| opcodes.iter().copied().map(Opcode).collect());
        let program = Arc::new(Program::new(handler, argument, opcodes));
        let service = Service::start(client.node(), &targets, config, program)?;
        let service = PtlrpcService { service, targets, by_name, _guard: ObjectGuard::new() };
        made.store(Owned::give(service), Errno::Invalid).map(|()| 0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_unregister_service(service: Owned<PtlrpcService>) -> c_int {
    entry("ptlrpc_unregister_service", || {
        let stopped = service.or(Errno::Invalid)?.service.stop();
        if stopped != Err(Errno::Busy) {
            drop(service.take(Errno::Invalid)?);
        }
        stopped.map(|()| 0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_commit(service: In<'_, PtlrpcService>, target: Text<'_>, transno: u64) -> c_int {
    entry("ptlrpc_commit", || {
        let (service, target) = (service.or(Errno::Invalid)?, name(target)?);
        service.by_name.get(&target).ok_or(Errno::NotFound)?.commit(transno);
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_evict_client(service: In<'_, PtlrpcService>, uuid: Text<'_>) -> c_int {
    entry("ptlrpc_evict_client", || {
        let (service, client) = (service.or(Errno::Invalid)?, name(uuid)?);
        Ok(service.targets.evict(&client).try_into().unwrap_or(c_int::MAX))
    })
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_service_counts(service: In<'_, PtlrpcService>, mut counts: Out<'_, CCounts>) -> c_int {
    entry("ptlrpc_service_counts", || {
        let service = service.or(Errno::Invalid)?;
        let now = service.service.counts();
        let c_counts = CCounts {
            arrived: now.arrived,
            served: now.served,
            refused: now.refused,
            answered_again: now.answered_again,
            dropped: now.dropped_total(),
            early_replies: now.early_replies,
            replies_failed: now.replies_failed,
            replies_again: now.replies_again,
            bulk_failed: now.bulk_failed,
            buffers_posted: now.buffers_posted,
            evicted: now.evicted,
            connected: service.targets.exports().len() as u64,
        };
        counts.store(c_counts, Errno::Invalid).map(|()| 0)
    })
}
