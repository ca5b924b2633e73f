//! The six queues of a transfer machine (motr-net 2.1).

/// The type of a queue, which determines the use of the buffers in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Queue {
    /// Receives messages of other transfer machines.
    MsgRecv = 0,
    /// Sends messages.
    MsgSend = 1,
    /// Holds buffers that other transfer machines put data into.
    PassiveBulkRecv = 2,
    /// Holds buffers whose data other transfer machines fetch.
    PassiveBulkSend = 3,
    /// Fetches the data of passive buffers of other transfer machines.
    ActiveBulkRecv = 4,
    /// Puts data into passive buffers of other transfer machines.
    ActiveBulkSend = 5,
}

impl Queue {
    /// The number of queues (`M0_NET_QT_NR`).
    pub const COUNT: usize = 6;

    /// All queues, in the order of their numbers.
    pub const ALL: [Self; Self::COUNT] = [
        Self::MsgRecv,
        Self::MsgSend,
        Self::PassiveBulkRecv,
        Self::PassiveBulkSend,
        Self::ActiveBulkRecv,
        Self::ActiveBulkSend,
    ];

    /// The queue with this number; `None` if there is none.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }

    /// The index of the queue in the arrays of a transfer machine.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Whether data arrives in the buffers of the queue.
    pub const fn receives(self) -> bool {
        matches!(self, Self::MsgRecv | Self::PassiveBulkRecv | Self::ActiveBulkRecv)
    }

    /// Whether the queue's buffers are passive: a descriptor of them is given to another transfer machine.
    pub const fn is_passive(self) -> bool {
        matches!(self, Self::PassiveBulkRecv | Self::PassiveBulkSend)
    }

    /// Whether the queue's buffers are active: they use the descriptor of a passive one.
    pub const fn is_active(self) -> bool {
        matches!(self, Self::ActiveBulkRecv | Self::ActiveBulkSend)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_numbered_as_in_c() {
        for (number, queue) in Queue::ALL.into_iter().enumerate() {
            assert_eq!(queue.index(), number);
            assert_eq!(Queue::from_number(number as u32), Some(queue));
        }
        assert_eq!(Queue::from_number(6), None);
    }
}
