//! The rules of fault injection. The newest rule comes first, and the first one that hits a message applies.

use super::Admin;
use crate::fault::{DelayRule, DropRule, FaultStats, Filter};
use lnet_log::LogClass;
use lnet_wire::{Nid, NidPattern};

impl Admin<'_> {
    /// Adds a drop rule. Equal rules may exist (ST-25).
    pub fn add_drop_rule(&self, rule: DropRule) {
        self.faults.add_drop(rule, self.env.now());
        let Filter { source, dest, .. } = &rule.filter;
        self.env.log(
            LogClass::FaultRule,
            format_args!("{source} -> {dest}"),
            format_args!("drop rule {source} -> {dest} added; messages that match it are dropped"),
        );
    }

    /// Adds a delay rule. Equal rules may exist (ST-25).
    pub fn add_delay_rule(&self, rule: DelayRule) {
        self.faults.add_delay(rule, self.env.now());
        let Filter { source, dest, .. } = &rule.filter;
        self.env.log(
            LogClass::FaultRule,
            format_args!("{source} -> {dest}"),
            format_args!("delay rule {source} -> {dest} added; messages that match it are delayed"),
        );
    }

    /// Deletes the drop rules with these patterns (`None`: any pattern); returns their number.
    pub fn delete_drop_rules(&self, source: Option<NidPattern>, dest: Option<NidPattern>) -> usize {
        self.faults.delete_drops(source, dest)
    }

    /// Deletes the delay rules with these patterns (`None`: any pattern); returns their number. The messages that
    /// they delay continue at once. Event handlers run inside; not to be called from one.
    pub fn delete_delay_rules(&self, source: Option<NidPattern>, dest: Option<NidPattern>) -> usize {
        let (deleted, kept) = self.faults.delete_delays(source, dest);
        kept.into_iter().for_each(|message| self.data_path.resume_delayed(message));
        deleted
    }

    /// Drop rules and their statistics, the newest first.
    pub fn drop_rules(&self) -> Vec<(DropRule, FaultStats)> {
        self.faults.drops()
    }

    /// Delay rules and their statistics, the newest first.
    pub fn delay_rules(&self) -> Vec<(DelayRule, FaultStats)> {
        self.faults.delays()
    }

    /// Resets the statistics of all drop rules, and restarts their intervals.
    pub fn reset_drop_rules(&self) {
        self.faults.reset_drops(self.env.now());
    }

    /// Resets the statistics of all delay rules, and restarts their intervals.
    pub fn reset_delay_rules(&self) {
        self.faults.reset_delays(self.env.now());
    }

    /// Makes the next `count` messages to or from `nid` (`None`: any) fail: `IOC_LIBCFS_FAIL_NID`. 0 ends that; `u32::MAX`
    /// means all later messages.
    pub fn fail_nid(&self, nid: Option<Nid>, count: u32) {
        self.fail_rules.set(nid, count);
    }
}
