//! Tests `make install` with placeholders for the built files, into an empty directory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// The build, and a directory in place of the machine to install it on.
struct Place(TempDir);

impl Place {
    /// `age`: how long ago the build began.
    fn built(age: Duration) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        let release = place.path().join("target/release");
        fs::create_dir_all(&release).unwrap();
        for name in [
            "liblnet.so",
            "libptlrpc.so",
            "libm0net.so",
            "liblnet_selftest.so",
            "liblnetconfig.so.4",
            "lnetctl",
            "lnetd",
            "lst",
        ] {
            fs::write(release.join(name), format!("ours: {name}, LNET_RUNTIME_DIR")).unwrap();
        }
        for file in ["man/lnetctl.8", "man/lst.8", "man/LNetPut.3", "man/lnet.7"] {
            write_new(&release.join(file), "a manual page");
        }
        for file in ["lnetctl.bash", "_lnetctl", "lnetctl.fish", "lst.bash", "_lst", "lst.fish"] {
            write_new(&release.join("completions").join(file), "completions");
        }
        write_new(&place.path().join("target/third-party-notices.txt"), "notices");
        let stamp = fs::File::create(release.join(".built")).unwrap();
        stamp.set_modified(SystemTime::now() - age).unwrap();
        // A call of this program is a build.
        let cargo = place.path().join("bin/cargo");
        fs::create_dir_all(cargo.parent().unwrap()).unwrap();
        fs::write(&cargo, "#!/bin/sh\necho cargo is called\nexit 1\n").unwrap();
        fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
        place
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// A file of the machine.
    fn file(&self, name: &str) -> PathBuf {
        self.path().join("root").join(name)
    }

    fn put(&self, name: &str, text: &str) {
        write_new(&self.file(name), text);
    }

    fn install(&self, arguments: &[&str]) -> Output {
        Command::new("make")
            .args(["--no-print-directory", "install"])
            .arg(format!("DESTDIR={}", self.path().join("root").display()))
            .args(arguments)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", self.path().join("bin").display()))
            .env("HOME", self.path())
            .env("CARGO_TARGET_DIR", self.path().join("target"))
            .output()
            .unwrap()
    }
}

/// Writes a file, and makes the directories that it is in.
fn write_new(file: &Path, text: &str) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it)).concat()
}

const NOW: Duration = Duration::ZERO;

/// Fails if `make install` builds: root often has no cargo.
#[test]
fn built_files_are_installed_without_a_rebuild() {
    let place = Place::built(NOW);
    let output = place.install(&[]);
    assert!(output.status.success() && !text(&output).contains("cargo is called"), "{}", text(&output));
    for name in [
        "lib/liblnet.so.1",
        "lib/liblnetconfig.so.4",
        "sbin/lctl",
        "sbin/lnetctl",
        "sbin/lnetd",
        "sbin/lst",
        "include/lnet/api.h",
        "share/man/man8/lnetctl.8",
        "share/man/man8/lst.8",
        "share/man/man3/LNetPut.3",
        "share/man/man7/lnet.7",
        "share/man/man7/lnet-attach.7",
        "share/bash-completion/completions/lst",
        "share/doc/liblnet/LICENSE-APACHE",
        "share/doc/liblnet/LICENSE-MIT",
        "share/doc/liblnet/third-party-notices.txt",
        "lib/systemd/system/lnetd.service",
        "lib/sysusers.d/lnetd.conf",
    ] {
        assert!(place.file("usr/local").join(name).exists(), "no {name}\n{}", text(&output));
    }
    let package = fs::read_to_string(place.file("usr/local/lib/pkgconfig/lnet.pc")).unwrap();
    assert!(package.contains("includedir=/usr/local/include\n"), "{package}");
    assert!(package.contains("-llnetconfig -llnet\n") && !package.contains('@'), "{package}");
    // The tools of an earlier installation are not taken for Lustre's.
    let output = place.install(&[]);
    assert!(output.status.success() && !text(&output).contains("Lustre's own"), "{}", text(&output));
}

#[test]
fn changed_sources_are_rebuilt_before_the_install() {
    let place = Place::built(Duration::from_secs(100 * 365 * 86_400));
    let output = place.install(&[]);
    assert!(!output.status.success() && text(&output).contains("cargo is called"), "{}", text(&output));
    assert!(!place.file("usr").exists());
}

/// Fails if a name of Lustre's tools leads to a tool of this project.
#[test]
fn lustres_own_tools_stay_first_unless_asked_otherwise() {
    let (tool, library, header) =
        ("usr/sbin/lnetctl", "usr/lib64/liblnetconfig.so.4.0.0", "usr/include/linux/lnet/nidstr.h");
    // The existing files of Lustre; whether our tools, and our headers, then go to other places.
    let table: [(&[&str], bool, bool); 5] = [
        (&[tool], true, false),
        (&["usr/sbin/lctl"], true, false),
        (&[library], true, false),
        (&[header], false, true),
        (&[tool, library, header], true, true),
    ];
    for (theirs, tools, headers) in table {
        let place = Place::built(NOW);
        theirs.iter().for_each(|name| place.put(name, "theirs"));
        let output = place.install(&[]);
        assert!(output.status.success(), "{}", text(&output));
        let there = |name: &str| place.file("usr/local").join(name).exists();
        let row = format!("{theirs:?}\n{}", text(&output));
        assert_eq!((there("sbin/lnetctl"), there("sbin/lnetctl.liblnet")), (!tools, tools), "{row}");
        assert_eq!(there("sbin/lctl"), !tools, "{row}");
        assert_eq!((there("sbin/lst"), there("sbin/lst.liblnet")), (!tools, tools), "{row}");
        assert_eq!(
            (there("lib/liblnetconfig.so.4"), there("lib/liblnetconfig.so")),
            (!tools, !tools),
            "{row}"
        );
        for file in ["man/man8/lnetctl.8", "bash-completion/completions/lst"] {
            let places = (there(&format!("share/{file}")), there(&format!("share/liblnet/{file}")));
            assert_eq!(places, (!tools, tools), "{file}, {row}");
        }
        assert!(there("lib/liblnet.so.1") && there("sbin/lnetd"), "{row}");
        let header = "linux/lnet/nidstr.h";
        assert_eq!(there(&format!("include/liblnet/{header}")), headers, "{row}");
        assert_eq!(there(&format!("include/{header}")), !headers, "{row}");
        assert!(text(&output).contains("WITH_LUSTRE_NAMES=1"), "{row}");
        let package = fs::read_to_string(place.file("usr/local/lib/pkgconfig/lnet.pc")).unwrap();
        assert_eq!(package.contains("-llnetconfig"), !tools, "{package}");
        assert_eq!(package.contains("includedir=/usr/local/include/liblnet\n"), headers, "{package}");

        let output = place.install(&["WITH_LUSTRE_NAMES=1"]);
        assert!(output.status.success() && !text(&output).contains("Lustre's own"), "{}", text(&output));
        assert!(there("sbin/lnetctl") && there("lib/liblnetconfig.so.4"), "{}", text(&output));
    }
}

/// Fails if a package gets Lustre's names although they are turned off: the build machine need not have Lustre's tools.
#[test]
fn a_package_can_be_made_without_lustres_names() {
    let place = Place::built(NOW);
    let output = place.install(&["PREFIX=/usr", "WITH_LUSTRE_NAMES=0"]);
    assert!(output.status.success(), "{}", text(&output));
    assert!(place.file("usr/sbin/lnetctl.liblnet").exists() && !place.file("usr/sbin/lnetctl").exists());
}
