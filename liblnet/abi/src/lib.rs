//! liblnet: the C API of LNet, and nothing else.
//!
//! One module for each family of functions; a C function `LNetPut` is `_LNetPut` here (see `build.rs`).
//! `exported.rs`, beside `src`, lists every one of them. Their contracts are the documentation of the C headers, which
//! are generated from it; all `unsafe` of the C boundary is in this crate.
//!
//! | module | functions |
//! | --- | --- |
//! | `ni` | `LNetNIInit` `LNetNIFini` `LNetGetId` `LNetDist` |
//! | `peer` | `LNetPrimaryNID` `LNetAddPeer` `LNetPeerDiscovered` `LNetGetPeerDiscoveryStatus` `LNetDebugPeer` |
//! | `me` | `LNetMEAttach` `LNetMEInsert` `LNetMEUnlink` |
//! | `md` | `LNetMDAttach` `LNetMDBind` `LNetMDUnlink` |
//! | `memory` | `LNetMemAlloc` `LNetMemFree` |
//! | `eq` | `LNetEQAlloc` `LNetEQFree` `LNetEQGet` `LNetEQWait` `LNetEQPoll` |
//! | `data` | `LNetPut` `LNetGet` |
//! | `portal` | `LNetSetLazyPortal` `LNetClearLazyPortal` |
//! | `claim` | `LNetClaimBits` `LNetReleaseBits` |
//! | `error_text` | `LNetErrorText` |
//! | `ctl` | `LNetCtl` `l_ioctl` `register_ioc_dev` `lnet_counters_get` |
//! | `cpt` | `cfs_cpt_*`, `lnet_cpt_*`: CPU partitions |
//! | `nidstr` | `libcfs_*`: NIDs as strings |
//! | `nidlist` | `cfs_*nid*`: lists of NIDs |
//! | `expression` | `cfs_expr_list_*`, `cfs_ip_addr_*` |
//! | `string` | `cfs_gettok` and other helpers |
//! | `cyaml` | `cYAML_*`: YAML as a tree |
//! | `parser` | `Parser_*`: command lines |
//! | `dlc` | `lustre_lnet_*`, `lustre_yaml_*`: configuration |
//! | `v2_15`, `v2_17` | the forms of functions that these releases of Lustre have and 2.10 has not |
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]
// The safety contract of a C function is its C documentation.
#![allow(clippy::missing_safety_doc)]

pub mod claim;
pub mod cpt;
pub mod ctl;
pub mod cyaml;
pub mod data;
pub mod dlc;
pub mod eq;
pub mod error_text;
pub mod expression;
pub mod md;
pub mod me;
pub mod memory;
mod memory_pool;
pub mod ni;
pub mod nidlist;
pub mod nidstr;
pub mod parser;
pub mod peer;
pub mod portal;
pub mod string;
pub mod types;
pub mod v2_15;
pub mod v2_17;

mod backend;
mod entry;
mod event;
mod list;
mod udsp_bytes;

pub use backend::{Adopted, adopt};
