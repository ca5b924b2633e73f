//! libibverbs and librdmacm, loaded when the first interface of this kind is added: nothing is linked, so that the library serves
//! machines without RDMA as well.

use super::ffi::{
    ibv_async_event, ibv_comp_channel, ibv_context, ibv_cq, ibv_device, ibv_device_attr, ibv_gid, ibv_mr,
    ibv_pd, ibv_port_attr, ibv_qp_init_attr, rdma_cm_event, rdma_cm_id, rdma_conn_param, rdma_event_channel,
};
use crate::device::OpenError;
use libc::{c_char, c_int, c_void, sockaddr};
use libloading::Library;
use std::sync::OnceLock;

/// Declares the functions of the libraries, and loads them by their names.
macro_rules! functions {
    ($($library:ident: { $($name:ident: fn($($arg:ty),*) $(-> $result:ty)?;)* })*) => {
        /// The functions of the libraries, which stay loaded until the process ends.
        pub(super) struct Functions {
            $($(pub(super) $name: unsafe extern "C" fn($($arg),*) $(-> $result)?,)*)*
            _libraries: Vec<Library>,
        }

        impl Functions {
            fn load() -> Result<Self, OpenError> {
                $(let $library = load(stringify!($library))?;)*
                $($(
                    // SAFETY: the type is that of the C header (`layout_tests` compares what it is made of), and the library stays
                    // loaded as long as the function is known.
                    let $name = unsafe { $library.1.get(concat!(stringify!($name), "\0").as_bytes()) }.map(|symbol| *symbol)
                        .map_err(|_| OpenError::NoFunction { library: $library.0, function: stringify!($name) })?;
                )*)*
                Ok(Self { $($($name,)*)* _libraries: vec![$($library.1),*] })
            }
        }
    };
}

functions! {
    libibverbs: {
        ibv_get_device_list: fn(*mut c_int) -> *mut *mut ibv_device;
        ibv_free_device_list: fn(*mut *mut ibv_device);
        ibv_get_device_name: fn(*mut ibv_device) -> *const c_char;
        ibv_open_device: fn(*mut ibv_device) -> *mut ibv_context;
        ibv_close_device: fn(*mut ibv_context) -> c_int;
        ibv_fork_init: fn() -> c_int;
        ibv_query_device: fn(*mut ibv_context, *mut ibv_device_attr) -> c_int;
        ibv_query_port: fn(*mut ibv_context, u8, *mut ibv_port_attr) -> c_int;
        ibv_query_gid: fn(*mut ibv_context, u8, c_int, *mut ibv_gid) -> c_int;
        ibv_port_state_str: fn(c_int) -> *const c_char;
        ibv_get_async_event: fn(*mut ibv_context, *mut ibv_async_event) -> c_int;
        ibv_ack_async_event: fn(*mut ibv_async_event);
        ibv_alloc_pd: fn(*mut ibv_context) -> *mut ibv_pd;
        ibv_dealloc_pd: fn(*mut ibv_pd) -> c_int;
        ibv_reg_mr: fn(*mut ibv_pd, *mut c_void, usize, c_int) -> *mut ibv_mr;
        ibv_dereg_mr: fn(*mut ibv_mr) -> c_int;
        ibv_create_comp_channel: fn(*mut ibv_context) -> *mut ibv_comp_channel;
        ibv_destroy_comp_channel: fn(*mut ibv_comp_channel) -> c_int;
        ibv_create_cq: fn(*mut ibv_context, c_int, *mut c_void, *mut ibv_comp_channel, c_int) -> *mut ibv_cq;
        ibv_destroy_cq: fn(*mut ibv_cq) -> c_int;
        ibv_get_cq_event: fn(*mut ibv_comp_channel, *mut *mut ibv_cq, *mut *mut c_void) -> c_int;
        ibv_ack_cq_events: fn(*mut ibv_cq, u32);
    }
    librdmacm: {
        rdma_create_event_channel: fn() -> *mut rdma_event_channel;
        rdma_destroy_event_channel: fn(*mut rdma_event_channel);
        rdma_create_id: fn(*mut rdma_event_channel, *mut *mut rdma_cm_id, *mut c_void, c_int) -> c_int;
        rdma_destroy_id: fn(*mut rdma_cm_id) -> c_int;
        rdma_set_option: fn(*mut rdma_cm_id, c_int, c_int, *mut c_void, usize) -> c_int;
        rdma_bind_addr: fn(*mut rdma_cm_id, *mut sockaddr) -> c_int;
        rdma_resolve_addr: fn(*mut rdma_cm_id, *mut sockaddr, *mut sockaddr, c_int) -> c_int;
        rdma_resolve_route: fn(*mut rdma_cm_id, c_int) -> c_int;
        rdma_create_qp: fn(*mut rdma_cm_id, *mut ibv_pd, *mut ibv_qp_init_attr) -> c_int;
        rdma_destroy_qp: fn(*mut rdma_cm_id);
        rdma_connect: fn(*mut rdma_cm_id, *mut rdma_conn_param) -> c_int;
        rdma_listen: fn(*mut rdma_cm_id, c_int) -> c_int;
        rdma_accept: fn(*mut rdma_cm_id, *mut rdma_conn_param) -> c_int;
        rdma_reject: fn(*mut rdma_cm_id, *const c_void, u8) -> c_int;
        rdma_disconnect: fn(*mut rdma_cm_id) -> c_int;
        rdma_get_cm_event: fn(*mut rdma_event_channel, *mut *mut rdma_cm_event) -> c_int;
        rdma_ack_cm_event: fn(*mut rdma_cm_event) -> c_int;
    }
}

/// The functions of the libraries. They are loaded once for the process; libraries that were missing are looked for again, as they may
/// have been installed since.
pub(super) fn functions() -> Result<&'static Functions, OpenError> {
    static FUNCTIONS: OnceLock<Functions> = OnceLock::new();
    if let Some(functions) = FUNCTIONS.get() {
        return Ok(functions);
    }
    let loaded = Functions::load()?;
    Ok(FUNCTIONS.get_or_init(|| loaded))
}

fn load(library: &str) -> Result<(&'static str, Library), OpenError> {
    let name = match library {
        "libibverbs" => "libibverbs.so.1",
        _ => "librdmacm.so.1",
    };
    // SAFETY: the initialisers of these libraries allocate memory, and read their configuration.
    let loaded = unsafe { Library::new(name) };
    let library = loaded.map_err(|error| OpenError::NoLibrary { library: name, why: error.to_string() })?;
    Ok((name, library))
}
