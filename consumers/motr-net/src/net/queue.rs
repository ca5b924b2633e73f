//! The six queues of a transfer machine (motr-net 2.1).

/// A queue, which says what a buffer in it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Queue {
    /// Messages of other transfer machines arrive in it.
    MsgRecv = 0,
    /// It is a message.
    MsgSend = 1,
    /// Another transfer machine puts data into it.
    PassiveBulkRecv = 2,
    /// Another transfer machine fetches its data.
    PassiveBulkSend = 3,
    /// It fetches the data of a passive buffer.
    ActiveBulkRecv = 4,
    /// Its data is put into a passive buffer.
    ActiveBulkSend = 5,
}

impl Queue {
    /// How many there are (`M0_NET_QT_NR`).
    pub const COUNT: usize = 6;

    /// All, in the order of their numbers.
    pub const ALL: [Self; Self::COUNT] = [
        Self::MsgRecv,
        Self::MsgSend,
        Self::PassiveBulkRecv,
        Self::PassiveBulkSend,
        Self::ActiveBulkRecv,
        Self::ActiveBulkSend,
    ];

    /// `None`: no number of a queue.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }

    /// Its place in the arrays of a transfer machine.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Data arrives in its buffers.
    pub const fn receives(self) -> bool {
        matches!(self, Self::MsgRecv | Self::PassiveBulkRecv | Self::ActiveBulkRecv)
    }

    /// Its buffers are described to another transfer machine.
    pub const fn is_passive(self) -> bool {
        matches!(self, Self::PassiveBulkRecv | Self::PassiveBulkSend)
    }

    /// Its buffers use the descriptor of a passive one.
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
