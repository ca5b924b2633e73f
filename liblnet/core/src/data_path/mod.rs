//! The path of a message: PUT and GET of programs, receiving, sending, completion, forwarding.

mod confirm;
mod fault;
mod forward;
mod me_md_eq;
mod messages;
mod put_get;
mod receive;
mod refusal;
mod resend;
mod restarts;
mod send;
