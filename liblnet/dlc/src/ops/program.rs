//! The programs that are attached to a node: `lnetctl program show`.

use super::error_text::error_text;
use crate::report::{Operation, Report, SeqNo};
use crate::request::{AttachedProgram, AttachedPrograms, Backend, PayloadWays, Request, RingFill};
use crate::{ReturnCode, Value};
use lnet_wire::Errno;

const PROGRAM: &str = "program";

/// Shows the programs that are attached to the node, and how many attachments there are and were refused; or the programs of one
/// process alone, -2 if there is none. With a `detail`, also what was done for each.
pub fn show(backend: &dyn Backend, process: Option<u32>, detail: u32, report: &mut Report) -> ReturnCode {
    let AttachedPrograms { programs, refused } = match backend.ask(Request::GetPrograms) {
        Ok(all) => all,
        Err(errno) => {
            let text = format!("cannot read the programs: {}", error_text(errno));
            return report.end(Operation::Show, PROGRAM, SeqNo::NONE, errno.into(), text);
        }
    };
    let is_meant = |program: &&AttachedProgram| process.is_none() || program.process == process;
    let items: Vec<Value> =
        programs.iter().filter(is_meant).map(|program| to_value(program, detail > 0)).collect();
    if let Some(process) = process.filter(|_| items.is_empty()) {
        let text = format!("process {process} is not attached; see 'lnetctl program show'");
        return report.end(Operation::Show, PROGRAM, SeqNo::NONE, Errno::NotFound.into(), text);
    }
    if !items.is_empty() {
        report.show(PROGRAM, items);
    }
    if process.is_none() {
        let attached = Value::from(programs.len() as u64);
        report.show("attachments", Value::map().with("programs", attached).with("refused", refused));
    }
    report.success(Operation::Show, PROGRAM, SeqNo::NONE)
}

fn to_value(program: &AttachedProgram, with_counts: bool) -> Value {
    let AttachedProgram { name, process, user, pid, seconds, registered_bytes, payload, counts, .. } =
        program;
    // What the system does not say of a process in a container.
    let number = |id: &Option<u32>| id.map_or_else(|| Value::from("NA"), Value::from);
    let mut shown = Value::map()
        .with("name", Value::Quoted(name.clone()))
        .with("process", number(process))
        .with("user", number(user))
        .with("pid", *pid)
        .with("attached seconds", *seconds)
        .with("payload", way(*payload))
        .with("registered bytes", *registered_bytes);
    if with_counts {
        let made = Value::map().with("in place", payload.in_place).with("copied", payload.copied);
        shown.push("mds made", made);
        shown.push("mds", program.mds);
        shown.push("mes", program.mes);
        shown.push("claims", program.claims);
        shown.push("waiting gets", program.waiting_gets);
        shown.push("waiting acks", program.waiting_acks);
        shown.push("waiting requests", program.waiting_requests);
        shown.push("operations ring", ring(program.operations_ring));
        shown.push("reports ring", ring(program.reports_ring));
        let statistics = Value::map()
            .with("operation_count", counts.operations)
            .with("refused_operation_count", counts.refused)
            .with("report_count", counts.reports)
            .with("delayed_report_count", counts.delayed_reports)
            .with("node_wakeup_count", counts.node_wakeups)
            .with("program_wakeup_count", counts.program_wakeups);
        shown.push("statistics", statistics);
    }
    shown
}

/// The way of the payload of the MDs that a program has made.
const fn way(PayloadWays { in_place, copied }: PayloadWays) -> &'static str {
    match (in_place, copied) {
        (0, 0) => "none",
        (_, 0) => "in place",
        (0, _) => "copied",
        _ => "in place and copied",
    }
}

fn ring(RingFill { in_use, bytes }: RingFill) -> Value {
    Value::map().with("bytes in use", in_use).with("bytes", bytes)
}

#[cfg(test)]
mod tests {
    use super::super::fake::Fake;
    use super::*;
    use crate::request::{ProgramCounts, Reply};

    fn program(process: Option<u32>, payload: PayloadWays) -> AttachedProgram {
        AttachedProgram {
            name: "m0d".to_owned(),
            process,
            user: Some(1000),
            pid: 12345,
            seconds: 83,
            registered_bytes: 4096,
            payload,
            operations_ring: RingFill { in_use: 64, bytes: 262_144 },
            reports_ring: RingFill { in_use: 0, bytes: 262_144 },
            counts: ProgramCounts { operations: 9, ..ProgramCounts::default() },
            mes: 2,
            mds: 1,
            claims: 0,
            waiting_gets: 0,
            waiting_acks: 0,
            waiting_requests: 0,
        }
    }

    fn showing(process: Option<u32>, detail: u32) -> (ReturnCode, Report) {
        let programs = vec![
            program(Some(7), PayloadWays::default()),
            program(None, PayloadWays { in_place: 1, copied: 2 }),
        ];
        let reply = Reply::Programs(AttachedPrograms { programs, refused: 3 });
        let mut report = Report::new();
        let fake = Fake::new([(Request::GetPrograms, Ok(reply))]);
        (show(&fake, process, detail, &mut report), report)
    }

    #[test]
    fn all_programs_are_shown_with_the_number_of_refused_attachments() {
        let (rc, report) = showing(None, 0);
        let expected = "\
program:
    - name: \"m0d\"
      process: 7
      user: 1000
      pid: 12345
      attached seconds: 83
      payload: none
      registered bytes: 4096
    - name: \"m0d\"
      process: NA
      user: 1000
      pid: 12345
      attached seconds: 83
      payload: in place and copied
      registered bytes: 4096
attachments:
    programs: 2
    refused: 3
";
        assert_eq!((rc, report.shown.to_yaml().as_str()), (ReturnCode::OK, expected));
    }

    #[test]
    fn one_program_is_shown_alone_with_what_was_done_for_it() {
        let (rc, report) = showing(Some(7), 1);
        let shown = report.shown.to_yaml();
        assert_eq!((rc, shown.matches("- name").count()), (ReturnCode::OK, 1), "{shown}");
        assert!(shown.contains("bytes in use: 64\n") && shown.contains("operation_count: 9\n"), "{shown}");
        assert!(!shown.contains("attachments"), "{shown}");
    }

    #[test]
    fn a_process_that_is_not_attached_is_an_error() {
        let (rc, report) = showing(Some(8), 0);
        assert_eq!(rc, ReturnCode::from(Errno::NotFound));
        assert!(report.shown.is_empty() && report.errors_to_yaml().contains("process 8 is not attached"));
    }

    #[test]
    fn a_node_without_programs_shows_that_it_has_none() {
        let mut report = Report::new();
        let fake = Fake::new([(Request::GetPrograms, Ok(Reply::Programs(AttachedPrograms::default())))]);
        assert_eq!(show(&fake, None, 1, &mut report), ReturnCode::OK);
        assert_eq!(report.shown.to_yaml(), "attachments:\n    programs: 0\n    refused: 0\n");
    }
}
