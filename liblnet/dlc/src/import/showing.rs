//! Shows what the items of a file select: `import --show`.

use super::adding::{as_c, text};
use crate::model::{Block, Item};
use crate::ops::route::RouteFilter;
use crate::report::{Report, SeqNo};
use crate::request::Backend;
use crate::{ReturnCode, ops};

pub(super) fn show(backend: &dyn Backend, block: &Block, report: &mut Report) -> ReturnCode {
    match block {
        Block::Net(items) => once(
            items,
            |item| (text(&item.net), item.detail),
            |(net, detail), seq_no| {
                ops::net::show(backend, net.as_deref(), detail.unwrap_or(0), seq_no, report, false)
            },
        ),
        Block::Route(items) => once(
            items,
            |item| (text(&item.net), item.gateway.clone(), as_c(item.hops), as_c(item.priority), item.detail),
            |(net, gateway, hops, priority, detail), seq_no| {
                let (net, gateway) = (net.as_deref(), gateway.as_deref());
                let filter = RouteFilter { net, gateway, hops, priority };
                ops::route::show(backend, filter, detail.unwrap_or(0), seq_no, report, false)
            },
        ),
        Block::Peer(items) => once(
            items,
            |item| (text(&item.primary), item.detail),
            |(nid, detail), seq_no| {
                ops::peer::show(backend, nid.as_deref(), detail.unwrap_or(0), seq_no, report, false)
            },
        ),
        Block::Routing(Item { seq_no, .. }) | Block::Buffers(Item { seq_no, .. }) => {
            ops::routing::show(backend, *seq_no, report, false)
        }
        Block::Global(item) => item.it.iter().fold(ReturnCode::OK, |before, (setting, _)| {
            ops::global::show(backend, *setting, item.seq_no, report).or(before)
        }),
        Block::Udsp(items) => once(
            items,
            |item| as_c(item.index),
            |index, seq_no| ops::policy::show(backend, index, seq_no, report),
        ),
        Block::Statistics(item) => ops::stats::show(backend, item.seq_no, report),
        Block::Ip2nets(_) | Block::Ping(_) | Block::Discover(_) => ReturnCode::OK,
    }
}

/// Shows the things that the items select. A thing that several items select is shown once.
fn once<T, F: PartialEq + Clone>(
    items: &[Item<T>],
    filter: impl Fn(&T) -> F,
    mut show: impl FnMut(F, SeqNo) -> ReturnCode,
) -> ReturnCode {
    let mut shown: Vec<F> = Vec::new();
    let mut last = ReturnCode::OK;
    for item in items {
        let filter = filter(&item.it);
        if !shown.contains(&filter) {
            shown.push(filter.clone());
            last = show(filter, item.seq_no).or(last);
        }
    }
    last
}
