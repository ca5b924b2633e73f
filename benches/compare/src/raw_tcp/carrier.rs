//! Buffer of a relay between two sockets that do not block.

use crate::error::Error;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::os::fd::OwnedFd;

/// Capacity in bytes.
const CAPACITY: usize = 256 << 10;

/// The way of copying bytes from one socket to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copying {
    /// The bytes are copied through a buffer of the process.
    Buffer,
    /// The bytes are moved through a pipe, by splice(2).
    Splice,
}

impl Copying {
    pub(super) const fn argument(self) -> &'static str {
        match self {
            Self::Buffer => "buffer",
            Self::Splice => "splice",
        }
    }

    /// Reads the argument of the relay's command line.
    pub(crate) fn parse(argument: &str) -> Result<Self, Error> {
        let all = [Self::Buffer, Self::Splice];
        let found = all.into_iter().find(|it| it.argument() == argument);
        found.ok_or_else(|| format!("{argument}: not a way to copy"))
    }
}

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passed {
    Nothing,
    Bytes,
    /// The end of the stream.
    End,
}

pub(super) enum Carrier {
    Buffer {
        memory: Vec<u8>,
        /// The bytes that have been read and not yet written.
        held: Range<usize>,
    },
    Pipe {
        exit: OwnedFd,
        entry: OwnedFd,
        held: usize,
    },
}

impl Carrier {
    pub(super) fn new(copying: Copying) -> io::Result<Self> {
        match copying {
            Copying::Buffer => Ok(Self::Buffer { memory: vec![0; CAPACITY], held: 0..0 }),
            Copying::Splice => {
                let (exit, entry) = pipe_with(PipeFlags::NONBLOCK)?;
                fcntl_setpipe_size(&entry, CAPACITY)?;
                Ok(Self::Pipe { exit, entry, held: 0 })
            }
        }
    }

    pub(super) fn holds_bytes(&self) -> bool {
        match self {
            Self::Buffer { held, .. } => !held.is_empty(),
            Self::Pipe { held, .. } => *held > 0,
        }
    }

    /// Reads once; called when the buffer is empty.
    pub(super) fn read(&mut self, mut from: &TcpStream) -> io::Result<Passed> {
        let length = match self {
            Self::Buffer { memory, .. } => from.read(memory),
            Self::Pipe { entry, .. } => {
                let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
                splice(from, None, entry, None, CAPACITY, flags).map_err(io::Error::from)
            }
        };
        match length {
            Ok(0) => Ok(Passed::End),
            Ok(length) => {
                match self {
                    Self::Buffer { held, .. } => *held = 0..length,
                    Self::Pipe { held, .. } => *held = length,
                }
                Ok(Passed::Bytes)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Passed::Nothing),
            Err(error) => Err(error),
        }
    }

    /// Calls the system's write once.
    pub(super) fn write(&mut self, mut to: &TcpStream) -> io::Result<()> {
        let length = match self {
            Self::Buffer { memory, held } => to.write(memory.get(held.clone()).unwrap_or_default()),
            Self::Pipe { exit, held, .. } => {
                let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
                splice(exit, None, to, None, *held, flags).map_err(io::Error::from)
            }
        };
        match length {
            Ok(length) => {
                match self {
                    Self::Buffer { held, .. } => held.start += length,
                    Self::Pipe { held, .. } => *held -= length,
                }
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_to_copy_are_named_on_the_command_line() {
        for copying in [Copying::Buffer, Copying::Splice] {
            assert_eq!(Copying::parse(copying.argument()), Ok(copying));
        }
        assert!(Copying::parse("by hand").is_err());
    }
}
