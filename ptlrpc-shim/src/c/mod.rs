//! The C API. `include/ptlrpc/ptlrpc.h` documents each function, and the guarantees of its caller.
//!
//! | file | holds |
//! |---|---|
//! | `entry` | entry points: panics, pointers, memory |
//! | `process` | start and end, and servers by UUID |
//! | `import` | `struct obd_import` |
//! | `request` | `struct ptlrpc_request`: a request of a client |
//! | `set` | `struct ptlrpc_request_set` |
//! | `service` | `struct ptlrpc_service` |
//! | `service_request` | `struct ptlrpc_svc_req`: a request to a service |
//!
//! **Contract of the C API.** The contract is that of the types of the arguments (`lnet_api::c_pointer`): an object was
//! returned by this library and has not been released; a structure or string is readable and unchanged during the call.
//! Functions that rely on more, the length of an array or memory for bulk data, document it. A callback may be called on the
//! threads that the header names.

mod entry;
mod import;
mod process;
mod request;
mod service;
mod service_request;
mod set;
