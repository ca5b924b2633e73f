//! `lnetctl import`, `lnetctl apply`, `lnetctl export`

use super::{CommandKind, CommandOutcome, Context};
use crate::cli::{Apply, Export, Import};
use crate::output;
use lnet_dlc::apply::{self, Mode};
use lnet_dlc::export::export as export_all;
use lnet_dlc::import::{self, Source};
use lnet_dlc::request::Request;
use lnet_dlc::yaml::{self, Purpose};
use lnet_dlc::{Operation, ReturnCode, SeqNo};
use lnet_wire::Errno;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

pub(super) fn import(command: &Import, cx: &mut Context<'_>) -> CommandOutcome {
    let file = match NamedText::read(&command.file, cx) {
        Ok(file) => file,
        Err(rc) => return CommandOutcome::change(rc),
    };
    if command.check {
        return check(file.source(), cx);
    }
    if let Err(rc) = needs_node("import", &file.name, cx) {
        return CommandOutcome::change(rc);
    }
    let mut pass = |purpose| import::import(cx.node, file.source(), purpose, &mut cx.report);
    match command {
        Import { del: true, .. } => CommandOutcome::change(pass(Purpose::Del)),
        Import { show: true, .. } => CommandOutcome::show(pass(Purpose::Show)),
        Import { exec: true, .. } => CommandOutcome::show(pass(Purpose::Exec)),
        _ => {
            let added = pass(Purpose::Add);
            // A file that was not begun is not carried out either.
            match yaml::read(&file.text, Purpose::Add) {
                Ok(_) => CommandOutcome::change(added.or(pass(Purpose::Exec))),
                Err(_) => CommandOutcome::change(added),
            }
        }
    }
}

pub(super) fn apply(command: &Apply, cx: &mut Context<'_>) -> CommandOutcome {
    let file = match NamedText::read(&command.file, cx) {
        Ok(file) => file,
        Err(rc) => return CommandOutcome::change(rc),
    };
    if let Err(rc) = needs_node("apply", &file.name, cx) {
        return CommandOutcome::change(rc);
    }
    let mut run = |mode| apply::apply(cx.node, file.source(), mode, &mut cx.report);
    match command.dry_run {
        true => CommandOutcome::show(run(Mode::Show)),
        false => CommandOutcome::change(run(Mode::Change)),
    }
}

/// The text of a file, and the file's name for messages.
struct NamedText {
    name: String,
    text: String,
}

impl NamedText {
    fn read(file: &Option<PathBuf>, cx: &mut Context<'_>) -> Result<Self, ReturnCode> {
        let name = file.as_ref().map_or_else(|| "stdin".to_owned(), |file| file.display().to_string());
        match read(file, cx.input) {
            Ok(text) => Ok(Self { name, text }),
            Err(error) => {
                let text = format!("cannot read {name}: {error}");
                Err(cx.report.end(Operation::Yaml, "builder", SeqNo::NONE, ReturnCode::BAD_PARAM, text))
            }
        }
    }

    fn source(&self) -> Source<'_> {
        Source { name: &self.name, text: &self.text }
    }
}

/// Checks that there is a node: a file of which nothing need be asked is no success without one. A node that does not know the
/// request is there.
fn needs_node(command: &str, file: &str, cx: &mut Context<'_>) -> Result<(), ReturnCode> {
    match cx.node.tell(Request::GetNode) {
        Ok(()) | Err(Errno::Invalid) => Ok(()),
        Err(errno) => {
            let text = format!("cannot {command} {file}: {}", errno.text());
            Err(cx.report.end(Operation::Yaml, command, SeqNo::NONE, errno.into(), text))
        }
    }
}

/// Checks a file against the node, or by itself if no node runs. A node that was named, or that cannot be asked, is an error.
fn check(source: Source<'_>, cx: &mut Context<'_>) -> CommandOutcome {
    let node = match cx.node.tell(Request::GetNode) {
        Ok(()) => Some(cx.node),
        Err(Errno::NetworkDown) if !cx.is_node_named => None,
        Err(errno) => {
            let text = format!("cannot ask the node for its configuration: {}", errno.text());
            let rc = cx.report.end(Operation::Show, "check", SeqNo::NONE, errno.into(), text);
            return CommandOutcome::change(rc);
        }
    };
    let named = import::names_something(source, &mut cx.report);
    if !named.is_ok() {
        return CommandOutcome::show(named);
    }
    let (rc, changes) = import::check(node, source, &mut cx.report);
    cx.report.shown.merge(changes);
    CommandOutcome::show(rc)
}

fn read(file: &Option<PathBuf>, input: &mut dyn Read) -> io::Result<String> {
    match file {
        Some(file) => yaml::text_of(fs::File::open(file)?),
        None => yaml::text_of(input),
    }
}

pub(super) fn export(command: &Export, cx: &mut Context<'_>) -> CommandOutcome {
    let rc = export_all(cx.node, command.backup, &mut cx.report);
    let exported = CommandOutcome { rc, kind: CommandKind::Export };
    let Some(file) = &command.file else { return exported };
    let (text, rc) = if rc.is_ok() {
        let text = output::text(&cx.report.shown, cx.format);
        cx.report.shown = lnet_dlc::Value::map();
        match replace(file, &text) {
            Ok(()) => return exported,
            Err(error) => (format!("cannot write {}: {error}", file.display()), ReturnCode::BAD_PARAM),
        }
    } else {
        cx.report.shown = lnet_dlc::Value::map();
        (format!("not everything could be read; {} is left as it was", file.display()), rc)
    };
    CommandOutcome::change(cx.report.end(Operation::Yaml, "export", SeqNo::NONE, rc, text))
}

/// Writes the file completely or leaves it unchanged: a full disk must not cost the last backup.
fn replace(file: &Path, text: &str) -> io::Result<()> {
    let known = fs::metadata(file).ok();
    if known.as_ref().is_some_and(|known| !known.is_file()) {
        return fs::write(file, text);
    }
    // The target of a link is replaced, and not the link.
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = file.with_file_name(name);
    let written =
        write_new(&new, text, known.map(|known| known.permissions())).and_then(|()| fs::rename(&new, &file));
    if written.is_err() {
        // If that fails too, nothing more can be done.
        let _ = fs::remove_file(&new);
    }
    written
}

fn write_new(file: &Path, text: &str, permissions: Option<fs::Permissions>) -> io::Result<()> {
    let mut new = fs::OpenOptions::new().write(true).create_new(true).open(file)?;
    new.write_all(text.as_bytes())?;
    new.sync_all()?;
    permissions.map_or(Ok(()), |permissions| fs::set_permissions(file, permissions))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn an_export_replaces_a_file_whole_and_keeps_its_mode_and_its_link() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("lnet.conf"), directory.path().join("link"));
        fs::write(&file, "old and longer").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        replace(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
        assert!(replace(&directory.path().join("none/x"), "new").is_err());
        replace(Path::new("/dev/null"), "new").unwrap();
    }
}
