//! Tunables in trees: the functions of `liblnd.h` for programs that show and read tunables themselves.

use super::types::{
    lnet_ioctl_config_lnd_cmn_tunables, lnet_ioctl_config_o2iblnd_tunables, lnet_lnd_tunables,
};
use crate::cyaml::create::_cYAML_create_number;
use crate::cyaml::node::{self, NUMBER, Node, OBJECT, YamlNode};
use crate::entry::{InString, helper};
use crate::types::__u32;
use lnet_dlc::ReturnCode;
use lnet_dlc::request::LndNumbers;
use lnet_wire::{NetId, NetType};
use std::ffi::{CStr, c_int};

/// Adds the tunables that every driver has to an object, such as the one under the key tunables. Returns 0;
/// LUSTRE_CFG_RC_BAD_PARAM for NULL, LUSTRE_CFG_RC_OUT_OF_MEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_net_show_tunables(
    tunables: YamlNode,
    cmn: *mut lnet_ioctl_config_lnd_cmn_tunables,
) -> c_int {
    helper(ReturnCode::GENERIC.0, || {
        // SAFETY: NULL, or a structure of the program's, unchanged during the call.
        let (Some(tunables), Some(cmn)) = (tunables, unsafe { cmn.as_ref() }) else {
            return ReturnCode::BAD_PARAM.0;
        };
        let all = [
            (c"peer_timeout", cmn.lct_peer_timeout),
            (c"peer_credits", cmn.lct_peer_tx_credits),
            (c"peer_buffer_credits", cmn.lct_peer_rtr_credits),
            (c"credits", cmn.lct_max_tx_credits),
        ];
        add(tunables, &all.map(|(key, value)| (key, value.into())))
    })
}

/// Adds the tunables of the driver of net_type (a net or its type) to an object, such as the one under the
/// key lnd tunables; none for a driver that has none. Returns as lustre_net_show_tunables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_ni_show_tunables(
    lnd_tunables: YamlNode,
    net_type: __u32,
    lnd: *mut lnet_lnd_tunables,
) -> c_int {
    helper(ReturnCode::GENERIC.0, || {
        let Some(lnd_tunables) = lnd_tunables.filter(|_| !lnd.is_null()) else {
            return ReturnCode::BAD_PARAM.0;
        };
        // SAFETY: checked for NULL; a union of the program's, unchanged during the call, of which every view is made of plain numbers.
        let (sock, rdma) = unsafe { ((*lnd).lnd_tun_u.lnd_sock, (*lnd).lnd_tun_u.lnd_o2ib) };
        match kind(net_type) {
            Some(NetType::TCP) => add(lnd_tunables, &[(c"conns_per_peer", sock.lnd_conns_per_peer.into())]),
            Some(NetType::O2IB) => add(lnd_tunables, &o2ib(&rdma).map(|(key, value)| (key, value.into()))),
            _ => 0,
        }
    })
}

/// Reads the tunables of the driver of net_type (a net or its type) from the object under the key
/// lnd tunables in a tree into *lnd. Without that key, *lnd is not changed; tunables that the object lacks become
/// 0, and conns_per_peer 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_yaml_extract_lnd_tunables(
    tree: YamlNode,
    net_type: __u32,
    lnd: *mut lnet_lnd_tunables,
) {
    helper((), || {
        let Some(tree) = tree.filter(|_| !lnd.is_null()) else { return };
        let is_it = |node: &Node| node.key() == Some(b"lnd tunables");
        let found = if is_it(&tree) { Some(tree) } else { node::walk(tree.child()).find(is_it) };
        let Some(object) = found.filter(|node| node.kind() == OBJECT) else { return };
        let read = |key: &CStr| {
            object
                .children()
                .find(|child| child.kind() == NUMBER && child.key() == Some(key.to_bytes()))
                .map(|child| child.with(|child| child.cy_valueint))
        };
        let word = |key| u32::try_from(read(key).unwrap_or(0)).unwrap_or(0);
        let half = |key, missing| u16::try_from(read(key).unwrap_or(missing)).unwrap_or(0);
        let connections = half(c"conns_per_peer", 1);
        // SAFETY: checked for NULL; a union of the program's, which the call may write, of which every view is made of plain numbers.
        unsafe {
            match kind(net_type) {
                Some(NetType::TCP) => (*lnd).lnd_tun_u.lnd_sock.lnd_conns_per_peer = connections,
                Some(NetType::O2IB) => {
                    let lnd = &mut (*lnd).lnd_tun_u.lnd_o2ib;
                    lnd.lnd_peercredits_hiw = word(c"peercredits_hiw");
                    lnd.lnd_map_on_demand = word(c"map_on_demand");
                    lnd.lnd_concurrent_sends = word(c"concurrent_sends");
                    lnd.lnd_fmr_pool_size = word(c"fmr_pool_size");
                    lnd.lnd_fmr_flush_trigger = word(c"fmr_flush_trigger");
                    lnd.lnd_fmr_cache = word(c"fmr_cache");
                    lnd.lnd_ntx = half(c"ntx", 0);
                    lnd.lnd_conns_per_peer = connections;
                }
                _ => {}
            }
        }
    });
}

/// The tunables that `lnetctl` shows for InfiniBand, in its order.
fn o2ib(lnd: &lnet_ioctl_config_o2iblnd_tunables) -> [(&'static CStr, u32); 8] {
    [
        (c"peercredits_hiw", lnd.lnd_peercredits_hiw),
        (c"map_on_demand", lnd.lnd_map_on_demand),
        (c"concurrent_sends", lnd.lnd_concurrent_sends),
        (c"fmr_pool_size", lnd.lnd_fmr_pool_size),
        (c"fmr_flush_trigger", lnd.lnd_fmr_flush_trigger),
        (c"fmr_cache", lnd.lnd_fmr_cache),
        (c"ntx", lnd.lnd_ntx.into()),
        (c"conns_per_peer", lnd.lnd_conns_per_peer.into()),
    ]
}

/// The numbers that a program gives for InfiniBand; 0 and -1 are the driver's.
pub(super) fn numbers(lnd: &lnet_ioctl_config_o2iblnd_tunables) -> LndNumbers {
    let given = |value: u32| value != 0 && i32::try_from(value).is_ok();
    let all = o2ib(lnd);
    LndNumbers::new(
        all.iter()
            .filter(|(_, value)| given(*value))
            .filter_map(|(key, value)| Some((key.to_str().ok()?, *value))),
    )
}

/// The type of a net, which is given as a type or as a net.
fn kind(net_type: __u32) -> Option<NetType> {
    match u16::try_from(net_type) {
        Ok(kind) => Some(NetType(kind)),
        Err(_) => NetId::from_u32(net_type).map(NetId::kind),
    }
}

fn add(object: Node, numbers: &[(&CStr, f64)]) -> c_int {
    for (key, value) in numbers {
        if _cYAML_create_number(Some(object), InString::of(key), *value).is_none() {
            return ReturnCode::OUT_OF_MEMORY.0;
        }
    }
    0
}
