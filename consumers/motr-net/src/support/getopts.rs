//! Parsing of command line options (motr-net 8.1).

use lnet_api::c_pointer::{In, Text};
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::io::Write;

/// An option of a command line.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "lib/getopts.h documents them")]
pub struct m0_getopts_opt {
    pub go_type: c_uint,
    pub go_opt: c_char,
    pub go_desc: *const c_char,
    pub go_void: Option<unsafe extern "C" fn()>,
    pub go_number: Option<unsafe extern "C" fn(i64)>,
    pub go_string: Option<unsafe extern "C" fn(*const c_char)>,
    pub go_format: *const c_char,
    pub go_data: *mut c_void,
    pub go_flag: *mut bool,
}

/// The types of options, `enum m0_getopts_type`.
mod kind {
    use std::ffi::c_uint;
    pub(super) const VOID: c_uint = 1;
    pub(super) const NUMBER: c_uint = 2;
    pub(super) const FORMAT: c_uint = 3;
    pub(super) const STRING: c_uint = 4;
    pub(super) const FLAG: c_uint = 5;
}

impl m0_getopts_opt {
    fn takes_argument(&self) -> bool {
        matches!(self.go_type, kind::NUMBER | kind::FORMAT | kind::STRING)
    }

    /// Performs the action of the option; `None` if its argument cannot be read.
    ///
    /// # Safety
    /// The pointers that the type of the option needs are valid; `argument` is a string, if the option takes one.
    unsafe fn apply(&self, argument: *const c_char) -> Option<()> {
        // SAFETY: what belongs to the type is there, and `argument` is a string where the type takes one: the caller vouches for both, until
        // this returns.
        unsafe {
            match self.go_type {
                kind::VOID => self.go_void?(),
                kind::NUMBER => self.go_number?(number(CStr::from_ptr(argument).to_str().ok()?)?),
                kind::FORMAT => {
                    (libc::sscanf(argument, self.go_format, self.go_data) == 1).then_some(())?;
                }
                kind::STRING => self.go_string?(argument),
                kind::FLAG => self.go_flag.write(true),
                _ => return None,
            }
        }
        Some(())
    }
}

/// A number as C writes it: decimal, 0x... or 0...
fn number(text: &str) -> Option<i64> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let value = if let Some(hex) = digits.strip_prefix("0x") {
        u64::from_str_radix(hex, 16)
    } else if digits.len() > 1 && digits.starts_with('0') {
        u64::from_str_radix(digits, 8)
    } else {
        digits.parse()
    };
    let value = i128::from(value.ok()?);
    i64::try_from(if negative { -value } else { value }).ok()
}

/// Writes the list of options to standard error.
///
/// # Safety
/// The descriptions are strings or NULL.
#[expect(
    clippy::disallowed_methods,
    reason = "what is wrong with the arguments is printed before the program starts"
)]
unsafe fn tell(program: &str, options: &[m0_getopts_opt]) {
    let mut err = std::io::stderr().lock();
    let mut line = |text: &str| {
        let _ = writeln!(err, "{text}");
    };
    line(&format!("usage: {program} [options]"));
    for option in options {
        let description = if option.go_desc.is_null() {
            "".into()
        } else {
            // SAFETY: not NULL, so a string of the program's, which stays as long as its options: the caller vouches for it.
            unsafe { CStr::from_ptr(option.go_desc) }.to_string_lossy()
        };
        let argument = if option.takes_argument() { " ARG" } else { "    " };
        line(&format!("  -{}{argument}  {description}", option.go_opt as u8 as char));
    }
}

/// # Safety
/// There are `argc` arguments and `nr` options, which are as the header says, until the call returns; no other thread parses
/// arguments.
#[unsafe(no_mangle)]
#[expect(
    clippy::disallowed_methods,
    reason = "what is wrong with the arguments is printed before the program starts"
)]
pub unsafe extern "C" fn m0_getopts(
    program: Text<'_>,
    argc: c_int,
    argv: *const *mut c_char,
    opts: In<'_, m0_getopts_opt>,
    nr: u32,
) -> c_int {
    // SAFETY: so many options of the program's, unchanged during the call: the caller vouches for them.
    let Ok(options) = (unsafe { opts.elements(nr, usize::MAX, ()) }) else { return -libc::EINVAL };
    let program = program.get().unwrap_or_default().to_string_lossy();
    let letters = options.iter().flat_map(|option| {
        let colon = option.takes_argument().then_some(b':');
        [Some(option.go_opt as u8), colon].into_iter().flatten()
    });
    let Ok(letters) = CString::new(letters.chain(*b"?h").collect::<Vec<u8>>()) else { return -libc::EINVAL };
    // SAFETY: `argv` has `argc` strings, and the options have what belongs to their types: the caller vouches for both. The variables of `getopt`
    // are used by one thread at a time, for which the caller vouches too, and `optarg` is NULL or a string.
    unsafe {
        optind = 1;
        loop {
            let letter = libc::getopt(argc, argv, letters.as_ptr());
            if letter == -1 {
                return 0;
            }
            match options.iter().find(|option| c_int::from(option.go_opt) == letter) {
                Some(option) if option.apply(optarg).is_some() => {}
                Some(option) => {
                    let argument = Text::new(optarg).get().unwrap_or_default().to_string_lossy();
                    let letter = option.go_opt as u8 as char;
                    let _ =
                        writeln!(std::io::stderr(), "{program}: -{letter}: \"{argument}\" cannot be read");
                    return -libc::EINVAL;
                }
                None => {
                    tell(&program, options);
                    let asked = letter == c_int::from(b'h') || optopt == 0 || optopt == c_int::from(b'?');
                    return if asked { -libc::EAGAIN } else { -libc::EINVAL };
                }
            }
        }
    }
}

unsafe extern "C" {
    static mut optarg: *mut c_char;
    static mut optind: c_int;
    static mut optopt: c_int;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_c_writes_them() {
        let table = [
            ("0", Some(0)),
            ("12", Some(12)),
            ("-12", Some(-12)),
            ("0x1f", Some(31)),
            ("017", Some(15)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("", None),
            ("x", None),
            ("1x", None),
            ("--1", None),
        ];
        for (text, expected) in table {
            assert_eq!(number(text), expected, "{text}");
        }
    }
}
