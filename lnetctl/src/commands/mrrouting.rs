//! `lnetctl setup-mrrouting`

use super::{CommandOutcome, Context};
use lnet_dlc::request::{LocalNi, Request};
use lnet_dlc::{Operation, ReturnCode, SeqNo};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

const HELPER: &str = "ksocklnd-config";

pub(super) fn run(cx: &mut Context<'_>) -> CommandOutcome {
    let result = interfaces(cx).and_then(|names| match names.is_empty() {
        true => Ok(()),
        false => call(&helper(std::env::var_os("KSOCKLND_CONFIG")), &names),
    });
    CommandOutcome::change(match result {
        Ok(()) => ReturnCode::OK,
        Err((rc, text)) => cx.report.end(Operation::Manage, "setup-mrrouting", SeqNo::NONE, rc, text),
    })
}

/// The interfaces of all TCP nets, between commas, each once.
fn interfaces(cx: &Context<'_>) -> Result<String, (ReturnCode, String)> {
    let nis: Vec<Box<LocalNi>> = cx
        .node
        .list(Request::GetLocalNi)
        .map_err(|errno| (errno.into(), format!("cannot read the interfaces: {}", errno.text())))?;
    let mut names: Vec<String> = Vec::new();
    let tcp = nis.into_iter().filter(|ni| ni.nid.net().to_string().starts_with("tcp"));
    for name in tcp.filter_map(|ni| ni.interface) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names.join(","))
}

/// The path of the helper program: that in the environment, if it has the right name; else that in /usr/sbin.
fn helper(named: Option<OsString>) -> PathBuf {
    named
        .map(PathBuf::from)
        .filter(|path| path.file_name().is_some_and(|name| name == HELPER))
        .unwrap_or_else(|| Path::new("/usr/sbin").join(HELPER))
}

fn call(helper: &Path, interfaces: &str) -> Result<(), (ReturnCode, String)> {
    let failed =
        |text: String| Err((ReturnCode::GENERIC, format!("{} {interfaces}: {text}", helper.display())));
    match Command::new(helper).arg(interfaces).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            failed(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim()))
        }
        Err(error) => failed(format!("{error}; install it or name it in KSOCKLND_CONFIG")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_program_of_the_right_name_is_run() {
        let table = [
            (None, "/usr/sbin/ksocklnd-config"),
            (Some("/opt/bin/ksocklnd-config"), "/opt/bin/ksocklnd-config"),
            (Some("/bin/rm"), "/usr/sbin/ksocklnd-config"),
        ];
        for (named, expected) in table {
            assert_eq!(helper(named.map(OsString::from)), Path::new(expected));
        }
    }
}
