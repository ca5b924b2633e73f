//! Counters.

use super::{CommandOutcome, Context};
use crate::cli::{Stats, StatsCommand, StatsRate, StatsShow};
use lnet_dlc::ops::sample::Sample;
use lnet_dlc::ops::stats;
use lnet_dlc::{Operation, ReturnCode, SeqNo};
use lnet_metrics::{Format, NodeSample, exposition};
use std::time::Instant;

pub(super) fn run(command: &Stats, cx: &mut Context<'_>) -> CommandOutcome {
    match &command.command {
        None | Some(StatsCommand::Show(StatsShow { prometheus: true })) => show_prometheus(cx),
        Some(StatsCommand::Show(_)) => {
            CommandOutcome::show(stats::show(cx.node, SeqNo::NONE, &mut cx.report))
        }
        Some(StatsCommand::Reset) => {
            CommandOutcome::change(stats::reset(cx.node, SeqNo::NONE, &mut cx.report))
        }
        Some(StatsCommand::Rate(rate)) => show_rate(rate, cx),
    }
}

fn show_prometheus(cx: &mut Context<'_>) -> CommandOutcome {
    match stats::sample(cx.node, usize::MAX, &mut cx.report) {
        Ok(sample) => {
            cx.text = exposition(&[NodeSample::of(sample)], Format::Prometheus, false);
            CommandOutcome::change(ReturnCode::OK)
        }
        Err(rc) => CommandOutcome::show(rc),
    }
}

/// Takes two samples; the time between them is measured.
fn show_rate(rate: &StatsRate, cx: &mut Context<'_>) -> CommandOutcome {
    let mut sample = || -> Result<(Sample, Instant), ReturnCode> {
        let sample = stats::sample(cx.node, 0, &mut cx.report)?;
        Ok((sample, Instant::now()))
    };
    let both = sample().and_then(|first| {
        std::thread::sleep(rate.time);
        Ok((first, sample()?))
    });
    let ((before, then), (now, when)) = match both {
        Ok(both) => both,
        Err(rc) => return CommandOutcome::show(rc),
    };
    if before.node != now.node {
        let rc = ReturnCode::from(lnet_wire::Errno::ConnectionReset);
        let text = "another node answered the second time; measure again";
        return CommandOutcome::show(cx.report.end(Operation::Show, "rate", SeqNo::NONE, rc, text));
    }
    CommandOutcome::show(stats::show_rate(&before, &now, when - then, &mut cx.report))
}
