//! Drivers' permissions for messages that need no credits for now, as these would come back at once.

use super::message::OutgoingMessage;
use super::peer_ni::PeerNi;
use std::sync::Arc;

/// A driver's permission to send small messages to one peer NI without credits. All need them again when it is dropped.
///
/// The driver gives it as long as it would return the credits of such a message at once. A message to a gateway always needs them, and
/// so does each as long as others wait for credits.
#[derive(Debug)]
pub struct CreditWaiver(Arc<PeerNi>);

impl CreditWaiver {
    /// Permits messages to the peer NI of `message` whose payload has fewer than `below` bytes, in place of those that `waiver` permits. None
    /// are, if `message` is for the loopback.
    #[inline]
    pub fn renew(waiver: &mut Option<Self>, message: &OutgoingMessage, below: u32) {
        let peer_ni = message.head.peer_ni.as_ref();
        let is_same = |waiver: &Self| peer_ni.is_some_and(|peer_ni| Arc::ptr_eq(peer_ni, &waiver.0));
        if waiver
            .as_ref()
            .is_some_and(|waiver| is_same(waiver) && waiver.0.waived().include(below.saturating_sub(1)))
        {
            return;
        }
        // The old one ends before the new one begins, as they may be for the same peer NI.
        *waiver = None;
        *waiver = peer_ni.map(|peer_ni| {
            peer_ni.waived().set(below);
            Self(Arc::clone(peer_ni))
        });
    }
}

impl Drop for CreditWaiver {
    fn drop(&mut self) {
        self.0.waived().set(0);
    }
}
