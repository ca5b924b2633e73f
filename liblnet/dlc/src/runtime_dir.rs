//! The directory of the control sockets of nodes, and the names of these sockets.
//!
//! `LNET_RUNTIME_DIR` names the directory. The default is `$XDG_RUNTIME_DIR/lnet`, for root `/run/lnet`, and without
//! either `/tmp/lnet-UID`. The sockets of a node called `NAME` are `NAME.sock` and, if its
//! operator wants it, `NAME.status.sock`; a daemon that `lnetctl lnet configure` started logs to `NAME.log`.

use rustix::process::geteuid;
use std::fmt;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use thiserror::Error;

const SOCKET: &str = ".sock";
const STATUS: &str = ".status";
const ATTACH: &str = ".attach";
/// The most bytes of a node's name, which leave room for the directory in a socket's address of 107 bytes.
const MAX_NAME_LENGTH: usize = 64;

/// The name of a node, which names its control sockets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeName(String);

/// A text that is not allowed as the name of a node.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{0}` is no name for a node: 1 to {MAX_NAME_LENGTH} of A-Z a-z 0-9 . _ - are, \
     not with a dot first nor with `.status` last"
)]
pub struct NotANodeName(String);

impl NodeName {
    /// The default name of the daemon.
    pub fn lnetd() -> Self {
        Self("lnetd".to_owned())
    }

    /// The id of this process as a name.
    pub fn of_this_process() -> Self {
        Self(std::process::id().to_string())
    }

    /// The name that `LNET_NODE` gives, or the id of this process.
    pub fn from_env() -> Result<Self, NotANodeName> {
        Self::of_environment().map_or_else(|| Ok(Self::of_this_process()), |name| name.parse())
    }

    /// The value of `LNET_NODE`, unchecked; `None` if it is not set, or empty.
    pub fn of_environment() -> Option<String> {
        let name = std::env::var("LNET_NODE").ok()?;
        Some(name.trim().to_owned()).filter(|name| !name.is_empty())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether this process has no more rights than the user who started it, whose environment may then select programs
/// and nodes.
pub(crate) fn is_of_its_user() -> bool {
    use rustix::process::{getegid, geteuid, getgid, getuid};
    getuid() == geteuid() && getgid() == getegid()
}

impl FromStr for NodeName {
    type Err = NotANodeName;

    fn from_str(text: &str) -> Result<Self, NotANodeName> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let fine = (1..=MAX_NAME_LENGTH).contains(&text.len())
            && text.bytes().all(allowed)
            && !text.starts_with('.')
            && !text.ends_with(STATUS);
        if fine { Ok(Self(text.to_owned())) } else { Err(NotANodeName(text.to_owned())) }
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The directory with the sockets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeDir {
    path: PathBuf,
    /// Whether the directory is inside one that is writable for everyone, where another user may have created it.
    shared: bool,
}

impl RuntimeDir {
    /// The directory that the environment names.
    pub fn from_env() -> Self {
        let look_up = |name: &str| std::env::var(name).ok().filter(|_| is_of_its_user());
        Self::from_lookup(look_up, geteuid().as_raw())
    }

    /// The same for any user and source of variables.
    pub fn from_lookup(look_up: impl Fn(&str) -> Option<String>, user: u32) -> Self {
        let look_up = |name| look_up(name).filter(|value| !value.is_empty());
        match (look_up("LNET_RUNTIME_DIR"), look_up("XDG_RUNTIME_DIR")) {
            (Some(path), _) => Self::at(path),
            (None, Some(path)) if user != 0 => Self::at(Path::new(&path).join("lnet")),
            (None, _) if user == 0 => Self::at("/run/lnet"),
            _ => Self { path: format!("/tmp/lnet-{user}").into(), shared: true },
        }
    }

    /// The directory at `path`. The process may change its working directory later.
    pub fn at(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        Self { path: std::path::absolute(path).unwrap_or_else(|_| path.to_owned()), shared: false }
    }

    /// The absolute path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The socket by which the node is configured.
    pub fn socket(&self, name: &NodeName) -> PathBuf {
        self.path.join(format!("{name}{SOCKET}"))
    }

    /// The read-only socket.
    pub fn status_socket(&self, name: &NodeName) -> PathBuf {
        self.path.join(format!("{name}{STATUS}{SOCKET}"))
    }

    /// The socket by which programs attach to the node.
    pub fn attach_socket(&self, name: &NodeName) -> PathBuf {
        self.path.join(format!("{name}{ATTACH}"))
    }

    /// The log of a daemon that was started without a log file.
    pub fn log(&self, name: &NodeName) -> PathBuf {
        self.path.join(format!("{name}.log"))
    }

    /// Creates the directory if it does not exist. Other users may read it, as every socket has its own mode, but not the one in
    /// `/tmp`.
    pub fn make(&self) -> io::Result<()> {
        let mode = if self.shared { 0o700 } else { 0o755 };
        if let Some(parent) = self.path.parent().filter(|_| !self.shared) {
            fs::create_dir_all(parent)?;
        }
        match DirBuilder::new().mode(mode).create(&self.path) {
            // Whatever the program's umask is.
            Ok(()) => fs::set_permissions(&self.path, fs::Permissions::from_mode(mode))?,
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Err(_) => {}
        }
        self.check()
    }

    /// Whether its contents can be trusted: in `/tmp` another user may have put a directory or a link there first.
    /// [`io::ErrorKind::PermissionDenied`] if not; the error has the cause and the remedy, but not the path.
    pub fn check(&self) -> io::Result<()> {
        let found = match self.shared {
            true => fs::symlink_metadata(&self.path)?,
            false => fs::metadata(&self.path)?,
        };
        let refused = |text: String| Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        if !found.is_dir() {
            let what = if found.is_symlink() { "a symbolic link" } else { "a file" };
            return refused(format!("it is {what} and not a directory; remove it, or set LNET_RUNTIME_DIR"));
        }
        let (owner, user) = (found.uid(), geteuid().as_raw());
        if self.shared && owner != user {
            return refused(format!(
                "it belongs to user {owner} and not to user {user}; set LNET_RUNTIME_DIR to a directory of your own"
            ));
        }
        let mode = found.permissions().mode() & 0o7777;
        if self.shared && mode & 0o022 != 0 {
            return refused(format!(
                "its mode is {mode:04o}, so others can write to it; `chmod 0700 {}`, or set LNET_RUNTIME_DIR",
                self.path.display()
            ));
        }
        Ok(())
    }

    /// The names of the nodes that have a socket of either kind here, dead ones too, sorted. Empty without the directory.
    pub fn nodes(&self) -> io::Result<Vec<NodeName>> {
        let entries = match self.check().and_then(|()| fs::read_dir(&self.path)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let stem = name.to_str().and_then(|name| name.strip_suffix(SOCKET));
            let Some(stem) = stem.map(|stem| stem.strip_suffix(STATUS).unwrap_or(stem)) else { continue };
            if entry.file_type().is_ok_and(|kind| kind.is_socket())
                && let Ok(name) = stem.parse()
            {
                names.push(name);
            }
        }
        names.sort();
        names.dedup();
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lnet_wire::Errno;

    #[test]
    fn the_directory_is_the_first_that_is_named() {
        type Row = (&'static [(&'static str, &'static str)], u32, &'static str);
        let table: [Row; 6] = [
            (&[("LNET_RUNTIME_DIR", "/a"), ("XDG_RUNTIME_DIR", "/x")], 7, "/a"),
            (&[("LNET_RUNTIME_DIR", "/a")], 0, "/a"),
            (&[("LNET_RUNTIME_DIR", ""), ("XDG_RUNTIME_DIR", "/x")], 7, "/x/lnet"),
            (&[("XDG_RUNTIME_DIR", "/x")], 0, "/run/lnet"),
            (&[], 0, "/run/lnet"),
            (&[], 7, "/tmp/lnet-7"),
        ];
        for (variables, user, expected) in table {
            let look_up =
                |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).into());
            let directory = RuntimeDir::from_lookup(look_up, user);
            assert_eq!(directory.path(), Path::new(expected), "{variables:?} {user}");
        }
    }

    #[test]
    fn names_that_could_leave_the_directory_or_be_ambiguous_are_rejected() {
        for name in ["lnetd", "4711", "host.example_7-a", "status"] {
            assert_eq!(name.parse::<NodeName>().unwrap().as_str(), name);
        }
        for name in ["", ".", "..", ".a", "a/b", "a b", "a\0", "ä", "a.status", &"a".repeat(65)] {
            assert!(name.parse::<NodeName>().is_err(), "{name:?}");
        }
    }

    #[test]
    fn in_tmp_only_an_own_directory_that_others_cannot_write_to_is_used() {
        let temporary = tempfile::tempdir().unwrap();
        let directory = RuntimeDir { path: temporary.path().join("lnet"), shared: true };
        directory.make().unwrap();
        directory.make().unwrap();
        assert_eq!(fs::metadata(directory.path()).unwrap().mode() & 0o777, 0o700);

        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let error = directory.check().unwrap_err();
        assert_eq!(Errno::from(&error), Errno::Access);
        let place = directory.path().display();
        let text = format!(
            "its mode is 0777, so others can write to it; `chmod 0700 {place}`, or set LNET_RUNTIME_DIR"
        );
        assert_eq!(error.to_string(), text);

        let link = RuntimeDir { path: temporary.path().join("link"), shared: true };
        std::os::unix::fs::symlink(temporary.path(), link.path()).unwrap();
        let text = link.make().unwrap_err().to_string();
        assert!(text.starts_with("it is a symbolic link and not a directory"), "{text}");
    }

    /// `/proc/1` is root's, which is another user unless the test runs as root.
    #[test]
    fn a_directory_of_another_user_is_refused_with_both_users_named() {
        let other = RuntimeDir { path: "/proc/1".into(), shared: true };
        let (owner, user) = (fs::metadata(other.path()).unwrap().uid(), geteuid().as_raw());
        let directory = match owner == user {
            false => other,
            // Root may give a directory away.
            true => {
                let temporary = tempfile::tempdir().unwrap().keep();
                std::os::unix::fs::chown(&temporary, Some(4243), None).unwrap();
                RuntimeDir { path: temporary, shared: true }
            }
        };
        let owner = fs::metadata(directory.path()).unwrap().uid();
        let error = directory.check().unwrap_err();
        let _ = fs::remove_dir(directory.path());
        assert_eq!(Errno::from(&error), Errno::Access);
        let text = format!("it belongs to user {owner} and not to user {user}");
        assert!(error.to_string().starts_with(&text), "{error}");
    }
}
