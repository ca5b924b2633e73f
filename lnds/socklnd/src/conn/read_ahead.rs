//! What a connection has received beyond what was asked for.

/// Bytes received and not yet looked at.
#[derive(Debug)]
pub(crate) struct ReadAhead {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

impl ReadAhead {
    pub(crate) fn new(size: usize) -> Self {
        Self { bytes: vec![0; size].into(), start: 0, end: 0 }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    pub(crate) fn consume(&mut self, n: usize) {
        self.start = (self.start + n).min(self.end);
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Where to read to; after that comes [`ReadAhead::filled`].
    pub(crate) fn space(&mut self) -> &mut [u8] {
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        self.bytes.get_mut(self.end..).unwrap_or_default()
    }

    pub(crate) fn filled(&mut self, n: usize) {
        self.end = (self.end + n).min(self.bytes.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_ahead_moves_to_the_front_before_more_is_read() {
        let mut buffer = ReadAhead::new(8);
        buffer.space().copy_from_slice(b"abcdefgh");
        buffer.filled(8);
        buffer.consume(5);
        assert_eq!(buffer.bytes(), b"fgh");
        assert_eq!(buffer.space().len(), 5);
        assert_eq!(buffer.bytes(), b"fgh");
        buffer.filled(1);
        buffer.consume(9);
        assert_eq!(buffer.bytes(), b"");
        assert_eq!(buffer.space().len(), 8);
    }
}
