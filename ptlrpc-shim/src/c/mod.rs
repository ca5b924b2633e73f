//! The C face. `include/ptlrpc/ptlrpc.h` is its manual: what each function does, and what its caller promises. This is how it is
//! done.
//!
//! | file | holds |
//! |---|---|
//! | `entry` | how calls come in: no panic gets out, no pointer is believed that is NULL |
//! | `process` | up and down, and the NIDs of servers |
//! | `import` | `struct obd_import` |
//! | `request` | `struct ptlrpc_request`: of the client's side |
//! | `set` | `struct ptlrpc_request_set` |
//! | `service` | `struct ptlrpc_service` |
//! | `service_request` | `struct ptlrpc_svc_req`: of the server's side |
//!
//! **Contract.** Of every pointer that a C program passes, the functions here rely on what the header demands: an object is one that
//! this library gave and that has not been given back; a structure, string or array is readable, and stays as it is during the
//! call; memory for bulk data is the library's until the header says that it is the caller's again; a callback may be called on the
//! threads that the header names.

mod entry;
mod import;
mod process;
mod request;
mod service;
mod service_request;
mod set;
