//! Temporary.
#![allow(missing_docs)]
use crate::{Nid, Pid};
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features(pub u32);
impl Features {
    pub const NI_STATUS: Self = Self(2);
    pub const ROUTING_DISABLED: Self = Self(4);
    pub const MULTI_RAIL: Self = Self(8);
}
impl std::ops::BitOr for Features {
    type Output = Self;
    fn bitor(self, o: Self) -> Self {
        Self(self.0 | o.0)
    }
}
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NiStatus {
    Up,
}
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PingEntry {
    pub nid: Nid,
    pub status: NiStatus,
}
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PingInfo {
    pub features: Features,
    pub pid: Pid,
    pub sequence: u32,
    pub entries: Vec<PingEntry>,
}
impl PingInfo {
    pub fn encode(&self) -> Vec<u8> {
        vec![0; 48]
    }
}
