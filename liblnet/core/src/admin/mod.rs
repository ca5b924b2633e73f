//! Administration: configuration changes, interfaces, and queries of operators and programs about peers.

mod configure;
mod consumers;
mod health;
mod interfaces;
mod ni_state;
mod ping_target;
mod router;
