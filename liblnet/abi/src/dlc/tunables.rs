//! Tunables in C's structures: those that a program asks for, and those that an interface has.

use super::types::{
    lnd_tun_u, lnet_ioctl_config_lnd_cmn_tunables, lnet_ioctl_config_lnd_tunables,
    lnet_ioctl_config_o2iblnd_tunables, lnet_lnd_tunables,
};
use lnet_dlc::ops::net;
use lnet_dlc::ranges::OutOfRange;
use lnet_dlc::request::{LndNumbers, LndTunables, NiTunables};
use lnet_wire::NetType;
use std::ffi::{CStr, c_long};

/// A member of the structure for InfiniBand.
pub(super) struct O2ibField {
    /// Its name in YAML.
    pub(super) name: &'static CStr,
    pub(super) value: fn(&lnet_ioctl_config_o2iblnd_tunables) -> u32,
    /// Stores a value; one that the member has no room for, as its largest.
    pub(super) set: fn(&mut lnet_ioctl_config_o2iblnd_tunables, u32),
    /// The largest number that a program may mean; 0 and what is above stand for the driver's own.
    max: u32,
}

macro_rules! field {
    ($name:literal, $field:ident: $kind:ty, $max:expr) => {
        O2ibField {
            name: $name,
            value: |all| all.$field.into(),
            set: |all, value| all.$field = <$kind>::try_from(value).unwrap_or(<$kind>::MAX),
            max: $max,
        }
    };
}

const MAX_WORD: u32 = i32::MAX as u32;
const MAX_HALF_WORD: u32 = u16::MAX as u32 - 1;

/// The members, in the order in which `lnetctl` shows them.
pub(super) const O2IB: [O2ibField; 8] = [
    field!(c"peercredits_hiw", lnd_peercredits_hiw: u32, MAX_WORD),
    field!(c"map_on_demand", lnd_map_on_demand: u32, MAX_WORD),
    field!(c"concurrent_sends", lnd_concurrent_sends: u32, MAX_WORD),
    field!(c"fmr_pool_size", lnd_fmr_pool_size: u32, MAX_WORD),
    field!(c"fmr_flush_trigger", lnd_fmr_flush_trigger: u32, MAX_WORD),
    field!(c"fmr_cache", lnd_fmr_cache: u32, MAX_WORD),
    field!(c"ntx", lnd_ntx: u16, MAX_HALF_WORD),
    field!(c"conns_per_peer", lnd_conns_per_peer: u16, MAX_HALF_WORD),
];

/// The tunables of every driver that a program asks for: 0 and negative numbers stand for the default.
pub(crate) fn of_every_driver(asked: Option<&lnet_ioctl_config_lnd_tunables>) -> NiTunables {
    let Some(asked) = asked else { return NiTunables::default() };
    let common = asked.lt_cmn;
    let set = |value: i32| u32::try_from(value).ok().filter(|value| *value > 0);
    NiTunables {
        peer_timeout: set(common.lct_peer_timeout),
        peer_credits: set(common.lct_peer_tx_credits),
        peer_buffer_credits: set(common.lct_peer_rtr_credits),
        credits: set(common.lct_max_tx_credits),
    }
}

/// The tunables of one driver that a program asks for, for a net of this kind: 0 and -1 stand for the driver's own. `connections`, unless
/// it is negative, goes before the number in the structure.
pub(crate) fn of_driver(
    kind: Option<NetType>,
    asked: Option<&lnet_ioctl_config_lnd_tunables>,
    connections: c_long,
) -> Result<LndTunables, OutOfRange> {
    let (in_structure, numbers) = match (kind, asked) {
        (Some(kind), Some(asked)) => members(kind, asked),
        _ => (None, LndNumbers::default()),
    };
    let connections = if connections >= 0 { Some(connections) } else { in_structure };
    let conns_per_peer = connections.map(net::conns_per_peer).transpose()?;
    Ok(LndTunables { conns_per_peer, numbers })
}

/// The connections and the numbers that a structure gives for a kind of net.
fn members(kind: NetType, asked: &lnet_ioctl_config_lnd_tunables) -> (Option<c_long>, LndNumbers) {
    // SAFETY: every view of the union is made of plain numbers, so that any bytes of the program's are one.
    let (sock, rdma) = unsafe { (asked.lt_tun.lnd_tun_u.lnd_sock, asked.lt_tun.lnd_tun_u.lnd_o2ib) };
    let given = O2IB.iter().filter_map(|field| {
        let value = (field.value)(&rdma);
        Some((field.name.to_str().ok()?, value)).filter(|_| (1..=field.max).contains(&value))
    });
    let (connections, numbers) = match kind {
        NetType::TCP => (sock.lnd_conns_per_peer, LndNumbers::default()),
        NetType::O2IB => (rdma.lnd_conns_per_peer, LndNumbers::new(given)),
        _ => (0, LndNumbers::default()),
    };
    let connections = Some(connections).filter(|count| !matches!(*count, 0 | u16::MAX));
    (connections.map(c_long::from), numbers)
}

/// The tunables of an interface on a net of this kind, in C's structure.
pub(crate) fn to_c(
    kind: NetType,
    tunables: &NiTunables,
    lnd: &LndTunables,
) -> lnet_ioctl_config_lnd_tunables {
    let number = |value: Option<u32>| i32::try_from(value.unwrap_or(0)).unwrap_or(i32::MAX);
    let lt_cmn = lnet_ioctl_config_lnd_cmn_tunables {
        lct_version: 0,
        lct_peer_timeout: number(tunables.peer_timeout),
        lct_peer_tx_credits: number(tunables.peer_credits),
        lct_peer_rtr_credits: number(tunables.peer_buffer_credits),
        lct_max_tx_credits: number(tunables.credits),
    };
    let connections = lnd.conns_per_peer.unwrap_or(0);
    let mut of_kind = lnd_tun_u { lnd_o2ib: NO_NUMBERS };
    match kind {
        NetType::TCP => of_kind.lnd_sock.lnd_conns_per_peer = connections,
        NetType::O2IB => {
            let mut rdma = NO_NUMBERS;
            for field in &O2IB {
                let number = field.name.to_str().ok().and_then(|name| lnd.numbers.get(name));
                (field.set)(&mut rdma, number.unwrap_or(0));
            }
            rdma.lnd_conns_per_peer = connections;
            of_kind.lnd_o2ib = rdma;
        }
        _ => {}
    }
    lnet_ioctl_config_lnd_tunables { lt_cmn, lt_tun: lnet_lnd_tunables { lnd_tun_u: of_kind } }
}

const NO_NUMBERS: lnet_ioctl_config_o2iblnd_tunables = lnet_ioctl_config_o2iblnd_tunables {
    lnd_version: 0,
    lnd_peercredits_hiw: 0,
    lnd_map_on_demand: 0,
    lnd_concurrent_sends: 0,
    lnd_fmr_pool_size: 0,
    lnd_fmr_flush_trigger: 0,
    lnd_fmr_cache: 0,
    lnd_conns_per_peer: 0,
    lnd_ntx: 0,
};

/// The size of C's structure.
pub(crate) const SIZE: usize = size_of::<lnet_ioctl_config_lnd_tunables>();

/// C's structure from its bytes.
pub(crate) fn from_bytes(bytes: [u8; SIZE]) -> lnet_ioctl_config_lnd_tunables {
    // SAFETY: the structure consists of numbers, so that any bytes are one.
    unsafe { std::mem::transmute(bytes) }
}

/// The bytes of C's structure.
pub(crate) fn to_bytes(all: lnet_ioctl_config_lnd_tunables) -> [u8; SIZE] {
    // SAFETY: the structure consists of numbers without padding between them, and all bytes of its union have been written by `to_c`.
    unsafe { std::mem::transmute(all) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(
        common: [i32; 4],
        change: impl FnOnce(&mut lnet_ioctl_config_o2iblnd_tunables),
    ) -> lnet_ioctl_config_lnd_tunables {
        let [peer_timeout, peer_credits, peer_buffer_credits, credits] =
            common.map(|value| u32::try_from(value).ok());
        let tunables = NiTunables { peer_timeout, peer_credits, peer_buffer_credits, credits };
        let mut all = to_c(NetType::O2IB, &tunables, &LndTunables::default());
        let mut rdma = NO_NUMBERS;
        change(&mut rdma);
        all.lt_tun.lnd_tun_u.lnd_o2ib = rdma;
        all
    }

    #[test]
    fn numbers_for_o2ib_come_back_in_the_members_in_which_they_were_given() {
        let given = asked([100, 32, 4, 1024], |rdma| {
            *rdma = lnet_ioctl_config_o2iblnd_tunables {
                lnd_version: 0,
                lnd_peercredits_hiw: 20,
                lnd_map_on_demand: 32,
                lnd_concurrent_sends: 64,
                lnd_fmr_pool_size: 2048,
                lnd_fmr_flush_trigger: 500,
                lnd_fmr_cache: 2,
                lnd_conns_per_peer: 4,
                lnd_ntx: 1000,
            };
        });
        let lnd = of_driver(Some(NetType::O2IB), Some(&given), -1).unwrap();
        let all = [20, 32, 64, 2048, 500, 2, 1000];
        assert_eq!(lnd.numbers, LndNumbers::new(LndNumbers::names().iter().copied().zip(all)));
        assert_eq!(lnd.conns_per_peer, Some(4));
        let common = of_every_driver(Some(&given));
        assert_eq!(to_bytes(to_c(NetType::O2IB, &common, &lnd)), to_bytes(given));
        assert_eq!(to_bytes(from_bytes(to_bytes(given))), to_bytes(given));
    }

    #[test]
    fn zero_and_minus_one_stand_for_the_drivers_own_number() {
        let zeros = asked([0; 4], |_| ());
        let mut minus_ones = from_bytes([0xff; SIZE]);
        minus_ones.lt_cmn.lct_version = 0;
        for all in [zeros, minus_ones] {
            for kind in [NetType::O2IB, NetType::TCP] {
                assert_eq!(of_driver(Some(kind), Some(&all), -1).unwrap(), LndTunables::default());
            }
            assert_eq!(of_every_driver(Some(&all)), NiTunables::default());
        }
    }

    #[test]
    fn the_connections_of_the_call_go_before_those_in_the_structure_and_leave_the_numbers() {
        let given = asked([0; 4], |rdma| {
            (rdma.lnd_ntx, rdma.lnd_conns_per_peer) = (1000, 4);
        });
        let lnd = of_driver(Some(NetType::O2IB), Some(&given), 2).unwrap();
        assert_eq!((lnd.conns_per_peer, lnd.numbers.get("ntx")), (Some(2), Some(1000)));
        assert!(of_driver(Some(NetType::O2IB), None, 128).is_err());
    }

    #[test]
    fn a_driver_has_only_its_own_members() {
        let lnd = LndTunables {
            conns_per_peer: Some(3),
            numbers: LndNumbers::new([("ntx", 70_000), ("fmr_cache", 1)]),
        };
        let in_c = |kind| to_c(kind, &NiTunables::default(), &lnd).lt_tun.lnd_tun_u;
        // SAFETY: all bytes are numbers.
        let (sock, rdma, none) = unsafe {
            (in_c(NetType::TCP).lnd_sock, in_c(NetType::O2IB).lnd_o2ib, in_c(NetType::LO).lnd_o2ib)
        };
        assert_eq!((sock.lnd_version, sock.lnd_conns_per_peer), (0, 3));
        assert_eq!((rdma.lnd_conns_per_peer, rdma.lnd_fmr_cache, rdma.lnd_ntx), (3, 1, u16::MAX));
        assert_eq!((none.lnd_conns_per_peer, none.lnd_fmr_cache), (0, 0));
    }
}
