//! `lnetctl set`, `lnetctl routing`

use super::{Context, Outcome};
use crate::cli::{Mode, Routing, Set, Value};
use lnet_dlc::ops::global::{self, Setting};
use lnet_dlc::ops::routing;
use lnet_dlc::ranges::{OutOfRange, ROUTER_BUFFERS};
use lnet_dlc::request::Tunable;
use lnet_dlc::{Operation, ReturnCode, SeqNo};

pub(super) fn run(command: &Set, cx: &mut Context<'_>) -> Outcome {
    let (setting, Value { value }) = match command {
        Set::Routing(value) => return Outcome::change(switch(*value, cx)),
        Set::TinyBuffers(value) => return Outcome::change(buffers(0, *value, cx)),
        Set::SmallBuffers(value) => return Outcome::change(buffers(1, *value, cx)),
        Set::LargeBuffers(value) => return Outcome::change(buffers(2, *value, cx)),
        Set::NumaRange(value) => (Setting::NumaRange, *value),
        Set::MaxInterfaces(value) => (Setting::Tunable(Tunable::MaxInterfaces), *value),
        Set::Discovery(Mode { value }) => (Setting::Tunable(Tunable::Discovery), Value { value: *value }),
        Set::DropAsymRoute(value) => (Setting::Tunable(Tunable::DropAsymRoute), *value),
        Set::RetryCount(value) => (Setting::Tunable(Tunable::RetryCount), *value),
        Set::TransactionTimeout(value) => (Setting::Tunable(Tunable::TransactionTimeout), *value),
        Set::HealthSensitivity(value) => (Setting::Tunable(Tunable::HealthSensitivity), *value),
        Set::RecoveryInterval(value) => (Setting::Tunable(Tunable::RecoveryInterval), *value),
        Set::RouterSensitivity(value) => (Setting::Tunable(Tunable::RouterSensitivity), *value),
        Set::ResponseTracking(value) => (Setting::Tunable(Tunable::ResponseTracking), *value),
        Set::RecoveryLimit(value) => (Setting::Tunable(Tunable::RecoveryLimit), *value),
        Set::MaxRecoveryPingInterval(value) => (Setting::Tunable(Tunable::MaxRecoveryPingInterval), *value),
        Set::CompareQueuedBytes(value) => (Setting::Tunable(Tunable::CompareQueuedBytes), *value),
        Set::DiscoveryTimeout(value) => (Setting::Tunable(Tunable::DiscoveryTimeout), *value),
    };
    Outcome::change(global::config(cx.node, setting, value, SeqNo::NONE, &mut cx.report))
}

pub(super) fn routing(Routing::Show: &Routing, cx: &mut Context<'_>) -> Outcome {
    Outcome::show(routing::show(cx.node, SeqNo::NONE, &mut cx.report, false))
}

fn switch(Value { value }: Value, cx: &mut Context<'_>) -> ReturnCode {
    match value {
        0 | 1 => routing::enable(cx.node, value == 1, SeqNo::NONE, &mut cx.report),
        _ => {
            let text = format!("routing: {value}: it takes 1 (on) or 0 (off)");
            cx.report.end(Operation::Parser, "set", SeqNo::NONE, ReturnCode::BAD_PARAM, text)
        }
    }
}

/// Sets one of tiny, small and large.
fn buffers(which: usize, Value { value }: Value, cx: &mut Context<'_>) -> ReturnCode {
    let Ok(value) = i32::try_from(value) else {
        let text = OutOfRange { range: ROUTER_BUFFERS, value };
        return cx.report.end(Operation::Add, "buf", SeqNo::NONE, ReturnCode::OUT_OF_RANGE, text);
    };
    let [tiny, small, large] = [0, 1, 2].map(|pool| if pool == which { value } else { -1 });
    routing::config_buffers(cx.node, tiny, small, large, SeqNo::NONE, &mut cx.report)
}
