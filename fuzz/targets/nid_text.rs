//! NIDs, nets and process identifiers: a text that can be read is written so that it reads the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lnet_wire::{AnyNid, NetId, Nid, NidPattern, ProcessId, TextError};
use std::fmt::{Debug, Display};
use std::str::FromStr;

fuzz_target!(|text: &str| {
    reads_back::<Nid>(text);
    reads_back::<NetId>(text);
    reads_back::<ProcessId>(text);
    reads_back::<NidPattern>(text);
    if let Ok(AnyNid(Some(nid))) = text.parse() {
        assert_eq!(text.parse(), Ok(nid));
    }
});

fn reads_back<T: FromStr<Err = TextError> + Display + PartialEq + Debug>(text: &str) {
    match text.parse::<T>() {
        Ok(value) => assert_eq!(value.to_string().parse(), Ok(value)),
        Err(error) => assert!(error.at <= text.len()),
    }
}
