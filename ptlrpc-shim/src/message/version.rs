//! The protocol of a message: `pb_version`.

/// The version of a message: the service in the upper half, the version of the body in the lower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Version(pub u32);

/// The protocol of a kind of service, as the upper half of a [`Version`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Service(pub u16);

impl Version {
    /// The lower half of bodies of 184 bytes.
    pub const BODY: u16 = 3;

    /// The version of messages to and from `service`.
    pub const fn of(service: Service) -> Self {
        Self((service.0 as u32) << 16 | Self::BODY as u32)
    }

    /// The upper half.
    pub const fn service(self) -> Service {
        Service((self.0 >> 16) as u16)
    }

    /// The lower half. Any value is accepted: the length of a body tells its fields.
    pub const fn body(self) -> u16 {
        self.0 as u16
    }
}

impl Service {
    /// Common to all targets: connecting, pinging.
    pub const OBD: Self = Self(1);
    /// Metadata.
    pub const MDS: Self = Self(2);
    /// Objects.
    pub const OST: Self = Self(3);
    /// Locks.
    pub const DLM: Self = Self(4);
    /// Logs of changes.
    pub const LOG: Self = Self(5);
    /// Management.
    pub const MGS: Self = Self(6);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_has_two_halves() {
        for (service, number) in [
            (Service::OBD, 0x0001_0003),
            (Service::MDS, 0x0002_0003),
            (Service::OST, 0x0003_0003),
            (Service::DLM, 0x0004_0003),
            (Service::LOG, 0x0005_0003),
            (Service::MGS, 0x0006_0003),
        ] {
            let version = Version::of(service);
            assert_eq!(version, Version(number));
            assert_eq!((version.service(), version.body()), (service, 3), "{number:#x}");
        }
    }
}
