//! Copies of the payload between attached programs: the bytes that `attach-path` copies by `memcpy` and its like, which valgrind's DHAT
//! counts, divided by those of the payload.
//!
//! As with instructions, the cost is the difference of two runs. Beside the payload some hundred bytes of each operation are copied.

use super::Cost;
use crate::error::{Error, context};
use std::path::Path;
use std::process::Command;

/// A PUT, by the kind of memory of both programs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub(super) name: &'static str,
    /// The first argument of `attach-path`.
    way: &'static str,
}

pub(super) const WORK: [Work; 2] = [
    Work { name: "copies of the payload, attached PUT of 1 MiB, registered memory", way: "attached" },
    Work { name: "copies of the payload, attached PUT of 1 MiB, other memory", way: "unregistered" },
];

/// The operations of the shorter run, all of which are under way at a time.
const COUNT: u32 = 64;
const PAYLOAD: u32 = 1 << 20;

pub(super) fn count(program: &Path, work: Work) -> Result<Cost, Error> {
    let run = |operations: u32| {
        let mut command = Command::new("valgrind");
        command.args(["--tool=dhat", "--mode=copy", "--dhat-out-file=/dev/null"]).arg(program);
        command.args([work.way, &operations.to_string(), &PAYLOAD.to_string()]);
        let output = command.output().map_err(context("valgrind"))?;
        let text = String::from_utf8_lossy(&output.stderr);
        copied(&text)
            .filter(|_| output.status.success())
            .ok_or_else(|| format!("{}: valgrind: {}: {text}", work.name, output.status))
    };
    let more = run(2 * COUNT)? - run(COUNT)?;
    Ok(Cost { name: work.name.to_owned(), figure: more / (f64::from(COUNT) * f64::from(PAYLOAD)) })
}

/// Reads the number of bytes from the output of DHAT.
fn copied(text: &str) -> Option<f64> {
    let (_, rest) = text.split_once("Total: ")?;
    rest.split_whitespace().next()?.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_bytes_is_read_from_what_dhat_prints() {
        let text = "==7== Command: x\n==7== \n==7== Total:     67,356,304 bytes in 1,076 blocks\n==7== \n";
        assert_eq!(copied(text), Some(67_356_304.0));
        assert_eq!(copied("==7== Command: x\n"), None);
    }
}
