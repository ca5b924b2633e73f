//! Operations on forwarding and router buffers.

use super::error_text::error_text;
use crate::ranges::{ROUTER_BUFFERS, Range};
use crate::report::{Operation, Report, SeqNo};
use crate::request::{Backend, BufferCounts, BufferPool, CptBuffers, Request};
use crate::{ReturnCode, Value};
use lnet_wire::Errno;

/// Switches forwarding on or off. `lustre_lnet_enable_routing`.
pub fn enable(backend: &dyn Backend, enable: bool, seq_no: SeqNo, report: &mut Report) -> ReturnCode {
    let (operation, word) = match enable {
        true => (Operation::Add, "enable"),
        false => (Operation::Del, "disable"),
    };
    match backend.tell(Request::ConfigRouter(enable)) {
        Ok(()) => report.success(operation, ROUTING, seq_no),
        Err(errno) => {
            let remedy = match errno {
                Errno::NoMemory => "; set fewer router buffers",
                _ => "",
            };
            let text = format!("cannot {word} routing: {}{remedy}", error_text(errno));
            report.end(operation, ROUTING, seq_no, errno.into(), text)
        }
    }
}

/// Sets the numbers of router buffers: 0 for the default, -1 for no change.
/// `lustre_lnet_config_buffers`.
pub fn config_buffers(
    backend: &dyn Backend,
    tiny: i32,
    small: i32,
    large: i32,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    let sizes = [("tiny buffers", tiny), ("small buffers", small), ("large buffers", large)];
    for (name, count) in sizes {
        if let Err(error) = (Range { name, ..ROUTER_BUFFERS }).check(count.into()) {
            let text = format!("{error}; 0 is the default, and -1 changes nothing");
            return report.end(Operation::Add, "buf", seq_no, ReturnCode::OUT_OF_RANGE, text);
        }
    }
    let [tiny, small, large] = [tiny, small, large].map(|count| u32::try_from(count).ok());
    match backend.tell(Request::AddBuffers(BufferCounts { tiny, small, large })) {
        Ok(()) => report.success(Operation::Add, "buf", seq_no),
        Err(errno) => {
            let text = format!("cannot set the number of router buffers: {}", error_text(errno));
            report.end(Operation::Add, "buf", seq_no, errno.into(), text)
        }
    }
}

/// Shows the router buffers (dlc 2.6); nothing until forwarding has been switched on once.
/// `lustre_lnet_show_routing`.
pub fn show(backend: &dyn Backend, seq_no: SeqNo, report: &mut Report, backup: bool) -> ReturnCode {
    show_if(backend, seq_no, report, backup, |_| true)
}

/// Shows the router buffers for an export: like [`show`], but nothing while forwarding is off. A node starts with forwarding
/// off, and `enable: 0` does not restore a node that has forwarded before.
pub fn export(backend: &dyn Backend, seq_no: SeqNo, report: &mut Report, backup: bool) -> ReturnCode {
    show_if(backend, seq_no, report, backup, |cpt| cpt.enabled)
}

fn show_if(
    backend: &dyn Backend,
    seq_no: SeqNo,
    report: &mut Report,
    backup: bool,
    is_shown: impl Fn(&CptBuffers) -> bool,
) -> ReturnCode {
    let cpts: Vec<CptBuffers> = match backend.list(Request::GetBuffers) {
        Ok(cpts) => cpts,
        Err(errno) => {
            let text = format!("cannot read the router buffers: {}", error_text(errno));
            return report.end(Operation::Show, ROUTING, seq_no, errno.into(), text);
        }
    };
    if let Some(first) = cpts.first().filter(|first| is_shown(first)) {
        let enable = Value::map().with("enable", u32::from(first.enabled));
        match backup {
            true => report.show(ROUTING, enable),
            false => {
                let pools = cpts.iter().enumerate().map(|(i, cpt)| {
                    let sizes = Value::map()
                        .with("tiny", pool(cpt.tiny))
                        .with("small", pool(cpt.small))
                        .with("large", pool(cpt.large));
                    Value::map().with(format!("cpt[{i}]"), sizes)
                });
                report.show(ROUTING, pools.chain([enable]).collect::<Vec<_>>());
            }
        }
        let sum = |of: fn(&CptBuffers) -> &BufferPool| {
            cpts.iter().map(|cpt| u64::from(of(cpt).buffers)).sum::<u64>()
        };
        let sums = Value::map()
            .with("tiny", sum(|cpt| &cpt.tiny))
            .with("small", sum(|cpt| &cpt.small))
            .with("large", sum(|cpt| &cpt.large));
        report.show("buffers", sums);
    }
    report.success(Operation::Show, ROUTING, seq_no)
}

const ROUTING: &str = "routing";

fn pool(pool: BufferPool) -> Value {
    Value::map()
        .with("npages", pool.pages)
        .with("nbuffers", pool.buffers)
        .with("credits", pool.credits)
        .with("mincredits", pool.min_credits)
}

#[cfg(test)]
mod tests {
    use super::super::fake::Fake;
    use super::*;
    use crate::request::Reply;

    #[test]
    fn routing_is_switched_on_as_add_and_off_as_del() {
        for (on, reply, rc, head) in [
            (true, Ok(Reply::Done), 0, "add:\n    - routing:\n"),
            (false, Ok(Reply::Done), 0, "del:\n    - routing:\n"),
            (true, Err(Errno::NoMemory), -12, "add:\n    - routing:\n          errno: -12\n"),
        ] {
            let fake = Fake::new([(Request::ConfigRouter(on), reply)]);
            let mut report = Report::new();
            assert_eq!(enable(&fake, on, SeqNo::NONE, &mut report), ReturnCode(rc));
            assert!(report.errors_to_yaml().starts_with(head));
        }
    }

    #[test]
    fn a_count_below_minus_1_is_out_of_range_and_minus_1_changes_nothing() {
        let mut report = Report::new();
        let rc = config_buffers(&Fake::unasked(), 1, -2, 0, SeqNo::NONE, &mut report);
        assert_eq!(rc, ReturnCode::OUT_OF_RANGE);
        let counts = BufferCounts { tiny: Some(4096), small: None, large: Some(0) };
        let fake = Fake::new([(Request::AddBuffers(counts), Ok(Reply::Done))]);
        assert_eq!(config_buffers(&fake, 4096, -1, 0, SeqNo::NONE, &mut report), ReturnCode::OK);
    }

    fn buffers(index: u32) -> (Request, Result<Reply, Errno>) {
        let pool =
            |pages, buffers| BufferPool { pages, buffers, credits: buffers as i32 - 1, min_credits: -2 };
        let cpt = CptBuffers { tiny: pool(0, 2), small: pool(1, 4), large: pool(256, 8), enabled: true };
        (Request::GetBuffers(index), Ok(Reply::Buffers(cpt)))
    }

    #[test]
    fn buffers_are_shown_by_cpt_and_in_sum() {
        let end = || (Request::GetBuffers(2), Err(Errno::NotFound));
        let mut report = Report::new();
        let fake = Fake::new([buffers(0), buffers(1), end()]);
        assert_eq!(show(&fake, SeqNo::NONE, &mut report, false), ReturnCode::OK);
        let cpt = |i| {
            format!(
                "    - cpt[{i}]:
          tiny:
              npages: 0
              nbuffers: 2
              credits: 1
              mincredits: -2
          small:
              npages: 1
              nbuffers: 4
              credits: 3
              mincredits: -2
          large:
              npages: 256
              nbuffers: 8
              credits: 7
              mincredits: -2
"
            )
        };
        let sums = "buffers:\n    tiny: 4\n    small: 8\n    large: 16\n";
        let expected = format!("routing:\n{}{}    - enable: 1\n{sums}", cpt(0), cpt(1));
        assert_eq!(report.shown.to_yaml(), expected);

        let mut report = Report::new();
        let fake = Fake::new([buffers(0), buffers(1), end()]);
        assert_eq!(show(&fake, SeqNo::NONE, &mut report, true), ReturnCode::OK);
        assert_eq!(report.shown.to_yaml(), format!("routing:\n    enable: 1\n{sums}"));
    }

    #[test]
    fn nothing_is_shown_before_routing_was_switched_on() {
        let fake = Fake::new([(Request::GetBuffers(0), Err(Errno::NotFound))]);
        let mut report = Report::new();
        assert_eq!(show(&fake, SeqNo::NONE, &mut report, false), ReturnCode::OK);
        assert!(report.shown.is_empty());
        assert_eq!(
            show(&Fake::down(Request::GetBuffers(0)), SeqNo::NONE, &mut report, false),
            ReturnCode(-100)
        );
    }
}
