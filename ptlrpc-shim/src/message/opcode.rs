//! Operations: `pb_opc`.

use std::ops::RangeInclusive;

/// The number of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Opcode(pub u32);

impl Opcode {
    /// Read from an object.
    pub const OST_READ: Self = Self(3);
    /// Write to an object.
    pub const OST_WRITE: Self = Self(4);
    /// Connect to a target for objects.
    pub const OST_CONNECT: Self = Self(8);
    /// Disconnect from an OST.
    pub const OST_DISCONNECT: Self = Self(9);
    /// Connect to a target for metadata.
    pub const MDS_CONNECT: Self = Self(38);
    /// Disconnect from an MDT.
    pub const MDS_DISCONNECT: Self = Self(39);
    /// Ask for a lock.
    pub const LDLM_ENQUEUE: Self = Self(101);
    /// A lock blocks another client (blocking AST); sent by a server to a client.
    pub const LDLM_BL_CALLBACK: Self = Self(104);
    /// Connect to the management service.
    pub const MGS_CONNECT: Self = Self(250);
    /// Disconnect from the MGS.
    pub const MGS_DISCONNECT: Self = Self(251);
    /// Ping, over any import: one buffer in the request, one in the reply (PR-12).
    pub const PING: Self = Self(400);
    /// Initialize a security context.
    pub const SEC_CTX_INIT: Self = Self(801);

    /// Operations that Lustre does not use, for other services.
    pub const ECHO: RangeInclusive<Self> = Self(0x7000)..=Self(u32::MAX);

    /// Whether the request is a connect request, whose sender has no handle of the server yet.
    pub const fn is_connect(self) -> bool {
        matches!(self, Self::OST_CONNECT | Self::MDS_CONNECT | Self::MGS_CONNECT)
    }

    /// Whether the request is a disconnect request.
    pub const fn is_disconnect(self) -> bool {
        matches!(self, Self::OST_DISCONNECT | Self::MDS_DISCONNECT | Self::MGS_DISCONNECT)
    }

    /// Whether the opcode is one of [`Opcode::ECHO`].
    pub const fn is_own(self) -> bool {
        self.0 >= Self::ECHO.start().0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_that_connect_and_disconnect() {
        // Number, is_connect, is_disconnect, is_own.
        for (opcode, want) in [
            (Opcode(3), (false, false, false)),
            (Opcode(8), (true, false, false)),
            (Opcode(9), (false, true, false)),
            (Opcode(38), (true, false, false)),
            (Opcode(39), (false, true, false)),
            (Opcode(250), (true, false, false)),
            (Opcode(251), (false, true, false)),
            (Opcode(400), (false, false, false)),
            (Opcode(0x6fff), (false, false, false)),
            (Opcode(0x7000), (false, false, true)),
            (Opcode(u32::MAX), (false, false, true)),
        ] {
            let got = (opcode.is_connect(), opcode.is_disconnect(), opcode.is_own());
            assert_eq!(got, want, "{opcode:?}");
            assert_eq!(Opcode::ECHO.contains(&opcode), want.2, "{opcode:?}");
        }
    }
}
