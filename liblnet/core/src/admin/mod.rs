//! Administration: configuration changes, interfaces, what operators and programs ask about peers.

mod configure;
mod consumers;
mod health;
mod interfaces;
mod ni_state;
mod ping_target;
mod router;
