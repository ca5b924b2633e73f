//! Nodes that stand still while their machine goes on.

use super::*;

impl Network {
    /// Whether what is due has to wait until a node goes on.
    pub(crate) fn postpones(&mut self, due: SimEvent) -> bool {
        let node = match due {
            SimEvent::Arrival(key, _) => Some(key.receiver()),
            SimEvent::Finish(number) | SimEvent::Ack(number) => {
                self.unfinished.get(&number).map(|it| it.from.node)
            }
            SimEvent::Confirmation(number) => self.receiver_of_confirmation(number),
            SimEvent::PathCheck(place, _) | SimEvent::ConnectionsEnded(place, _) => Some(place.node),
            SimEvent::Wake(node) => Some(node),
        };
        let postpones = node.is_some_and(|node| self.faults.is_frozen(node));
        if postpones {
            self.postponed.push(due);
        }
        postpones
    }

    /// Stops a node; its machine acknowledges what arrives, and no process reads it.
    pub(crate) fn freeze(&mut self, node: NodeId) {
        self.faults.break_spot(FaultPoint::Frozen(node));
    }

    /// It goes on, and finds what has happened meanwhile.
    pub(crate) fn thaw(&mut self, node: NodeId) {
        let now = self.now();
        self.faults.mend(FaultPoint::Frozen(node), now);
        for due in std::mem::take(&mut self.postponed) {
            self.events.plan(now, |_| due);
        }
        self.go_on();
    }
}
