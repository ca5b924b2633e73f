//! The match table compared with a list that is searched from front to back.

use super::criteria::*;
use super::match_table::*;
use crate::event::EventQueue;
use crate::md::{Access, Md, NewMd};
use crate::memory::tests::{any_md_handle, plain_spec};
use crate::memory::{HandleSlot, Keeper, MdMemory, MdOptions, MdSpec, MeHandle, Place};
use lnet_wire::{Nid, Pid, ProcessId};
use proptest::prelude::*;
use std::sync::Arc;

fn nid(n: u8) -> Nid {
    Nid::from_u64(0x0002_0000_0a00_0000 | u64::from(n)).unwrap()
}

fn new_md(me: HandleSlot, tag: usize, threshold: i32) -> Arc<Md> {
    let spec = MdSpec { threshold, options: MdOptions::OP_PUT, user_ptr: tag, ..plain_spec(8) };
    let attached = Some(MeHandle::new(Place { table: 0, slot: me }));
    let queue = None::<Arc<EventQueue>>;
    let memory = MdMemory::contiguous(0, 8);
    let new =
        NewMd { spec, memory, max_size: None, auto_unlink: true, attached, queue, keeper: Keeper::Program };
    Arc::new(Md::new(any_md_handle(), new))
}

fn request(from: u8, match_bits: u64) -> MatchRequest {
    let initiator = ProcessId { nid: nid(from), pid: Pid(1) };
    MatchRequest {
        initiator,
        match_bits,
        access: Access { needs: MdOptions::OP_PUT, length: 0, remote_offset: 0 },
    }
}

#[derive(Clone, Debug)]
enum Step {
    Attach { from: Option<u8>, bits: u64, ignore: u64, before: bool, uses: i32 },
    InsertNear { which: usize, from: Option<u8>, bits: u64, ignore: u64, before: bool },
    Remove { which: usize },
    Put { from: u8, bits: u64 },
}

fn step(unique: bool) -> impl Strategy<Value = Step> {
    let from = if unique { (0_u8..3).prop_map(Some).boxed() } else { prop::option::of(0_u8..2).boxed() };
    let ignore = if unique { Just(0).boxed() } else { prop_oneof![Just(0), 0_u64..4].boxed() };
    // In a wildcard portal an entry that names its process needs ignore bits, as the portal would refuse it otherwise.
    prop_oneof![
        4 => (from.clone(), 0_u64..4, ignore.clone(), any::<bool>(), 1_i32..3)
            .prop_map(|(from, bits, ignore, before, uses)| Step::Attach { from, bits, ignore, before, uses }),
        1 => (any::<usize>(), from, 0_u64..4, ignore, any::<bool>())
            .prop_map(|(which, from, bits, ignore, before)| Step::InsertNear { which, from, bits, ignore, before }),
        1 => any::<usize>().prop_map(|which| Step::Remove { which }),
        5 => (0_u8..3, 0_u64..4).prop_map(|(from, bits)| Step::Put { from, bits }),
    ]
}

/// The entries in list order; those with ignore bits are searched first.
#[derive(Default)]
struct Naive(Vec<NaiveEntry>);

#[derive(Clone)]
struct NaiveEntry {
    slot: HandleSlot,
    tag: usize,
    criteria: Criteria,
    uses: i32,
}

impl Naive {
    fn add(&mut self, at: usize, slot: HandleSlot, tag: usize, criteria: Criteria, uses: i32) {
        self.0.insert(at, NaiveEntry { slot, tag, criteria, uses });
    }

    fn put(&mut self, request: &MatchRequest) -> Option<usize> {
        let masked_first = [true, false];
        let at = masked_first.iter().find_map(|masked| {
            self.0.iter().position(|e| (e.criteria.ignore_bits != 0) == *masked && e.criteria.accept(request))
        })?;
        self.0[at].uses -= 1;
        let tag = self.0[at].tag;
        if self.0[at].uses == 0 {
            self.0.remove(at);
        }
        Some(tag)
    }

    fn same_list(&self, a: &Criteria, b: &Criteria) -> bool {
        match (a.ignore_bits, b.ignore_bits) {
            (0, 0) => a.match_bits == b.match_bits && (a.kind() == PortalKind::Wildcard || a.from == b.from),
            (0, _) | (_, 0) => false,
            _ => true,
        }
    }
}

fn run(unique: bool, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let kind = if unique { PortalKind::Unique } else { PortalKind::Wildcard };
    let mut table = MatchTable::default();
    let mut naive = Naive::default();
    let criteria = |from: Option<u8>, bits, ignore| Criteria {
        from: MatchId { nid: from.map(nid), pid: unique.then_some(Pid(1)) },
        match_bits: bits,
        ignore_bits: ignore,
    };
    for (tag, step) in steps.into_iter().enumerate() {
        match step {
            Step::Attach { from, bits, ignore, before, uses } => {
                let criteria = criteria(from, bits, ignore);
                let position = if before { InsertPosition::Before } else { InsertPosition::After };
                let slot = table.attach(criteria, true, position).unwrap();
                table.set_md(slot, new_md(slot, tag, uses));
                let at = if before { 0 } else { naive.0.len() };
                naive.add(at, slot, tag, criteria, uses);
            }
            Step::InsertNear { which, from, bits, ignore, before } => {
                if naive.0.is_empty() {
                    continue;
                }
                let near = which % naive.0.len();
                let criteria = criteria(from, bits, ignore);
                let slot = table.insert(naive.0[near].slot, criteria, true, before).unwrap();
                table.set_md(slot, new_md(slot, tag, 1));
                let at = match (naive.same_list(&naive.0[near].criteria, &criteria), before) {
                    (true, true) => near,
                    (true, false) => near + 1,
                    (false, true) => 0,
                    (false, false) => naive.0.len(),
                };
                naive.add(at, slot, tag, criteria, 1);
            }
            Step::Remove { which } => {
                if naive.0.is_empty() {
                    continue;
                }
                let gone = naive.0.remove(which % naive.0.len());
                prop_assert!(table.remove(gone.slot).is_ok());
                prop_assert!(table.remove(gone.slot).is_err());
            }
            Step::Put { from, bits } => {
                let request = request(from, bits);
                let got = match table.find(kind, &request) {
                    MatchResult::Md { md, .. } => Some(md.spec().user_ptr),
                    _ => None,
                };
                prop_assert_eq!(got, naive.put(&request));
            }
        }
        prop_assert_eq!(table.len(), naive.0.len());
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_wildcard_portal_finds_what_a_search_of_its_list_finds(steps in prop::collection::vec(step(false), 0..60)) {
        run(false, steps)?;
    }

    #[test]
    fn a_unique_portal_finds_what_a_search_of_its_list_finds(steps in prop::collection::vec(step(true), 0..60)) {
        run(true, steps)?;
    }
}

#[test]
fn an_entry_without_an_md_matches_nothing_and_takes_one_md() {
    let mut table = MatchTable::default();
    let any = Criteria { from: MatchId::ANY, match_bits: 5, ignore_bits: 0 };
    let slot = table.attach(any, false, InsertPosition::After).unwrap();
    assert!(matches!(table.find(PortalKind::Wildcard, &request(0, 5)), MatchResult::Nothing));
    table.set_md(slot, new_md(slot, 0, 1));
    assert!(table.can_take_md(slot).is_err());
    assert!(matches!(table.find(PortalKind::Wildcard, &request(0, 5)), MatchResult::Md { last: true, .. }));
    // The entry was kept, so that another MD can be attached.
    assert!(table.can_take_md(slot).is_ok());
}
