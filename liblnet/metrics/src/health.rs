//! The health of a node: whether it can do what it is there for.

use lnet_dlc::request::{Backend, LocalNi, NiStatus, Peer, Request, WaitingNi};
use lnet_wire::{Errno, Nid, Reachability};

/// The reasons for which a node is not healthy, one line each: interfaces that are not up, or that the
/// host does not have yet, and expected peers that are not
/// reachable. Empty for a healthy node. Makes requests that only read.
pub fn reasons(backend: &dyn Backend, expected: &[Nid]) -> Vec<String> {
    let nis: Vec<Box<LocalNi>> = match backend.list(Request::GetLocalNi) {
        Ok(nis) => nis,
        Err(errno) => return vec![format!("node: does not answer ({})", errno.text())],
    };
    let nis = nis.iter().filter_map(|ni| ni_reason(ni));
    let waiting: Vec<WaitingNi> = backend.ask(Request::GetWaitingNis).unwrap_or_default();
    let waiting = waiting.iter().map(waiting_reason);
    let peers = expected.iter().filter_map(|nid| {
        let peer = backend.ask::<Box<Peer>>(Request::GetPeerNi(*nid));
        peer_reason(*nid, peer.map(|peer| peer.reachability.map(|its| its.state)))
    });
    nis.chain(waiting).chain(peers).collect()
}

fn ni_reason(ni: &LocalNi) -> Option<String> {
    let nid = ni.nid;
    match (ni.status == NiStatus::Up, ni.health.fatal_error) {
        (true, false) => None,
        (true, true) => Some(format!("interface {nid}: its driver reports a fatal error")),
        (false, _) => Some(format!("interface {nid}: down")),
    }
}

fn waiting_reason(waiting: &WaitingNi) -> String {
    format!("net {}: waits for an interface ({})", waiting.ni.net, waiting.reason)
}

/// The reachability of an expected peer, or the error of the request for it.
fn peer_reason(nid: Nid, reachability: Result<Option<Reachability>, Errno>) -> Option<String> {
    match reachability {
        Ok(Some(Reachability::Reachable | Reachability::Degraded)) => None,
        Ok(Some(Reachability::Unreachable)) => Some(format!("peer {nid}: unreachable")),
        Ok(Some(Reachability::Unknown) | None) | Err(Errno::NotFound) => {
            Some(format!("peer {nid}: nothing was received from it yet"))
        }
        Err(errno) => Some(format!("peer {nid}: {}", errno.text())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lnet_dlc::Reply;
    use lnet_dlc::request::{AddLocalNi, LndTunables, LocalHealth, NiTunables};

    fn ni(status: NiStatus, fatal_error: bool) -> LocalNi {
        let health = LocalHealth { fatal_error, ..LocalHealth::default() };
        LocalNi { status, health, ..LocalNi::unused("10.0.0.1@tcp".parse().unwrap(), None) }
    }

    #[test]
    fn each_interface_that_cannot_be_used_is_a_reason() {
        let nis = [(NiStatus::Up, false), (NiStatus::Down, false), (NiStatus::Up, true)];
        let node = |request| match request {
            Request::GetLocalNi(index) => {
                let its = nis.get(index as usize).map(|(status, fatal)| ni(*status, *fatal));
                its.map(|ni| Reply::LocalNi(Box::new(ni))).ok_or_else(|| Errno::NotFound.into())
            }
            Request::GetWaitingNis => {
                let reason = "interface eth1: not usable (it has no IPv4 address)".to_owned();
                let ni = AddLocalNi {
                    net: "tcp1".parse().unwrap(),
                    interface: Some("eth1".to_owned()),
                    tunables: NiTunables::default(),
                    lnd: LndTunables::default(),
                    cpts: None,
                };
                Ok(Reply::WaitingNis(vec![WaitingNi { ni, reason }]))
            }
            _ => Err(Errno::NotSupported.into()),
        };
        let expected = [
            "interface 10.0.0.1@tcp: down",
            "interface 10.0.0.1@tcp: its driver reports a fatal error",
            "net tcp1: waits for an interface (interface eth1: not usable (it has no IPv4 address))",
        ];
        assert_eq!(reasons(&node, &[]), expected);
    }

    #[test]
    fn a_peer_is_missing_unless_something_can_be_sent_to_it() {
        let nid: Nid = "10.0.0.1@tcp".parse().unwrap();
        let reason = |its| peer_reason(nid, its);
        for state in [Reachability::Reachable, Reachability::Degraded] {
            assert_eq!(reason(Ok(Some(state))), None);
        }
        let unknown = "peer 10.0.0.1@tcp: nothing was received from it yet";
        for its in [Ok(Some(Reachability::Unknown)), Ok(None), Err(Errno::NotFound)] {
            assert_eq!(reason(its).as_deref(), Some(unknown), "{its:?}");
        }
        let unreachable = reason(Ok(Some(Reachability::Unreachable)));
        assert_eq!(unreachable.as_deref(), Some("peer 10.0.0.1@tcp: unreachable"));
        assert!(reason(Err(Errno::NetworkDown)).is_some());
    }

    #[test]
    fn a_node_that_does_not_answer_is_not_healthy() {
        let down = |_| Err(Errno::NetworkDown.into());
        assert_eq!(reasons(&down, &[]), ["node: does not answer (Network is down)"]);
        let none = |_| Err(Errno::NotFound.into());
        assert_eq!(reasons(&none, &[]), Vec::<String>::new());
    }
}
