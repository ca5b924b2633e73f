//! Addresses of transfer machines as text: `NID:PID:PORTAL:TMID` (motr-net 3.1).

use crate::Errno;
use lnet_wire::Nid;
use std::fmt;
use std::str::FromStr;

/// The longest text of an address, with its terminating NUL (`M0_NET_LNET_XEP_ADDR_LEN`).
pub const MAX_TEXT: usize = 80;
/// The longest text of a NID.
const MAX_NID_TEXT: usize = 31;

/// The identifier that distinguishes transfer machines that share NID, PID and portal: 12 bits (motr-net 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tmid(u16);

impl Tmid {
    /// The largest identifier.
    pub const MAX: Self = Self(4095);

    /// The identifier with this number; `None` if it has more than 12 bits.
    pub const fn new(number: u32) -> Option<Self> {
        if number <= Self::MAX.0 as u32 { Some(Self(number as u16)) } else { None }
    }

    /// The number.
    pub const fn number(self) -> u32 {
        self.0 as u32
    }
}

/// The address of a transfer machine. Addresses are compared by their numbers, never as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// The NID, which the C API of LNet can express.
    pub nid: Nid,
    /// The id of the process on that node.
    pub pid: u32,
    /// The portal; any number in an address, less than 64 where a transfer machine starts.
    pub portal: u32,
    /// The identifier of the transfer machine.
    pub tmid: Tmid,
}

/// The address at which a transfer machine is to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StartAddress {
    /// The NID, as in [`Address`].
    pub nid: Nid,
    /// The process id, as in [`Address`].
    pub pid: u32,
    /// The portal, as in [`Address`].
    pub portal: u32,
    /// The identifier; `None` (`*`): the highest that is free.
    pub tmid: Option<Tmid>,
}

impl StartAddress {
    /// The address with that identifier.
    pub const fn with(self, tmid: Tmid) -> Address {
        Address { nid: self.nid, pid: self.pid, portal: self.portal, tmid }
    }
}

impl FromStr for StartAddress {
    type Err = Errno;

    /// Reads an address; numbers are decimal digits without sign or blanks. `EINVAL` for any other text.
    fn from_str(text: &str) -> Result<Self, Errno> {
        let mut fields = text.split(':');
        let mut field = || fields.next().ok_or(Errno::Invalid);
        let (nid, pid, portal, tmid) = (field()?, field()?, field()?, field()?);
        if fields.next().is_some() {
            return Err(Errno::Invalid);
        }
        Ok(Self {
            nid: parse_nid(nid)?,
            pid: number(pid)?,
            portal: number(portal)?,
            tmid: match tmid {
                "*" => None,
                _ => Some(Tmid::new(number(tmid)?).ok_or(Errno::Invalid)?),
            },
        })
    }
}

impl FromStr for Address {
    type Err = Errno;

    /// Reads an address as [`StartAddress`] does, but `*` is `EINVAL` too.
    fn from_str(text: &str) -> Result<Self, Errno> {
        let start: StartAddress = text.parse()?;
        Ok(start.with(start.tmid.ok_or(Errno::Invalid)?))
    }
}

/// Writes the address like an [`Address`], with `*` for an identifier that is to be chosen.
impl fmt::Display for StartAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.tmid {
            Some(tmid) => self.with(tmid).fmt(f),
            None => write!(f, "{}:{}:{}:*", self.nid, self.pid, self.portal),
        }
    }
}

impl From<Address> for StartAddress {
    fn from(Address { nid, pid, portal, tmid }: Address) -> Self {
        Self { nid, pid, portal, tmid: Some(tmid) }
    }
}

/// Writes the canonical text: `tcp0` is written as `tcp`.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}:{}", self.nid, self.pid, self.portal, self.tmid.number())
    }
}

/// Compares the NIDs of two addresses as `strncmp` does, over the length of the shorter NID; -1 if an address has no `:`
/// (motr-net 1.1). So `10.0.0.1@tcp` and `10.0.0.1@tcp1` are equal.
pub fn compare_nids(left: &[u8], right: &[u8]) -> i32 {
    let nid = |text: &[u8]| text.iter().position(|byte| *byte == b':');
    let (Some(left_end), Some(right_end)) = (nid(left), nid(right)) else { return -1 };
    let len = left_end.min(right_end);
    match left[..len].cmp(&right[..len]) {
        std::cmp::Ordering::Less => -1,
        std::cmp::Ordering::Equal => 0,
        std::cmp::Ordering::Greater => 1,
    }
}

fn parse_nid(text: &str) -> Result<Nid, Errno> {
    if text.is_empty() || text.len() > MAX_NID_TEXT {
        return Err(Errno::Invalid);
    }
    let nid: Nid = text.parse().map_err(|_| Errno::Invalid)?;
    nid.to_u64().map(|_| nid).ok_or(Errno::Invalid)
}

fn number(text: &str) -> Result<u32, Errno> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Errno::Invalid);
    }
    text.parse().map_err(|_| Errno::Invalid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_address_is_written_in_its_canonical_form() {
        for (text, canonical) in [
            ("10.72.49.14@o2ib0:12345:31:0", "10.72.49.14@o2ib:12345:31:0"),
            ("192.168.96.128@tcp1:12345:32:4095", "192.168.96.128@tcp1:12345:32:4095"),
            ("4.4.4.4@tcp:42:29:28", "4.4.4.4@tcp:42:29:28"),
            ("0@lo:12345:34:1", "0@lo:12345:34:1"),
            ("10.0.0.1@tcp:012345:00034:0007", "10.0.0.1@tcp:12345:34:7"),
            ("10.0.0.1@tcp:4294967295:4294967295:1", "10.0.0.1@tcp:4294967295:4294967295:1"),
        ] {
            assert_eq!(text.parse::<Address>().map(|it| it.to_string()).as_deref(), Ok(canonical), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "invalid",
            "notip@tcp:12345:30:10",
            "notnid:12345:30:10",
            "10.0.0.1@tcp:notpid:30:10",
            "10.0.0.1@tcp:12:notportal:10",
            "10.0.0.1@tcp:12:30:nottm",
            "10.0.0.1@tcp:12345:30:-10",
            "10.0.0.1@tcp:12345:30:4096",
            "10.0.0.1@tcp:12345:30:",
            "10.0.0.1@tcp:12345:30",
            "10.0.0.1@tcp:12345:30:1:1",
            "10.0.0.1@tcp:12345:30:**",
            "10.0.0.1@tcp:12345:30: 1",
            "10.0.0.1@tcp:12345:+30:1",
            "10.0.0.1@tcp:4294967296:30:1",
            "10.0.0.1@tcp::30:1",
            ":12345:30:1",
            "*:12345:30:1",
            "<?>:12345:30:1",
            "fd99::11@tcp:12345:30:1",
            "10.0.0.1@a-net-with-a-very-long-name:12345:30:1",
        ] {
            assert_eq!(text.parse::<StartAddress>(), Err(Errno::Invalid), "{text}");
        }
    }

    #[test]
    fn an_asterisk_is_only_for_starting() {
        let text = "10.0.0.1@tcp:12345:30:*";
        assert_eq!(text.parse::<Address>(), Err(Errno::Invalid));
        assert_eq!(text.parse::<StartAddress>().unwrap().tmid, None);
    }

    #[test]
    fn nids_are_compared_up_to_the_shorter_one() {
        for (left, right, expected) in [
            ("10.0.0.1@tcp:12345:30:1", "10.0.0.1@tcp:12345:30:2", 0),
            ("10.0.0.1@o2ib:12345:30:1", "10.0.0.1@tcp:12345:30:1", -1),
            ("10.0.0.1@tcp:12345:30:1", "10.0.0.1@o2ib:12345:30:1", 1),
            ("1.2.3.4@tcp:1:1:1", "1.2.3.4@tcp1:1:1:1", 0),
            ("1.2.3.4@tcp", "1.2.3.4@tcp:1:1:1", -1),
            ("1.2.3.4@tcp:1:1:1", "", -1),
        ] {
            assert_eq!(compare_nids(left.as_bytes(), right.as_bytes()), expected, "{left} {right}");
        }
    }

    proptest! {
        #[test]
        fn every_address_is_read_as_it_was_written(
            ip in any::<u32>(), net in 0_u16..9, pid in any::<u32>(), portal in any::<u32>(), tmid in 0_u32..=4095,
        ) {
            let net = lnet_wire::NetId::new(lnet_wire::NetType::TCP, net);
            let address = Address { nid: Nid::new(net, ip), pid, portal, tmid: Tmid::new(tmid).unwrap() };
            let text = address.to_string();
            prop_assert!(text.len() < MAX_TEXT);
            prop_assert_eq!(text.parse(), Ok(address));
        }

        #[test]
        fn no_text_is_too_much_for_the_parser(text in ".{0,90}") {
            if let Ok(start) = text.parse::<StartAddress>() {
                let address = start.with(start.tmid.unwrap_or(Tmid::MAX));
                prop_assert_eq!(address.to_string().parse(), Ok(address));
            }
        }
    }
}
