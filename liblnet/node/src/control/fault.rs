//! Fault injection: rules that drop or delay messages.

use lnet_core::fault::{Causes, DelayRule, DropRule, FaultStats, Filter, Kinds, Loss, Odds};
use lnet_core::{Core, Errno};
use lnet_dlc::request::{DelFaults, Fault, FaultCounts, FaultEffect, FaultKind, FaultOdds, FaultRule};
use std::num::NonZeroU32;
use std::time::Duration;

/// The bits of the messages that have a portal: PUT and GET.
const TO_PORTALS: u32 = 2 | 4;

pub(super) fn add(core: &Core, rule: &FaultRule) -> Result<(), Errno> {
    let (filter, odds) = (filter(rule)?, odds(rule.odds)?);
    match rule.effect {
        FaultEffect::Drop { errors, all } => {
            let causes = match errors {
                0 => None,
                errors => Some(Causes::from_bits(errors).ok_or(Errno::Invalid)?),
            };
            let loss = match (causes, all) {
                (causes, true) => Loss::Everything(causes),
                (None, false) => Loss::Arriving(odds),
                (Some(causes), false) => Loss::Failing(odds, causes),
            };
            core.admin().add_drop_rule(DropRule { filter, loss });
        }
        FaultEffect::Delay { latency_ms: 0 } => return Err(Errno::Invalid),
        FaultEffect::Delay { latency_ms } => {
            let latency = Duration::from_millis(latency_ms);
            core.admin().add_delay_rule(DelayRule { filter, odds, latency });
        }
    }
    Ok(())
}

pub(super) fn delete(core: &Core, which: DelFaults) -> u32 {
    let deleted = match which.kind {
        FaultKind::Drop => core.admin().delete_drop_rules(which.source, which.dest),
        FaultKind::Delay => core.admin().delete_delay_rules(which.source, which.dest),
    };
    u32::try_from(deleted).unwrap_or(u32::MAX)
}

pub(super) fn reset(core: &Core, kind: FaultKind) {
    match kind {
        FaultKind::Drop => core.admin().reset_drop_rules(),
        FaultKind::Delay => core.admin().reset_delay_rules(),
    }
}

pub(super) fn get(core: &Core, kind: FaultKind, index: u32) -> Result<Fault, Errno> {
    let index = index as usize;
    let found = match kind {
        FaultKind::Drop => {
            core.admin().drop_rules().get(index).map(|(rule, stats)| (drop_rule(rule), counts(stats)))
        }
        FaultKind::Delay => {
            core.admin().delay_rules().get(index).map(|(rule, stats)| (delay_rule(rule), counts(stats)))
        }
    };
    found.map(|(rule, counts)| Fault { rule, counts }).ok_or(Errno::NotFound)
}

fn filter(rule: &FaultRule) -> Result<Filter, Errno> {
    let messages = match (rule.messages, rule.portals) {
        (messages, 0) => messages,
        (0, _) => TO_PORTALS,
        // A message without a portal would never match.
        (messages, _) if messages & TO_PORTALS == 0 => return Err(Errno::Invalid),
        (messages, _) => messages,
    };
    Ok(Filter {
        source: rule.source,
        dest: rule.dest,
        local: rule.local,
        kinds: Kinds::from_bits(messages).ok_or(Errno::Invalid)?,
        portals: rule.portals,
    })
}

const fn odds(odds: FaultOdds) -> Result<Odds, Errno> {
    Ok(match odds {
        FaultOdds::OneIn(count) => Odds::OneIn(count),
        FaultOdds::OnePerMs(0) | FaultOdds::HalfMs(0) => return Err(Errno::Invalid),
        FaultOdds::OnePerMs(ms) => Odds::OnePer(Duration::from_millis(ms)),
        FaultOdds::HalfMs(ms) => Odds::Half(Duration::from_millis(ms)),
    })
}

fn drop_rule(rule: &DropRule) -> FaultRule {
    let errors = rule.loss.causes().map_or(0, Causes::bits);
    let effect = FaultEffect::Drop { errors, all: matches!(rule.loss, Loss::Everything(_)) };
    rule_of(&rule.filter, rule.loss.odds().unwrap_or(Odds::OneIn(NonZeroU32::MIN)), effect)
}

fn delay_rule(rule: &DelayRule) -> FaultRule {
    rule_of(&rule.filter, rule.odds, FaultEffect::Delay { latency_ms: ms(rule.latency) })
}

fn rule_of(filter: &Filter, odds: Odds, effect: FaultEffect) -> FaultRule {
    FaultRule {
        source: filter.source,
        dest: filter.dest,
        local: filter.local,
        messages: filter.kinds.bits(),
        portals: filter.portals,
        odds: match odds {
            Odds::OneIn(count) => FaultOdds::OneIn(count),
            Odds::OnePer(interval) => FaultOdds::OnePerMs(ms(interval)),
            Odds::Half(interval) => FaultOdds::HalfMs(ms(interval)),
        },
        effect,
    }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

const fn counts(stats: &FaultStats) -> FaultCounts {
    let FaultStats { matched, hit, put, ack, get, reply } = *stats;
    FaultCounts { matched, hit, put, ack, get, reply }
}
