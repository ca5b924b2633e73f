//! Numeric expressions, and IPv4 addresses made of four of them.
//!
//! C sees how an expression is made up, so it lies in memory as C expects: nodes from `malloc`, in rings.

use crate::entry::helper;
use crate::list;
use crate::nidlist::text;
use crate::nidstr::write_string;
use crate::types::{__u32, cfs_expr_list, cfs_range_expr, list_head};
use lnet_core::Errno;
use lnet_wire::expression::{Expression, Range};
use lnet_wire::ip_range::IpRange;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::num::NonZeroU32;
use std::ptr;

/// Reads an expression from the first len bytes of str: a number, * or [a,b-c,d-e/s], with all numbers
/// from min to max.
///
/// Stores it in *out; the caller frees it with cfs_expr_list_free. Returns 0; -EINVAL, -ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_expr_list_parse(
    str: *mut c_char,
    len: c_int,
    min: c_uint,
    max: c_uint,
    out: *mut *mut cfs_expr_list,
) -> c_int {
    helper(Errno::Invalid.to_c(), || {
        if out.is_null() {
            return Errno::Invalid.to_c();
        }
        // SAFETY: by contract `str` has `len` bytes.
        let parsed = unsafe { text(str, len) }.and_then(|text| Expression::parse(text, min..=max).ok());
        let Some(expression) = parsed else { return Errno::Invalid.to_c() };
        let list = to_c(&expression);
        if list.is_null() {
            return Errno::NoMemory.to_c();
        }
        // SAFETY: not NULL; by contract the caller's to write.
        unsafe { out.write(list) };
        0
    })
}

/// 1 if value is among the numbers of the expression, else 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_expr_list_match(value: __u32, list: *mut cfs_expr_list) -> c_int {
    // SAFETY: by contract `list` is NULL or an expression.
    helper(0, || unsafe { from_c(list) }.matches(value).into())
}

/// Writes the expression into the count bytes of buf, terminated, and cut short where buf is too small.
/// Returns the characters written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_expr_list_print(
    buf: *mut c_char,
    count: c_int,
    list: *mut cfs_expr_list,
) -> c_int {
    helper(0, || {
        let room = usize::try_from(count).unwrap_or(0);
        // SAFETY: by contract `list` is NULL or an expression, and `buf` has `count` bytes.
        let written = unsafe { write_string(buf, room, from_c(list)) };
        c_int::try_from(written).unwrap_or(c_int::MAX)
    })
}

/// Stores in *vals an array of all numbers of the expression, which the caller frees with
/// cfs_expr_list_values_free.
///
/// Returns how many there are; 0, and no array, if there are none; -EINVAL if there are more than max;
/// -ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_expr_list_values(
    list: *mut cfs_expr_list,
    max: c_int,
    vals: *mut *mut __u32,
) -> c_int {
    helper(Errno::Invalid.to_c(), || {
        let max = usize::try_from(max).unwrap_or(0);
        // SAFETY: by contract `list` is NULL or an expression.
        let values = match unsafe { from_c(list) }.values(max) {
            Ok(values) if !vals.is_null() => values,
            _ => return Errno::Invalid.to_c(),
        };
        if values.is_empty() {
            return 0;
        }
        // SAFETY: `malloc` may be called with any size.
        let array: *mut u32 = unsafe { libc::malloc(size_of_val(values.as_slice())) }.cast();
        if array.is_null() {
            return Errno::NoMemory.to_c();
        }
        // SAFETY: the array was made for just as many values; `vals` is not NULL and by contract the
        // caller's to write.
        unsafe {
            ptr::copy_nonoverlapping(values.as_ptr(), array, values.len());
            vals.write(array);
        }
        c_int::try_from(values.len()).unwrap_or(c_int::MAX)
    })
}

/// Frees an array of cfs_expr_list_values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_expr_list_values_free(values: *mut __u32, num: c_int) {
    let _ = num;
    // SAFETY: by contract NULL or an array from `cfs_expr_list_values`, which is `malloc`'s.
    unsafe { libc::free(values.cast::<c_void>()) };
}

/// Frees an expression.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_expr_list_free(list: *mut cfs_expr_list) {
    if list.is_null() {
        return;
    }
    // SAFETY: by contract an expression: a ring of ranges, each from `malloc`, as is the expression.
    unsafe {
        while let Some(range) = list::pop(&raw mut (*list).el_exprs) {
            libc::free(range.cast());
        }
        libc::free(list.cast());
    }
}

/// Frees the expressions in a list that links them by el_link; the list is then empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_expr_list_free_list(list: *mut list_head) {
    if list.is_null() {
        return;
    }
    // SAFETY: by contract a ring of expressions, each of which begins with its link.
    unsafe {
        while let Some(item) = list::pop(list) {
            _cfs_expr_list_free(item.cast());
        }
        list::init(list);
    }
}

/// Reads four expressions with dots between, all numbers from 0 to 255, from the first len bytes of str,
/// and adds them to list, which the caller has initialised and frees with cfs_expr_list_free_list.
///
/// Returns 0; -EINVAL, -ENOMEM: the list is then empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_ip_addr_parse(str: *mut c_char, len: c_int, list: *mut list_head) -> c_int {
    helper(Errno::Invalid.to_c(), || {
        // SAFETY: by contract `str` has `len` bytes.
        let parsed = unsafe { text(str, len) }.and_then(|text| text.parse::<IpRange>().ok());
        let (Some(range), false) = (parsed, list.is_null()) else { return Errno::Invalid.to_c() };
        for octet in range.octets() {
            let expression = to_c(octet);
            if expression.is_null() {
                // SAFETY: by contract `list` is a ring of expressions.
                unsafe { _cfs_expr_list_free_list(list) };
                return Errno::NoMemory.to_c();
            }
            // SAFETY: by contract `list` is a ring; the expression is new.
            unsafe { list::add_tail(&raw mut (*expression).el_link, list) };
        }
        0
    })
}

/// 1 if addr, an IPv4 address in host byte order, matches the four expressions in list, else 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_ip_addr_match(addr: __u32, list: *mut list_head) -> c_int {
    helper(0, || {
        if list.is_null() {
            return 0;
        }
        // SAFETY: by contract `list` is a ring of expressions, each of which begins with its link.
        let octets: Vec<Expression> = unsafe { list::iter(list).map(|item| from_c(item.cast())).collect() };
        <[Expression; 4]>::try_from(octets)
            .is_ok_and(|octets| IpRange::from_octets(octets).matches(addr))
            .into()
    })
}

/// The expression in C's form; NULL when there is no memory.
pub(crate) fn to_c(expression: &Expression) -> *mut cfs_expr_list {
    // SAFETY: `malloc` may be called with any size.
    let list: *mut cfs_expr_list = unsafe { libc::malloc(size_of::<cfs_expr_list>()) }.cast();
    if list.is_null() {
        return list;
    }
    // SAFETY: the list is new and large enough, and so is every node that is added.
    unsafe {
        list::init(&raw mut (*list).el_link);
        list::init(&raw mut (*list).el_exprs);
        for range in expression.ranges() {
            let node: *mut cfs_range_expr = libc::malloc(size_of::<cfs_range_expr>()).cast();
            if node.is_null() {
                _cfs_expr_list_free(list);
                return ptr::null_mut();
            }
            let re_link = list_head { next: ptr::null_mut(), prev: ptr::null_mut() };
            let re_stride = range.stride.get();
            node.write(cfs_range_expr { re_link, re_lo: range.lo, re_hi: range.hi, re_stride });
            list::add_tail(&raw mut (*node).re_link, &raw mut (*list).el_exprs);
        }
    }
    list
}

/// The expression that C's form means; the empty one for NULL.
///
/// # Safety
/// `list` is NULL or an expression, which nobody changes during the call.
pub(crate) unsafe fn from_c(list: *mut cfs_expr_list) -> Expression {
    if list.is_null() {
        return Expression::default();
    }
    // SAFETY: this function's contract; each range begins with its link.
    let ranges = unsafe {
        list::iter(&raw mut (*list).el_exprs).map(|item| {
            let range = &*item.cast::<cfs_range_expr>();
            let stride = NonZeroU32::new(range.re_stride).unwrap_or(NonZeroU32::MIN);
            Range { lo: range.re_lo, hi: range.re_hi, stride }
        })
    };
    Expression::from_ranges(ranges.collect())
}
