//! The listening sockets of the control server: who may send what.

use crate::named_socket::NamedSocket;
use lnet_dlc::Request;
use lnet_os::peer_cred::PeerCred;
use lnet_wire::Errno;
use rustix::process::geteuid;
use std::os::unix::net::UnixStream;

/// The requests and users that a listener accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// All requests, from the owner and root only.
    Configure,
    /// Requests that only read, from all users that the file's mode permits.
    Read,
}

impl Access {
    /// Whether this client may send requests to the listener.
    pub(super) fn admits(self, client: &UnixStream) -> bool {
        match self {
            Self::Read => true,
            Self::Configure => {
                PeerCred::of(client).is_ok_and(|it| may_configure(it.user, geteuid().as_raw()))
            }
        }
    }

    /// Checks whether this request is permitted on the listener: [`Errno::Access`] if not.
    pub(super) const fn allows(self, request: &Request) -> Result<(), Errno> {
        match self {
            Self::Read if !request.only_reads() => Err(Errno::Access),
            _ => Ok(()),
        }
    }
}

/// The user of a client for log lines.
pub(super) fn user(client: &UnixStream) -> String {
    PeerCred::of(client).map_or_else(|_| "unknown user".to_owned(), |it| format!("uid {}", it.user))
}

/// The user and the process of a client, for the line about a change that it has made.
pub(super) fn user_and_process(client: &UnixStream) -> String {
    let found = PeerCred::of(client).ok();
    let process = found.and_then(|it| it.process).map(|it| format!(", process {}", it.as_raw_nonzero()));
    let program = found.and_then(PeerCred::program).map(|it| format!(" ({it})"));
    user(client) + &process.unwrap_or_default() + &program.unwrap_or_default()
}

const fn may_configure(client: u32, owner: u32) -> bool {
    client == owner || client == 0
}

/// A listening socket with its permissions.
#[derive(Debug)]
pub(super) struct ControlListener {
    pub(super) named: NamedSocket,
    pub(super) access: Access,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_owner_and_root_configure() {
        for (client, owner, may) in [(0, 0, true), (7, 7, true), (0, 7, true), (7, 0, false), (8, 7, false)] {
            assert_eq!(may_configure(client, owner), may, "{client} {owner}");
        }
        assert_eq!(Access::Configure.allows(&Request::ResetLnetStats), Ok(()));
        assert_eq!(Access::Read.allows(&Request::ResetLnetStats), Err(Errno::Access));
        assert_eq!(Access::Read.allows(&Request::GetLnetStats), Ok(()));
    }
}
