//! A real browser opens the page of the site and cuts a rail.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::path::{Path, PathBuf};
use std::process::Command;
use test_support::browser::{Browser, target_directory};

/// Makes the page; `None` where Rust has no target for the simulator: the machine may be without a network, which `scripts/test-packages` says
/// of the image in the same way.
fn page(directory: &Path) -> Option<PathBuf> {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts");
    let target = Command::new(scripts.join("rust-target")).arg("wasm32-unknown-unknown").output().unwrap();
    if !target.status.success() {
        println!("SKIPPED: {}", String::from_utf8_lossy(&target.stderr));
        return None;
    }
    let mut command = Command::new(scripts.join("site-page"));
    command.arg(directory).env("CARGO_TARGET_DIR", target_directory().unwrap());
    assert!(command.status().unwrap().success());
    Some(directory.join("index.html"))
}

/// A condition: some text on the page.
fn shows(section: &str, text: &str) -> String {
    format!("!!document.getElementById({section:?})?.textContent.includes({text:?})")
}

fn click(browser: &mut Browser, button: &str) {
    browser.evaluate(&format!(
        "[...document.querySelectorAll('#rails button')].find((it) => it.textContent === {button:?}).click()"
    ));
}

/// The number of PUTs that have succeeded.
const SUCCEEDED: &str =
    "Number(document.getElementById('results').textContent.split(' ')[0].replaceAll(',', ''))";

/// Fails if the simulator does not run as WebAssembly, or the page does not show what it simulates.
#[test]
fn a_rail_is_cut_on_the_page_its_path_goes_down_and_traffic_goes_on() {
    let Some(mut browser) = Browser::start() else { return };
    let directory = tempfile::tempdir().unwrap();
    let Some(page) = page(directory.path()) else { return };
    browser.set_screen(1280, 900, false);
    browser.open(&format!("file://{}", page.display()));
    browser.wait_for(&shows("connection", "● simulated"));
    browser.wait_for("document.title === 'LNet: client'");
    browser.wait_for(&shows("peers", "2 of 2 paths usable"));
    browser.wait_for(&shows("health", "● healthy"));

    for (cut, join, path) in [
        ("✂ Cut tcp", "Join tcp", "10.0.0.1@tcp10.0.0.2@tcp10.0.0.2@tcp✖ unresponsive"),
        ("✂ Cut tcp1", "Join tcp1", "10.0.1.1@tcp110.0.1.2@tcp110.0.0.2@tcp✖ unresponsive"),
    ] {
        click(&mut browser, cut);
        browser.wait_for(&shows("paths", path));
        browser.wait_for(&shows("peers", "▲ degraded for"));
        browser.wait_for(&shows("peers", "1 of 2 paths usable"));
        browser.wait_for(&shows("changes", "reachable -> degraded"));
        let succeeded = browser.evaluate(SUCCEEDED).as_u64().unwrap();
        browser.wait_for(&format!("{SUCCEEDED} > {succeeded} + 200"));
        assert_eq!(browser.evaluate(&shows("results", "none failed")), true);
        click(&mut browser, join);
        browser.wait_for(&shows("peers", "2 of 2 paths usable"));
    }
    assert_eq!(browser.evaluate(&shows("results", "none failed")), true);
    let foreign = browser.requests.iter().filter(|it| !it.starts_with("file:") && !it.starts_with("data:"));
    assert_eq!(foreign.collect::<Vec<_>>(), Vec::<&String>::new());
    assert_eq!(browser.problems, Vec::<String>::new());
}
