//! Small helpers for C strings.

use crate::entry::{bytes_of, helper};
use crate::nidlist::text;
use crate::types::cfs_lstr;
use lnet_wire::expression::parse_number;
use std::ffi::{c_char, c_int, c_uint};
use std::ptr;

/// Removes the first piece of next, up to the character delim or the end, without the blanks around it.
///
/// Returns 1 and stores it in *res, which points into the same string; next then holds the rest, and NULL
/// after the last piece. Returns 0 if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_gettok(next: *mut cfs_lstr, delim: c_char, res: *mut cfs_lstr) -> c_int {
    helper(0, || {
        if next.is_null() || res.is_null() {
            return 0;
        }
        // SAFETY: checked for NULL; variables of the program's, for the call to read and write, and `ls_str` has `ls_len` bytes.
        unsafe {
            let Some(all) = piece(&*next) else { return 0 };
            let start = (*next).ls_str;
            let end = all.iter().position(|byte| *byte == delim as u8);
            let token = &all[..end.unwrap_or(all.len())];
            (*next).ls_str = match end {
                Some(end) => start.add(end + 1),
                None => ptr::null_mut(),
            };
            (*next).ls_len = c_int::try_from(all.len() - end.map_or(all.len(), |end| end + 1)).unwrap_or(0);

            let leading = token.len() - token.trim_ascii_start().len();
            let token = token.trim_ascii();
            let ls_len = c_int::try_from(token.len()).unwrap_or(0);
            res.write(cfs_lstr { ls_str: start.add(leading), ls_len });
            (!token.is_empty()).into()
        }
    })
}

/// Reads a number from the first nob bytes of str: decimal, 0x hexadecimal or 0 octal; blanks around
/// it are ignored. Returns 1 and stores it in *num if it is from min to max, else 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_str2num_check(
    str: *mut c_char,
    nob: c_int,
    num: *mut c_uint,
    min: c_uint,
    max: c_uint,
) -> c_int {
    helper(0, || {
        // SAFETY: NULL, or `nob` bytes of the program's, unchanged during the call.
        let parsed = unsafe { text(str, nob) }.and_then(|text| parse_number(text, &(min..=max)).ok());
        let (Some(value), false) = (parsed, num.is_null()) else { return 0 };
        // SAFETY: checked for NULL; a variable of the program's, which the call may write until it returns.
        unsafe { num.write(value) };
        1
    })
}

/// Removes the blanks at the end of str, in place; returns the address of its first character that is no blank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_trimwhite(str: *mut c_char) -> *mut c_char {
    helper(str, || {
        // SAFETY: NULL, or a string of the program's, which only the call changes until it returns.
        let Some(bytes) = (unsafe { bytes_of(str) }) else { return str };
        let leading = bytes.len() - bytes.trim_ascii_start().len();
        let end = leading + bytes.trim_ascii().len();
        // SAFETY: `leading` and `end` are within the string, which the call may write.
        unsafe {
            str.add(end).write(0);
            str.add(leading)
        }
    })
}

/// Ends str after its first word, reading at most size bytes; returns the start of the word.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_firststr(str: *mut c_char, size: usize) -> *mut c_char {
    if str.is_null() {
        return str;
    }
    // SAFETY: checked for NULL; `size` bytes of the program's, or fewer with a NUL behind them, at which the search ends.
    let at = |i: usize| if i < size { unsafe { str.add(i).read() as u8 } } else { 0 };
    let start = (0..).find(|i| !at(*i).is_ascii_whitespace()).unwrap_or(0);
    let end = (start..).find(|i| at(*i) == 0 || at(*i).is_ascii_whitespace()).unwrap_or(start);
    // SAFETY: `start` is at most `size`; written is only below `size`, in the program's string, which the call may write.
    unsafe {
        if end < size {
            str.add(end).write(0);
        }
        str.add(start)
    }
}

/// The last occurrence of needle in haystack; NULL if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_strrstr(haystack: *const c_char, needle: *const c_char) -> *mut c_char {
    helper(ptr::null_mut(), || {
        // SAFETY: each NULL, or a string of the program's, unchanged during the call.
        let (Some(hay), Some(needle)) = (unsafe { bytes_of(haystack) }, unsafe { bytes_of(needle) }) else {
            return ptr::null_mut();
        };
        let last = (0..=hay.len()).rev().find(|at| hay[*at..].starts_with(needle));
        // SAFETY: `at` is within the string.
        last.map_or(ptr::null_mut(), |at| unsafe { haystack.add(at).cast_mut() })
    })
}

/// The bytes of a piece, if it is not empty.
///
/// # Safety
/// `ls_str` is NULL or has `ls_len` bytes that do not change during `'a`.
unsafe fn piece<'a>(string: &cfs_lstr) -> Option<&'a [u8]> {
    let len = usize::try_from(string.ls_len).ok()?;
    if string.ls_str.is_null() {
        return None;
    }
    // SAFETY: checked for NULL; `ls_len` bytes of the program's, which are there and unchanged as long as the result is used (`'a`).
    Some(unsafe { std::slice::from_raw_parts(string.ls_str.cast(), len) })
}
