//! `lst add_test`, and what stands behind it: `brw write check=full size=1M`.

use super::number;
use clap::Args;
use lnet_selftest::console::{Brw, Check, Direction, TestSpec};
use lnet_selftest::wire::UnsafeParameters;

/// A test.
#[derive(Debug, Args)]
pub struct AddTest {
    /// The batch that it goes into
    #[arg(short, long, value_name = "NAME", default_value = "batch")]
    pub batch: String,
    /// RPCs at once between two nodes, up to 1024
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = number::positive)]
    pub concurrency: u32,
    /// So many clients in a row share so many servers
    #[arg(short, long, value_name = "D:S", default_value = "1:1")]
    pub distribute: String,
    /// The group of the clients
    #[arg(short, long, value_name = "GROUP")]
    pub from: String,
    /// The group of the servers
    #[arg(short, long, value_name = "GROUP")]
    pub to: String,
    /// RPCs of each, one after the other; below 0: without end
    #[arg(short = 'l', long = "loop", value_name = "N", default_value = "-1", allow_hyphen_values = true)]
    pub repeat: i32,
    /// ping, or brw with read|write, size=N[k|m], check=simple|full, off=N
    #[arg(value_name = "TEST", required = true)]
    pub test: Vec<String>,
}

const DEFAULT_SIZE: u32 = 4096;

/// The errors in the words of a test.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TestError {
    /// Ping has parameters.
    #[error("'{0}': ping takes nothing")]
    PingParameters(String),
    /// There is no test with this name.
    #[error("'{0}' is not a test: it takes ping or brw")]
    NotATest(String),
    /// A parameter of brw is unknown, or has an invalid value.
    #[error("'{0}': brw takes read or write, size=N[k|m], check=simple or check=full, off=N")]
    BrwParameter(String),
    /// The size and the offset of brw are invalid, or do not fit together.
    #[error(transparent)]
    Brw(#[from] UnsafeParameters),
}

/// Parses a test: its name and the parameters behind it, in upper or lower case.
pub fn test_spec(words: &[String]) -> Result<TestSpec, TestError> {
    let words: Vec<String> = words.iter().map(|word| word.to_ascii_lowercase()).collect();
    match words.split_first() {
        Some((first, [])) if first == "ping" => Ok(TestSpec::Ping),
        Some((first, rest)) if first == "ping" => Err(TestError::PingParameters(rest.join(" "))),
        Some((first, rest)) if first == "brw" => brw(rest).map(TestSpec::Brw),
        other => {
            let name = other.map_or("", |(first, _)| first);
            Err(TestError::NotATest(name.to_owned()))
        }
    }
}

fn brw(words: &[String]) -> Result<Brw, TestError> {
    let (mut direction, mut check) = (Direction::Read, Check::None);
    let (mut length, mut offset) = (DEFAULT_SIZE, 0);
    for word in words {
        match word.split_once('=') {
            None if matches!(word.as_str(), "read" | "r") => direction = Direction::Read,
            None if matches!(word.as_str(), "write" | "w") => direction = Direction::Write,
            Some(("check" | "c", "simple")) => check = Check::Simple,
            Some(("check" | "c", "full")) => check = Check::Full,
            Some(("size" | "s", text)) => length = size(text).ok_or_else(|| unknown(word))?,
            Some(("off" | "o", text)) => offset = size(text).ok_or_else(|| unknown(word))?,
            _ => return Err(unknown(word)),
        }
    }
    Ok(Brw::new(direction, check, length, offset)?)
}

fn unknown(word: &str) -> TestError {
    TestError::BrwParameter(word.to_owned())
}

/// Parses a size in bytes, with the unit `k` or `m` or without one.
fn size(text: &str) -> Option<u32> {
    let (digits, unit) = match text.as_bytes().last()? {
        b'k' => (text.get(..text.len() - 1)?, 1 << 10),
        b'm' => (text.get(..text.len() - 1)?, 1 << 20),
        _ => (text, 1),
    };
    number::any_base(digits)?.checked_mul(unit)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(line: &str) -> Result<TestSpec, TestError> {
        test_spec(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn words_behind_brw_come_in_any_order_and_in_capitals_or_not() {
        let brw = |direction, check, size, offset| {
            Ok(TestSpec::Brw(Brw::new(direction, check, size, offset).unwrap()))
        };
        let table = [
            ("ping", Ok(TestSpec::Ping)),
            ("brw", brw(Direction::Read, Check::None, 4096, 0)),
            ("brw write check=simple size=4K", brw(Direction::Write, Check::Simple, 4096, 0)),
            ("brw s=1M w c=full", brw(Direction::Write, Check::Full, 1 << 20, 0)),
            ("BRW READ SIZE=64k CHECK=FULL", brw(Direction::Read, Check::Full, 65536, 0)),
            ("brw size=0x1000 r", brw(Direction::Read, Check::None, 4096, 0)),
            ("brw size=010", brw(Direction::Read, Check::None, 8, 0)),
            ("brw size=8 off=4088", brw(Direction::Read, Check::None, 8, 4088)),
            ("brw write read", brw(Direction::Read, Check::None, 4096, 0)),
        ];
        for (line, expected) in table {
            assert_eq!(spec(line), expected, "{line}");
        }
    }

    #[test]
    fn what_is_no_test_or_not_safe_is_refused() {
        for line in [
            "",
            "pong",
            "ping 8",
            "brw up",
            "brw check=none",
            "brw check=discard",
            "brw check",
            "brw size=",
            "brw size=k",
            "brw size=4x",
            "brw size=-8",
            "brw size=2m",
            "brw size=0",
            "brw size=4095",
            "brw off=4",
            "brw off=8",
            "brw off=4096 size=8",
            "brw size=99999999999999999999",
            "brw size=18446744073709551615m",
        ] {
            assert!(spec(line).is_err(), "{line}");
        }
    }
}
