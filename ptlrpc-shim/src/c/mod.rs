//! The C API. `include/ptlrpc/ptlrpc.h` documents what each function does, and what its caller guarantees.
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
//! **Contract of the C API.** The functions rely on what the header demands of pointers: an object was returned by this library and
//! has not been released; a structure, string or array is readable and unchanged during the call; memory for bulk data is not
//! accessed by the program until the header permits it; a callback may be called on the threads that the header names.

mod entry;
mod import;
mod process;
mod request;
mod service;
mod service_request;
mod set;
