//! `lnetctl set`, `lnetctl routing`

use super::{CommandOutcome, Context};
use crate::cli::{Routing, Set, SettingValue, Value};
use lnet_dlc::ops::global;
use lnet_dlc::ops::routing;
use lnet_dlc::ranges::{OutOfRange, ROUTER_BUFFERS};
use lnet_dlc::{Operation, ReturnCode, SeqNo};

pub(super) fn run(command: &Set, cx: &mut Context<'_>) -> CommandOutcome {
    CommandOutcome::change(match command {
        Set::Routing(value) => switch(*value, cx),
        Set::TinyBuffers(value) => buffers(0, *value, cx),
        Set::SmallBuffers(value) => buffers(1, *value, cx),
        Set::LargeBuffers(value) => buffers(2, *value, cx),
        Set::Setting(SettingValue { setting, value }) => {
            global::config(cx.node, *setting, *value, SeqNo::NONE, &mut cx.report)
        }
    })
}

pub(super) fn routing(Routing::Show: &Routing, cx: &mut Context<'_>) -> CommandOutcome {
    CommandOutcome::show(routing::show(cx.node, SeqNo::NONE, &mut cx.report, false))
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
