//! A running LNet node: the core with its drivers, its threads and its start configuration.
#![deny(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod attach_server;
mod claims;
mod clock;
mod control;
pub mod control_server;
mod core_threads;
mod cpt;
mod driver_configs;
mod drivers;
mod environment;
mod links;
mod named_socket;
mod ni_starter;
mod node;
mod peer_description;
mod ping;
mod placement;
mod running_drivers;
mod start;
mod start_config;
mod sysfs;
mod tunables;
mod wait;
mod waiting;

pub use attach_server::{AttachConfig, AttachServer};
pub use control_server::{ControlConfig, ControlServer, SharedBackend};
pub use driver_configs::DriverConfigs;
pub use environment::{CONFIGURATION, variable_prefixes, warn_of_unknown_variables};
pub use links::host_subnets::{MisroutedAddress, misrouted_addresses};
pub use links::subnet::ip_program;
pub use node::Node;
pub use peer_description::describe_peer;
pub use ping::PingRequest;
pub use start_config::{Forwarding, InterfaceWait, StartConfig};
pub use tunables::for_each as for_each_setting;
