//! Engines with each other, and with a peer that breaks rules.

mod failing;
mod messages;
mod peers;
mod random;
mod replay;
mod rig;
mod scripted;
mod transfers;
