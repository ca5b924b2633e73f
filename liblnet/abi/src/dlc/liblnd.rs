//! Tunables in trees: the functions of `liblnd.h` for programs that show and read tunables themselves.

use super::tunables::O2IB;
use super::types::{lnet_ioctl_config_lnd_cmn_tunables, lnet_lnd_tunables};
use crate::cyaml::create::_cYAML_create_number;
use crate::cyaml::node::{self, NUMBER, Node, OBJECT, YamlNode};
use crate::entry::{InString, helper};
use crate::types::__u32;
use lnet_dlc::ReturnCode;
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
            Some(NetType::O2IB) => {
                add(lnd_tunables, &O2IB.each_ref().map(|field| (field.name, (field.value)(&rdma).into())))
            }
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
        let connections = u16::try_from(read(c"conns_per_peer").unwrap_or(1)).unwrap_or(0);
        // SAFETY: checked for NULL; a union of the program's, which the call may write, of which every view is made of plain numbers.
        unsafe {
            match kind(net_type) {
                Some(NetType::TCP) => (*lnd).lnd_tun_u.lnd_sock.lnd_conns_per_peer = connections,
                Some(NetType::O2IB) => {
                    let rdma = &mut (*lnd).lnd_tun_u.lnd_o2ib;
                    for field in &O2IB {
                        let value = read(field.name).and_then(|value| u32::try_from(value).ok());
                        (field.set)(rdma, value.unwrap_or(0));
                    }
                    rdma.lnd_conns_per_peer = connections;
                }
                _ => {}
            }
        }
    });
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
