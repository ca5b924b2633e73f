//! Nodes that are frozen while the systems of their machines continue to run.

use super::*;

impl Network {
    /// Whether the event must wait until a node runs again.
    pub(crate) fn postpones(&mut self, due: SimEvent) -> bool {
        let node = match due {
            SimEvent::Arrival(key, _) => Some(key.receiver()),
            SimEvent::ReceptionLost(number) => self.receiver_of(number),
            SimEvent::Finish(number)
            | SimEvent::Ack(number)
            | SimEvent::StarvedCheck(number)
            | SimEvent::ArrivalFailed(number) => self.unfinished.get(&number).map(|it| it.from.node),
            SimEvent::Confirmation(number) => self.receiver_of_confirmation(number),
            SimEvent::PathCheck(place, _)
            | SimEvent::ConnectionsEnded(place, _)
            | SimEvent::Connect(place, _) => Some(place.node),
            SimEvent::Wake(node) => Some(node),
        };
        let postpones = node.is_some_and(|node| self.faults.is_frozen(node));
        if postpones {
            self.postponed.push(due);
        }
        postpones
    }

    /// Freezes a node; its machine acknowledges the bytes that arrive, and no process reads them.
    pub(crate) fn freeze(&mut self, node: NodeId) {
        self.faults.break_spot(FaultPoint::Frozen(node));
    }

    /// Ends the freeze; the node then handles the events that it missed.
    pub(crate) fn thaw(&mut self, node: NodeId) {
        let now = self.now();
        self.faults.mend(FaultPoint::Frozen(node), now);
        for due in std::mem::take(&mut self.postponed) {
            self.events.plan(now, |_| due);
        }
        self.go_on();
    }
}
