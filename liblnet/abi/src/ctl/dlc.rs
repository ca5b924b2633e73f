//! Commands that change or return the configuration: conversion between the structures of `lib-dlc.h` and requests.
//!
//! Structures have the layout of 2.10 where 2.10 has them, else that of 2.15 (c-abi 5.4). Offsets are written where
//! they are used, in the order of c-abi 5.4.

use super::argument::{Argument, Bytes, store};
use super::selection::{self, SubjectKind};
use super::udsp;
use crate::dlc::tunables;
use crate::ni::nid_to_c;
use lnet_core::Errno;
use lnet_dlc::request::{
    AddLocalNi, AddPeerNi, AddRoute, BufferCounts, BufferPool, CommCount, Configure, CptBuffers, DelLocalNi,
    DelPeerNi, DelRoute, ElementStats, LndTunables, LocalNi, NiStatus, NiTunables, Peer, PeerNi, Route,
    SetConnsPerPeer, SetHealth, SetHealthKind, SetPeerState, Setting,
};
use lnet_dlc::{Backend, CptList, Request};
use lnet_wire::{NetId, Nid, Pid};
use std::net::Ipv4Addr;

/// The size of a text, `LNET_MAX_STR_LEN`.
const TEXT: usize = 128;
/// The size of `struct lnet_ioctl_config_data`, and the offset of the data that follows it.
const CONFIG_DATA: usize = 184;
const CONFIG_BULK: usize = 180;
/// The sizes of `struct lnet_ioctl_config_ni` of 2.10 and `lnet_ioctl_element_stats`.
const CONFIG_NI: usize = 2728;
const ELEMENT_STATS: usize = 12;
const NET_CONFIG: usize = 2564;
const POOL_CFG: usize = 52;
const PEER_CFG: usize = 48;
const PEER_INFO: usize = 184;
const CREDIT_INFO: usize = 160;
/// `status` of an interface that works (`LNET_NI_STATUS_UP`) and of one that does not.
const STATUS_UP: u32 = 0x15aa_c0de;
const STATUS_DOWN: u32 = 0xdead_face;
/// The number of hops that is not given, and the number that stands for any net.
const UNSET: u32 = u32::MAX;

/// The commands that this file carries out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Unconfigure,
    Configure,
    AddRoute,
    DelRoute,
    GetRoute,
    AddNet,
    DelNet,
    GetNet,
    ConfigRouter,
    AddBuffers,
    GetBuffers,
    GetPeerInfo,
    AddPeerNi,
    DelPeerNi,
    GetPeerNi,
    AddLocalNi,
    DelLocalNi,
    GetLocalNi,
    SetNumaRange,
    GetNumaRange,
    GetPeerList,
    GetMessageStats,
    SetHealth,
    GetRecoveryQueue,
    AddUdsp,
    DelUdsp,
    GetUdspSize,
    GetUdsp,
    GetAppliedUdsp,
    ResetStats,
    SetConnsPerPeer,
    SetPeer,
    AddSelection(SubjectKind),
    DelSelection(SubjectKind),
    ShowSelection(SubjectKind),
    SetDiscovery,
    SetTcpBonding,
}

impl Command {
    /// The command with this number.
    pub(super) const fn numbered(number: u32) -> Option<Self> {
        Some(match number {
            56 => Self::Unconfigure,
            59 => Self::Configure,
            81 => Self::AddRoute,
            82 => Self::DelRoute,
            83 => Self::GetRoute,
            84 => Self::AddNet,
            85 => Self::DelNet,
            86 => Self::GetNet,
            87 => Self::ConfigRouter,
            88 => Self::AddBuffers,
            89 => Self::GetBuffers,
            90 => Self::GetPeerInfo,
            92 => Self::AddPeerNi,
            93 => Self::DelPeerNi,
            94 => Self::GetPeerNi,
            95 => Self::AddLocalNi,
            96 => Self::DelLocalNi,
            97 => Self::GetLocalNi,
            98 => Self::SetNumaRange,
            99 => Self::GetNumaRange,
            100 => Self::GetPeerList,
            101 => Self::GetMessageStats,
            102 => Self::SetHealth,
            104 => Self::GetRecoveryQueue,
            105 => Self::AddUdsp,
            106 => Self::DelUdsp,
            107 => Self::GetUdspSize,
            108 => Self::GetUdsp,
            109 => Self::GetAppliedUdsp,
            110 => Self::ResetStats,
            111 => Self::SetConnsPerPeer,
            112 => Self::SetPeer,
            // The commands of the first design, which gave them no numbers.
            201 => Self::AddSelection(SubjectKind::Net),
            202 => Self::AddSelection(SubjectKind::Nid),
            203 => Self::AddSelection(SubjectKind::Pair),
            204 => Self::DelSelection(SubjectKind::Net),
            205 => Self::DelSelection(SubjectKind::Nid),
            206 => Self::DelSelection(SubjectKind::Pair),
            207 => Self::ShowSelection(SubjectKind::Net),
            208 => Self::ShowSelection(SubjectKind::Nid),
            209 => Self::ShowSelection(SubjectKind::Pair),
            210 => Self::SetDiscovery,
            211 => Self::SetTcpBonding,
            _ => return None,
        })
    }

    /// Carries out the command.
    pub(super) fn run(self, node: &dyn Backend, argument: Argument) -> Result<(), Errno> {
        match self {
            Self::Unconfigure => node.tell(Request::Unconfigure),
            Self::Configure => {
                let nets = argument.data()?.ioc_flags == 0;
                node.tell(Request::Configure(Configure { nets, large_nids: false }))
            }
            Self::AddRoute => node.tell(Request::AddRoute(add_route(&argument.bytes(CONFIG_DATA)?)?)),
            Self::DelRoute => node.tell(Request::DelRoute(del_route(&argument.bytes(CONFIG_DATA)?)?)),
            Self::GetRoute => get_route(node, &mut argument.bytes(CONFIG_DATA)?),
            Self::AddNet => node.tell(Request::AddLocalNi(add_net(&argument.bytes(CONFIG_DATA)?)?)),
            Self::DelNet => {
                let net = NetId::from_u32(argument.bytes(CONFIG_DATA)?.u32(8)).ok_or(Errno::Invalid)?;
                node.tell(Request::DelLocalNi(DelLocalNi { net, interface: None }))
            }
            Self::GetNet => get_net(node, &mut argument.bytes(CONFIG_DATA + NET_CONFIG)?),
            Self::ConfigRouter => node.tell(Request::ConfigRouter(argument.bytes(CONFIG_DATA)?.u32(28) != 0)),
            Self::AddBuffers => {
                let data = argument.bytes(CONFIG_DATA)?;
                let count = |offset| u32::try_from(data.i32(offset)).ok();
                let counts = BufferCounts { tiny: count(32), small: count(36), large: count(40) };
                node.tell(Request::AddBuffers(counts))
            }
            Self::GetBuffers => get_buffers(node, &mut argument.bytes(CONFIG_DATA + POOL_CFG)?),
            Self::GetPeerInfo => get_peer_info(node, &mut argument.bytes(PEER_INFO)?),
            Self::AddPeerNi => node.tell(Request::AddPeerNi(add_peer_ni(&argument.bytes(PEER_CFG)?)?)),
            Self::DelPeerNi => node.tell(Request::DelPeerNi(del_peer_ni(&argument.bytes(PEER_CFG)?)?)),
            Self::GetPeerNi => get_peer_ni(node, &mut argument.exactly(PEER_CFG)?),
            Self::AddLocalNi => node.tell(Request::AddLocalNi(add_local_ni(&argument.bytes(CONFIG_NI)?)?)),
            Self::DelLocalNi => del_local_ni(node, &argument.bytes(CONFIG_NI)?),
            Self::GetLocalNi => {
                get_local_ni(node, &mut argument.bytes(CONFIG_NI + ELEMENT_STATS + tunables::SIZE)?)
            }
            Self::SetNumaRange => node.tell(Request::SetNumaRange(argument.exactly(12)?.u32(8))),
            Self::GetNumaRange => {
                let mut value = argument.exactly(12)?;
                value.put_u32(8, node.ask(Request::GetNumaRange)?);
                Ok(())
            }
            Self::GetPeerList => get_peer_list(node, &mut argument.bytes(PEER_CFG)?),
            Self::GetMessageStats => get_message_stats(node, &mut argument.bytes(72)?),
            Self::SetHealth => node.tell(Request::SetHealth(set_health(&argument.bytes(24)?)?)),
            Self::GetRecoveryQueue => get_recovery_queue(node, &mut argument.bytes(1040)?),
            Self::AddUdsp => udsp::add(node, &argument.bytes(udsp::UDSP)?),
            Self::DelUdsp => udsp::delete(node, &argument.bytes(udsp::UDSP)?),
            Self::GetUdspSize => udsp::size(node, &mut argument.bytes(udsp::UDSP)?),
            Self::GetUdsp => udsp::get(node, &mut argument.bytes(udsp::UDSP)?),
            Self::GetAppliedUdsp => udsp::applied(node, &mut argument.bytes(udsp::APPLIED_UDSP)?),
            Self::ResetStats => node.tell(Request::ResetLnetStats),
            Self::SetConnsPerPeer => {
                let data = argument.bytes(24)?;
                let nid = match data.u16(8) & 1 {
                    0 => Some(nid(&data, 16)?),
                    _ => None,
                };
                node.tell(Request::SetConnsPerPeer(SetConnsPerPeer { nid, value: data.u16(10) }))
            }
            Self::SetPeer => {
                let data = argument.bytes(PEER_CFG)?;
                node.tell(Request::SetPeer(SetPeerState { nid: nid(&data, 8)?, state: data.u32(32) }))
            }
            Self::AddSelection(kind) => selection::add(node, kind, &argument.bytes(selection::RULE)?),
            Self::DelSelection(kind) => selection::delete(node, kind, &argument.bytes(selection::RULE)?),
            Self::ShowSelection(kind) => selection::show(node, kind, &mut argument.bytes(selection::RULE)?),
            Self::SetDiscovery => {
                let mode = argument.bytes(CONFIG_DATA)?.u32(12);
                node.tell(Request::SetTunable(Setting::Discovery, mode.into()))
            }
            // There is no TCP bonding to switch off.
            Self::SetTcpBonding if argument.bytes(CONFIG_DATA)?.u32(12) == 0 => Ok(()),
            Self::SetTcpBonding => Err(Errno::NotSupported),
        }
    }
}

/// Reads a NID; [`Errno::Invalid`] for "any" and for a number that is not a NID.
fn nid(data: &Bytes<'_>, offset: usize) -> Result<Nid, Errno> {
    Nid::from_u64(data.u64(offset)).ok_or(Errno::Invalid)
}

fn add_route(data: &Bytes<'_>) -> Result<AddRoute, Errno> {
    Ok(AddRoute {
        net: NetId::from_u32(data.u32(8)).ok_or(Errno::Invalid)?,
        gateway: nid(data, 16)?,
        hops: Some(data.u32(28)).filter(|hops| *hops != UNSET),
        priority: data.u32(32),
        health_sensitivity: 1,
    })
}

fn del_route(data: &Bytes<'_>) -> Result<DelRoute, Errno> {
    let net = match data.u32(8) {
        UNSET => None,
        net => Some(NetId::from_u32(net).ok_or(Errno::Invalid)?),
    };
    Ok(DelRoute { net, gateway: Nid::from_u64(data.u64(16)) })
}

fn get_route(node: &dyn Backend, data: &mut Bytes<'_>) -> Result<(), Errno> {
    let route: Route = node.ask(Request::GetRoute(data.u32(12)))?;
    data.put_u32(8, route.net.to_u32());
    data.put_u64(16, nid_to_c(Some(route.gateway)));
    data.put_u32(28, route.hops.unwrap_or(UNSET));
    data.put_u32(32, route.priority);
    data.put_u32(36, route.alive.into());
    Ok(())
}

/// Reads an interface in the form from before Multi-Rail.
fn add_net(data: &Bytes<'_>) -> Result<AddLocalNi, Errno> {
    let positive = |offset| u32::try_from(data.i32(offset)).ok().filter(|value| *value > 0);
    Ok(AddLocalNi {
        net: NetId::from_u32(data.u32(8)).ok_or(Errno::Invalid)?,
        interface: data.text(28, TEXT).map(str::to_owned),
        tunables: NiTunables {
            peer_timeout: positive(156),
            peer_credits: positive(160),
            peer_buffer_credits: positive(164),
            credits: positive(168),
        },
        lnd: LndTunables::default(),
        cpts: None,
    })
}

/// Stores the `cfg_count`th interface in the form from before Multi-Rail.
fn get_net(node: &dyn Backend, data: &mut Bytes<'_>) -> Result<(), Errno> {
    let ni: Box<LocalNi> = node.ask(Request::GetLocalNi(data.u32(12)))?;
    data.put_u64(16, nid_to_c(Some(ni.nid)));
    data.put_u32(24, ni.cpts.as_slice().len() as u32);
    for (offset, value) in [
        (156, ni.tunables.peer_timeout),
        (160, ni.tunables.peer_credits),
        (164, ni.tunables.peer_buffer_credits),
        (168, ni.tunables.credits),
    ] {
        data.put_u32(offset, value.unwrap_or(0));
    }
    data.put_text(CONFIG_BULK, TEXT, ni.interface.as_deref().unwrap_or(""));
    data.put_u32(CONFIG_BULK + 2048, status(&ni));
    put_cpts(data, CONFIG_BULK + 2052, &ni.cpts);
    Ok(())
}

fn get_buffers(node: &dyn Backend, data: &mut Bytes<'_>) -> Result<(), Errno> {
    let buffers: CptBuffers = node.ask(Request::GetBuffers(data.u32(12)))?;
    let mut offset = CONFIG_BULK;
    for BufferPool { pages, buffers, credits, min_credits } in [buffers.tiny, buffers.small, buffers.large] {
        data.put_u32(offset, pages);
        data.put_u32(offset + 4, buffers);
        data.put_i32(offset + 8, credits);
        data.put_i32(offset + 12, min_credits);
        offset += 16;
    }
    data.put_u32(offset, buffers.enabled.into());
    Ok(())
}

/// Stores the `pr_count`th peer NI of partition `cr_ncpt`; all are reported as in partition 0.
fn get_peer_info(node: &dyn Backend, data: &mut Bytes<'_>) -> Result<(), Errno> {
    if data.u32(24 + 156) != 0 {
        return Err(Errno::NotFound);
    }
    let (_, peer_ni) = peer_ni_by_index(node, data.u32(8))?;
    data.put_u64(16, nid_to_c(Some(peer_ni.nid)));
    data.put(24, &credit_info(&peer_ni));
    data.put_u32(24 + 156, 1);
    Ok(())
}

fn add_peer_ni(data: &Bytes<'_>) -> Result<AddPeerNi, Errno> {
    let (primary, other) = (Nid::from_u64(data.u64(8)), Nid::from_u64(data.u64(16)));
    // If there is only one NID it does not matter which field has it.
    let (primary, other) = match (primary, other) {
        (Some(primary), other) => (primary, other),
        (None, Some(alone)) => (alone, None),
        (None, None) => return Err(Errno::Invalid),
    };
    let multi_rail = data.u32(28) & 0xff != 0;
    if other.is_some() && !multi_rail {
        return Err(Errno::NotPermitted);
    }
    Ok(AddPeerNi { primary, nid: other, multi_rail, lock_primary: data.u32(24) == 1 })
}

fn del_peer_ni(data: &Bytes<'_>) -> Result<DelPeerNi, Errno> {
    Ok(DelPeerNi { primary: nid(data, 8)?, nid: Nid::from_u64(data.u64(16)), force: data.u32(24) == 1 })
}

/// Stores the `prcfg_count`th peer NI, with its credits and counts in the caller's memory.
fn get_peer_ni(node: &dyn Backend, data: &mut Bytes<'_>) -> Result<(), Errno> {
    if data.u32(36) as usize != CREDIT_INFO + ELEMENT_STATS {
        return Err(Errno::Invalid);
    }
    let (peer, peer_ni) = peer_ni_by_index(node, data.u32(24))?;
    data.put_u64(8, nid_to_c(Some(peer.primary)));
    data.put_u64(16, nid_to_c(Some(peer_ni.nid)));
    data.put_u32(28, peer.multi_rail.into());
    let mut record = credit_info(&peer_ni).to_vec();
    record.extend_from_slice(&element_stats(&peer_ni.stats));
    store(data.u64(40), &record)
}

fn peer_ni_by_index(node: &dyn Backend, index: u32) -> Result<(Box<Peer>, PeerNi), Errno> {
    let mut left = index as usize;
    for primary in node.ask::<Vec<Nid>>(Request::GetPeerList)? {
        // The peer may have been removed since it was listed.
        let Ok(peer) = node.ask::<Box<Peer>>(Request::GetPeerNi(primary)) else { continue };
        match peer.nis.get(left).cloned() {
            Some(peer_ni) => return Ok((peer, peer_ni)),
            None => left -= peer.nis.len(),
        }
    }
    Err(Errno::NotFound)
}

fn get_peer_list(node: &dyn Backend, data: &mut Bytes<'_>) -> Result<(), Errno> {
    let primaries: Vec<Nid> = node.ask(Request::GetPeerList)?;
    let mut list = Vec::with_capacity(primaries.len() * 16);
    for primary in &primaries {
        list.extend_from_slice(&nid_to_c(Some(*primary)).to_ne_bytes());
        list.extend_from_slice(&Pid::LUSTRE.0.to_ne_bytes());
        list.extend_from_slice(&[0; 4]);
    }
    let room = data.u32(36) as usize;
    data.put_u32(36, u32::try_from(list.len()).unwrap_or(u32::MAX));
    if room < list.len() {
        return Err(Errno::TooBig);
    }
    data.put_u32(24, primaries.len() as u32);
    store(data.u64(40), &list)
}

fn add_local_ni(data: &Bytes<'_>) -> Result<AddLocalNi, Errno> {
    let net = nid(data, 8)?.net();
    let asked = data.array(CONFIG_NI).map(tunables::from_bytes);
    Ok(AddLocalNi {
        net,
        interface: data.text(16, TEXT).map(str::to_owned),
        tunables: tunables::of_every_driver(asked.as_ref()),
        lnd: tunables::of_driver(Some(net.kind()), asked.as_ref(), -1).map_err(|_| Errno::Invalid)?,
        cpts: Some(cpts(data)).filter(|cpts| !cpts.is_empty()),
    })
}

/// Deletes an interface; address 0 means the whole net (OM-33).
fn del_local_ni(node: &dyn Backend, data: &Bytes<'_>) -> Result<(), Errno> {
    let raw = data.u64(8);
    let net = NetId::from_u32((raw >> 32) as u32).ok_or(Errno::Invalid)?;
    let interface = match (raw as u32, data.text(16, TEXT)) {
        (0, None) => None,
        (_, Some(name)) => Some(name.to_owned()),
        (address, None) => Some(Ipv4Addr::from(address).to_string()),
    };
    node.tell(Request::DelLocalNi(DelLocalNi { net, interface }))
}

fn get_local_ni(node: &dyn Backend, data: &mut Bytes<'_>) -> Result<(), Errno> {
    let ni: Box<LocalNi> = node.ask(Request::GetLocalNi(data.u32(2716)))?;
    data.put_u64(8, nid_to_c(Some(ni.nid)));
    data.put_text(16, TEXT, ni.interface.as_deref().unwrap_or(""));
    put_cpts(data, 2192, &ni.cpts);
    data.put_u32(2704, ni.cpts.as_slice().len() as u32);
    data.put_u32(2708, status(&ni));
    data.put_u32(2712, 0);
    data.put_i32(2720, ni.device_cpt);
    data.put(CONFIG_NI, &element_stats(&ni.stats));
    let in_c = tunables::to_c(ni.nid.net().kind(), &ni.tunables, &ni.lnd);
    data.put(CONFIG_NI + ELEMENT_STATS, &tunables::to_bytes(in_c));
    Ok(())
}

fn get_message_stats(node: &dyn Backend, data: &mut Bytes<'_>) -> Result<(), Errno> {
    let ni: Box<LocalNi> = node.ask(Request::GetLocalNi(data.u32(8)))?;
    let mut offset = 12;
    for CommCount { put, get, reply, ack, hello } in
        [ni.messages.sent, ni.messages.received, ni.messages.dropped]
    {
        for count in [get, put, reply, ack, hello] {
            data.put_u32(offset, count as u32);
            offset += 4;
        }
    }
    Ok(())
}

fn set_health(data: &Bytes<'_>) -> Result<SetHealth, Errno> {
    let kind = match data.u32(8) {
        0 => SetHealthKind::LocalNi,
        1 => SetHealthKind::PeerNi,
        _ => return Err(Errno::Invalid),
    };
    let all = data.u16(12) & 1 != 0;
    let nid = if all { None } else { Some(nid(data, 16)?) };
    Ok(SetHealth { kind, nid, value: (data.u16(14) as i16).into() })
}

fn get_recovery_queue(node: &dyn Backend, data: &mut Bytes<'_>) -> Result<(), Errno> {
    let queue: Vec<Nid> = node.ask(Request::GetRecoveryQueue(data.u32(8) == 0))?;
    data.put_u32(12, queue.len().min(128) as u32);
    for (i, nid) in queue.iter().take(128).enumerate() {
        data.put_u64(16 + 8 * i, nid_to_c(Some(*nid)));
    }
    Ok(())
}

const fn status(ni: &LocalNi) -> u32 {
    match ni.status {
        NiStatus::Up => STATUS_UP,
        NiStatus::Down => STATUS_DOWN,
    }
}

fn cpts(data: &Bytes<'_>) -> CptList {
    let count = (data.u32(2704) as usize).min(CptList::MAX_CPTS);
    CptList::new((0..count).map(|i| data.u32(2192 + 4 * i)).collect())
}

fn put_cpts(data: &mut Bytes<'_>, offset: usize, cpts: &CptList) {
    for (i, cpt) in cpts.as_slice().iter().take(CptList::MAX_CPTS).enumerate() {
        data.put_u32(offset + 4 * i, *cpt);
    }
}

/// The bytes of a `struct lnet_ioctl_element_stats`; counts in C are 32 bits wide and wrap.
fn element_stats(stats: &ElementStats) -> [u8; ELEMENT_STATS] {
    let mut bytes = [0; ELEMENT_STATS];
    let mut view = Bytes(&mut bytes);
    for (i, count) in [stats.sent, stats.received, stats.dropped].into_iter().enumerate() {
        view.put_u32(4 * i, count as u32);
    }
    bytes
}

/// The bytes of a `struct lnet_peer_ni_credit_info`.
fn credit_info(peer_ni: &PeerNi) -> [u8; CREDIT_INFO] {
    let mut bytes = [0; CREDIT_INFO];
    let mut view = Bytes(&mut bytes);
    let alive = peer_ni.alive.map_or("NA", |alive| if alive { "up" } else { "down" });
    view.put_text(0, TEXT, alive);
    view.put_u32(128, peer_ni.refcount);
    for (i, credits) in
        [peer_ni.max_tx_credits, peer_ni.tx_credits, peer_ni.min_tx_credits].into_iter().enumerate()
    {
        view.put_i32(132 + 4 * i, credits);
    }
    view.put_u32(144, peer_ni.tx_queued_bytes);
    view.put_i32(148, peer_ni.rtr_credits);
    view.put_i32(152, peer_ni.min_rtr_credits);
    view.put_u32(156, 1);
    bytes
}
