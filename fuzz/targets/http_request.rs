//! The head of a request to the server of metrics: what it says does not depend on the pieces in which the bytes come.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lnet_metrics::http::{HttpRequest, MAX_HEAD, format_for};

fuzz_target!(|bytes: &[u8]| {
    // The server reads no more.
    let bytes = &bytes[..bytes.len().min(MAX_HEAD)];
    let step = bytes.first().map_or(1, |first| usize::from(*first) + 1);
    let ends = (0..bytes.len()).step_by(step).chain([bytes.len()]);
    let in_pieces = ends.map(|end| HttpRequest::parse(&bytes[..end])).find(|result| *result != Ok(None));
    assert_eq!(in_pieces.unwrap_or(Ok(None)), HttpRequest::parse(bytes));
    if let Ok(Some(request)) = HttpRequest::parse(bytes) {
        assert!(!request.path.contains(['?', '#', '\r', '\n']));
        format_for(&request.accept);
    }
});
