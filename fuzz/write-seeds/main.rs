//! Writes the seeds that other sources have: `write_seeds DIRECTORY` makes `DIRECTORY/TARGET/NAME` for each. Those that are
//! written by hand are in `seeds/`.

mod captures;
mod o2iblnd;
mod ptlrpc;
mod selftest;
#[allow(dead_code)]
#[path = "../../tests/support"]
mod support {
    pub mod conversation;
    pub mod pcap;
    #[path = "../../lnds/o2iblnd/tests/support/roce.rs"]
    pub mod roce;
    pub mod streams;
}

use std::path::Path;
use std::{env, fs};

fn main() {
    let directory = env::args().nth(1).expect("usage: write_seeds DIRECTORY");
    // The first of each name.
    let mut add = |target: &str, name: String, bytes: Vec<u8>| {
        let directory = Path::new(&directory).join(target);
        fs::create_dir_all(&directory).expect("a directory that can be made");
        let file = directory.join(name);
        if !file.exists() {
            fs::write(file, bytes).expect("a file that can be written");
        }
    };
    for name in ["export-2.15.8.yaml", "export-backup-2.15.8.yaml"] {
        let exports = concat!(env!("CARGO_MANIFEST_DIR"), "/../liblnet/dlc/testdata");
        add(
            "dlc_yaml",
            name.to_owned(),
            fs::read(Path::new(exports).join(name)).expect("an export of the kernel's lnetctl"),
        );
    }
    captures::seeds(&mut add);
    o2iblnd::seeds(&mut add);
    ptlrpc::seeds(|name, bytes| add("ptlrpc_message", name, bytes));
    selftest::seeds(|name, bytes| add("selftest_message", name, bytes));
}
