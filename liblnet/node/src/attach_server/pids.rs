//! The PIDs of the programs on a node: no two have the same.

use lnd_common::sync::lock;
use lnet_wire::Pid;
use std::collections::BTreeSet;
use std::sync::Mutex;

/// The PIDs that are in use.
#[derive(Debug, Default)]
pub(super) struct Pids(Mutex<BTreeSet<u32>>);

impl Pids {
    /// Gives a program the PID that it wants if no other has it; else that of its process, or the next one that is free.
    pub(super) fn assign(&self, wanted: Pid, process: Option<u32>) -> Pid {
        let mut used = lock(&self.0);
        let is_possible = |pid: &u32| !Pid(*pid).is_user() && *pid != 0 && *pid != Pid::LUSTRE.0;
        let others = process.into_iter().chain(1..).filter(is_possible);
        let wanted = Some(wanted.0).filter(|pid| !Pid(*pid).is_user());
        let pid = wanted.into_iter().chain(others).find(|pid| !used.contains(pid));
        // There are far more PIDs than programs.
        let pid = pid.unwrap_or(Pid::LUSTRE.0);
        used.insert(pid);
        Pid(pid)
    }

    pub(super) fn release(&self, pid: Pid) {
        lock(&self.0).remove(&pid.0);
    }

    /// Whether no program has one.
    pub(super) fn are_unused(&self) -> bool {
        lock(&self.0).is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_to_ask_gets_a_pid_and_others_get_free_ones() {
        let pids = Pids::default();
        let assign = |wanted, process| pids.assign(Pid(wanted), process).0;
        assert_eq!(assign(Pid::LUSTRE.0, Some(700)), Pid::LUSTRE.0);
        assert_eq!(assign(Pid::LUSTRE.0, Some(700)), 700);
        assert_eq!(assign(Pid::LUSTRE.0, Some(700)), 1);
        assert_eq!(assign(Pid::LUSTRE.0, None), 2);
        assert_eq!(assign(777, Some(1)), 777);
        assert_eq!(assign(0x8000_0001, Some(Pid::LUSTRE.0)), 3);
        pids.release(Pid::LUSTRE);
        assert_eq!(pids.assign(Pid::LUSTRE, Some(5)), Pid::LUSTRE);
    }
}
