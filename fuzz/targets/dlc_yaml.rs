//! Configuration files: any text is read, or refused with positions in it; a document that was read and written
//! reads the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lnet_dlc::model::{Block, Document};
use lnet_dlc::yaml::{Purpose, read, to_value};

fuzz_target!(|text: &str| {
    for purpose in [Purpose::Del, Purpose::Show, Purpose::Exec] {
        let _ = read(text, purpose);
    }
    match read(text, Purpose::Add) {
        Ok(document) => reads_back(&document),
        Err(problems) => {
            assert!(!problems.is_empty());
            for problem in problems {
                assert!(problem.at.line >= 1 && problem.at.column >= 1);
                assert!(problem.at.line as usize <= text.split(['\n', '\r']).count() + 1, "{problem}");
            }
        }
    }
});

/// Asserts that a document is written the same after it has been read again. Exceptions are items that occur several times
/// and are written together, and peers whose list of NIDs is empty.
fn reads_back(document: &Document) {
    let kinds: Vec<_> = document.blocks.iter().map(std::mem::discriminant).collect();
    let repeated = (1..kinds.len()).any(|end| kinds[..end].contains(&kinds[end]));
    let unusual = document.blocks.iter().any(|block| match block {
        Block::Net(items) => items.iter().any(|item| item.it.ip2net.is_some()),
        _ => false,
    });
    if repeated || unusual {
        return;
    }
    let written = to_value(document).to_yaml();
    let again = read(&written, Purpose::Add);
    let again = again.unwrap_or_else(|problems| panic!("{}\n{written}", problems[0]));
    assert_eq!(to_value(&again).to_yaml(), written);
}
