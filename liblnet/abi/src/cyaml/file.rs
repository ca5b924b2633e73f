//! Access to C's files: data that the caller has read ahead or not yet written is in C's buffers, not in Rust's.

use lnet_dlc::yaml::{self, tree};
use std::ffi::c_void;
use std::io;
use std::str::Utf8Error;
use thiserror::Error;

/// Why a text cannot be read.
#[derive(Debug, Error)]
pub(crate) enum ReadError {
    /// C passed NULL in place of a file.
    #[error("no file")]
    NoFile,
    /// The file with this name cannot be opened or read.
    #[error("{path}: {cause}")]
    Path {
        /// The name.
        path: String,
        /// The error of the system.
        cause: io::Error,
    },
    /// An open file, or standard input, cannot be read.
    #[error("the file cannot be read: {0}")]
    File(io::Error),
    /// The text is not UTF-8.
    #[error("not UTF-8: {0}")]
    NotUtf8(Utf8Error),
}

unsafe extern "C" {
    static stdin: *mut libc::FILE;
    static stdout: *mut libc::FILE;
    static stderr: *mut libc::FILE;
}

/// C's `stdin`.
pub(crate) fn standard_input() -> *mut libc::FILE {
    // SAFETY: the C library sets its standard input before any program runs; programs hardly ever assign it.
    unsafe { stdin }
}

/// Reads C's standard input to its end.
pub(crate) fn read_standard_input() -> Result<String, ReadError> {
    // SAFETY: standard input is open, or reading it fails.
    unsafe { read_to_end(standard_input()) }
}

/// C's `stdout`.
pub(crate) fn standard_output() -> *mut libc::FILE {
    // SAFETY: the C library sets its standard output before any program runs; programs hardly ever assign it.
    unsafe { stdout }
}

/// Writes a text; errors are ignored, as by most callers of `fputs`.
///
/// # Safety
/// `file` is an open file.
pub(crate) unsafe fn write(file: *mut libc::FILE, text: &str) {
    // SAFETY: a file of the program's or of the C library's, which is open until this returns; `text` has as many bytes.
    unsafe { libc::fwrite(text.as_ptr().cast::<c_void>(), 1, text.len(), file) };
}

/// Writes a text to C's standard output.
pub(crate) fn print(text: &str) {
    print_bytes(text.as_bytes());
}

/// Writes bytes to C's standard output.
pub(crate) fn print_bytes(bytes: &[u8]) {
    // SAFETY: standard output is open, or writing fails; the slice has as many bytes.
    unsafe { libc::fwrite(bytes.as_ptr().cast::<c_void>(), 1, bytes.len(), standard_output()) };
}

/// Writes a text to C's standard error, after the text that has been written to standard output.
pub(crate) fn print_error(text: &str) {
    flush();
    // SAFETY: the C library sets its standard error before any program runs; it is open, or writing fails.
    unsafe { write(stderr, text) };
}

/// Writes out the text in C's buffer of standard output.
pub(crate) fn flush() {
    // SAFETY: standard output is open, or this fails.
    unsafe { libc::fflush(standard_output()) };
}

/// Reads a file to its end, or so much that it is refused as too long.
///
/// # Safety
/// `file` is an open file.
pub(crate) unsafe fn read_to_end(file: *mut libc::FILE) -> Result<String, ReadError> {
    let mut all = Vec::new();
    let mut part = [0_u8; 8192];
    loop {
        // SAFETY: a file of the program's or of the C library's, which is open until this returns; `part` has as many bytes.
        let count = unsafe { libc::fread(part.as_mut_ptr().cast::<c_void>(), 1, part.len(), file) };
        if count == 0 {
            break;
        }
        all.extend_from_slice(&part[..count]);
        if all.len() > tree::MAX_SIZE {
            break;
        }
    }
    // SAFETY: a file of the program's or of the C library's, which is open until this returns.
    if unsafe { libc::ferror(file) } != 0 {
        return Err(ReadError::File(io::Error::last_os_error()));
    }
    String::from_utf8(all).map_err(|error| ReadError::NotUtf8(error.utf8_error()))
}

/// Reads the file with this name, or so much that it is refused as too long.
pub(crate) fn read_path(path: &[u8]) -> Result<String, ReadError> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::path::Path::new(std::ffi::OsStr::from_bytes(path));
    std::fs::File::open(path)
        .and_then(yaml::text_of)
        .map_err(|cause| ReadError::Path { path: path.display().to_string(), cause })
}
