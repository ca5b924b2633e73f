//! The operations that an MD may still begin, as far as the program knows: whether the node could refuse one.

use lnet_core::{Event, EventKind};

/// The count of one MD. It is never more than the node's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Budget {
    /// `None`: unlimited.
    left: Option<u32>,
    /// The ACKs and REPLYs that have not come; each takes one.
    due: u32,
}

impl Budget {
    /// The count of a new MD with this threshold; negative: unlimited.
    pub(super) fn new(threshold: i32) -> Self {
        Self { left: u32::try_from(threshold).ok(), due: 0 }
    }

    /// Whether one more operation is allowed, whatever responses come before it.
    pub(super) fn is_enough(self) -> bool {
        self.left.is_none_or(|left| left > self.due)
    }

    /// Counts a PUT or GET. `responds`: an ACK or REPLY comes.
    pub(super) fn note_request(&mut self, responds: bool) {
        self.left = self.left.map(|left| left.saturating_sub(1));
        self.due += u32::from(responds);
    }

    /// Counts what an event says.
    pub(super) fn note_event(&mut self, event: &Event) {
        match (event.kind, event.status) {
            (EventKind::Ack | EventKind::Reply, _) => {
                self.due = self.due.saturating_sub(1);
                self.left = self.left.map(|left| left.saturating_sub(1));
            }
            // It may have taken the share of its response, too.
            (EventKind::Send, Err(_)) => self.left = self.left.map(|_| 0),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_certain_only_beside_all_responses_that_may_come() {
        for (threshold, requests, is_enough) in [
            (-1, &[true, true, true][..], true),
            (0, &[], false),
            (1, &[], true),
            (1, &[false], false),
            (2, &[], true),
            (2, &[true], false),
            (2, &[false], true),
            (4, &[true], true),
            (4, &[true, true], false),
        ] {
            let mut budget = Budget::new(threshold);
            requests.iter().for_each(|responds| budget.note_request(*responds));
            assert_eq!(budget.is_enough(), is_enough, "{threshold} {requests:?}");
        }
    }
}
