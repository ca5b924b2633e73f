//! A headless Chromium, driven by the DevTools protocol over pipes.
//!
//! # Panics
//! All functions panic on failure: they are for tests only.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "for tests only")]

use serde_json::{Value, json};
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use tempfile::TempDir;

/// The target directory of cargo, from the calling test's program in it: PROFILE/deps/TEST.
pub fn target_directory() -> Option<PathBuf> {
    env::current_exe().ok()?.ancestors().nth(3).map(Path::to_owned)
}

/// The programs that are tried: the one that `scripts/setup test` has unpacked, and installed ones.
fn program() -> Option<PathBuf> {
    let unpacked = target_directory()?.join("browser/chromium");
    let candidates = [unpacked, "chromium-headless-shell".into(), "chromium".into()];
    let runs =
        |path: &PathBuf| Command::new(path).arg("--version").output().is_ok_and(|it| it.status.success());
    let found = candidates.into_iter().find(runs);
    if found.is_none() {
        crate::skip("no chromium; `scripts/setup test` fetches it");
    }
    found
}

/// A browser with one page. Dropping this ends it.
pub struct Browser {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_id: u64,
    session: Option<String>,
    /// Errors of scripts, of the policy of the page, and of requests.
    pub problems: Vec<String>,
    /// The addresses of all requests.
    pub requests: Vec<String>,
    _home: TempDir,
}

impl Browser {
    /// Starts a browser; `None` where there is none.
    pub fn start() -> Option<Self> {
        let program = program()?;
        let home = tempfile::tempdir().unwrap();
        // The browser reads from descriptor 3 and writes to 4.
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1"]).arg(program);
        // Its sandbox needs what containers do not give, and only our own page is opened.
        command.args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
        ]);
        command.args([
            "--no-first-run",
            "--disable-background-networking",
            "--lang=en",
            "--remote-debugging-pipe",
        ]);
        command.arg(format!("--user-data-dir={}", home.path().display())).env("HOME", home.path());
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let mut browser = Self {
            process,
            input,
            output: BufReader::new(output),
            last_id: 0,
            session: None,
            problems: Vec::new(),
            requests: Vec::new(),
            _home: home,
        };
        let target = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", &attach);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        Some(browser)
    }

    /// Sends a command and returns its result.
    pub fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.last_id += 1;
        let mut command = json!({"id": self.last_id, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            command["sessionId"] = session.as_str().into();
        }
        self.input.write_all(format!("{command}\0").as_bytes()).unwrap();
        loop {
            let mut bytes = Vec::new();
            self.output.read_until(0, &mut bytes).unwrap();
            assert_eq!(bytes.pop(), Some(0), "the browser has ended during {method}");
            let message: Value = serde_json::from_slice(&bytes).unwrap();
            if message["id"] == self.last_id {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
            self.note(&message);
        }
    }

    fn note(&mut self, event: &Value) {
        let parameters = &event["params"];
        match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => self.problems.push(parameters.to_string()),
            Some("Log.entryAdded") if parameters["entry"]["level"] == "error" => {
                self.problems.push(parameters.to_string());
            }
            Some("Network.requestWillBeSent") => {
                self.requests.extend(parameters["request"]["url"].as_str().map(str::to_owned));
            }
            _ => {}
        }
    }

    /// Opens a page.
    pub fn open(&mut self, address: &str) {
        let opened = self.call("Page.navigate", &json!({"url": address}));
        assert!(opened["errorText"].is_null(), "{opened}");
    }

    /// The value of an expression.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let result = self.call("Runtime.evaluate", &parameters);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// The value of an expression that is a text.
    pub fn text(&mut self, expression: &str) -> String {
        self.evaluate(expression).as_str().unwrap_or_default().to_owned()
    }

    /// Waits until a condition is true.
    pub fn wait_for(&mut self, condition: &str) {
        let look = format!("() => ({condition}) ? done(true) : setTimeout(look, 20)");
        self.evaluate(&format!("new Promise((done) => {{ const look = {look}; look(); }})"));
    }

    /// The size of the screen, in CSS pixels, and whether dark colours are preferred.
    pub fn set_screen(&mut self, width: u32, height: u32, dark: bool) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let scheme = if dark { "dark" } else { "light" };
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", &media);
    }

    /// The picture of a part of the page from its top, three quarters of its size, as a PNG in base64.
    pub fn picture(&mut self, width: u32, height: u32) -> String {
        let part = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": 0.75});
        let parameters = json!({"format": "png", "clip": part});
        self.call("Page.captureScreenshot", &parameters)["data"].as_str().unwrap().to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
