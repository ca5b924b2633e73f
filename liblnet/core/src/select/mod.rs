//! Which way a message goes.
//!
//! For now the plainest rule that is right with one rail: the caller's source, or the first interface on
//! the destination's net; the destination as given.

use crate::topology::{Nets, Ni};
use lnet_wire::Errno;
use lnet_wire::Nid;
use std::sync::Arc;

/// The interface by which a message leaves, and the NIDs in its header.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) ni: Arc<Ni>,
    pub(crate) destination: Nid,
}

/// Chooses the way to `destination`.
///
/// `0@lo` always goes by the loopback, whatever `source` says (PS-1). A given `source` must be mine
/// ([`Errno::Invalid`]) and on the destination's net ([`Errno::HostUnreachable`], as there are no routes).
pub(crate) fn path(nets: &Nets, source: Option<Nid>, destination: Nid) -> Result<Path, Errno> {
    let source = if destination.is_loopback() { Some(Nid::LOOPBACK) } else { source };
    let ni = match source {
        Some(nid) => nets.ni(nid).ok_or(Errno::Invalid)?,
        None => {
            nets.net(destination.net()).and_then(|net| net.nis().first()).ok_or(Errno::HostUnreachable)?
        }
    };
    if ni.nid().net() != destination.net() {
        return Err(Errno::HostUnreachable);
    }
    Ok(Path { ni: Arc::clone(ni), destination })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::topology::NiTunables;
    use lnet_wire::{NetId, NetType};

    #[test]
    fn the_table_of_sources_and_destinations() {
        let tcp = |net, address| Nid::new(NetId::new(NetType::TCP, net), address);
        let mine = [Nid::LOOPBACK, tcp(0, 1), tcp(0, 2), tcp(1, 1)];
        let nets = mine.iter().fold(Nets::default(), |nets, nid| {
            nets.with(Arc::new(
                Ni::new(*nid, NiTunables::default().into(), std::num::NonZeroUsize::MIN).unwrap(),
            ))
            .unwrap()
        });
        let table = [
            (None, Nid::LOOPBACK, Ok(Nid::LOOPBACK)),
            (Some(tcp(0, 1)), Nid::LOOPBACK, Ok(Nid::LOOPBACK)),
            (Some(tcp(9, 9)), Nid::LOOPBACK, Ok(Nid::LOOPBACK)),
            (None, tcp(0, 9), Ok(tcp(0, 1))),
            (Some(tcp(0, 2)), tcp(0, 9), Ok(tcp(0, 2))),
            (None, tcp(1, 9), Ok(tcp(1, 1))),
            // One's own NID is a destination like any other.
            (None, tcp(0, 2), Ok(tcp(0, 1))),
            (Some(tcp(0, 3)), tcp(0, 9), Err(Errno::Invalid)),
            (Some(tcp(1, 1)), tcp(0, 9), Err(Errno::HostUnreachable)),
            (Some(Nid::LOOPBACK), tcp(0, 9), Err(Errno::HostUnreachable)),
            (None, tcp(7, 9), Err(Errno::HostUnreachable)),
        ];
        for (source, destination, want) in table {
            let got = path(&nets, source, destination).map(|path| path.ni.nid());
            assert_eq!(got, want, "{source:?} to {destination:?}");
        }
    }
}
