//! Numeric expressions, and IPv4 addresses made of four of them.
//!
//! Programs read the parts of an expression, so its memory is laid out as in C: nodes from `malloc`, in rings.

use crate::entry::helper;
use crate::list::{Ring, RingArg};
use crate::nidlist::text;
use crate::nidstr::write_string;
use crate::types::{__u32, cfs_expr_list, cfs_range_expr, list_head};
use lnet_core::Errno;
use lnet_wire::expression::{Expression, Range};
use lnet_wire::ip_range::IpRange;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::net::Ipv4Addr;
use std::num::NonZeroU32;
use std::ptr::{self, NonNull};

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
        // SAFETY: NULL, or `len` bytes of the program's, unchanged during the call.
        let parsed = unsafe { text(str, len) }.and_then(|text| Expression::parse(text, min..=max).ok());
        let Some(expression) = parsed else { return Errno::Invalid.to_c() };
        let list = to_c(&expression);
        if list.is_null() {
            return Errno::NoMemory.to_c();
        }
        // SAFETY: checked for NULL above; a variable of the program's, which the call may write.
        unsafe { out.write(list) };
        0
    })
}

/// Returns 1 if value is among the numbers of the expression, else 0.
#[unsafe(no_mangle)]
pub extern "C" fn _cfs_expr_list_match(value: __u32, list: ExprListArg) -> c_int {
    helper(0, || from_c(list).matches(value).into())
}

/// Writes the expression into the count bytes of buf, terminated, and truncated if buf is too small.
/// Returns the number of characters written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_expr_list_print(buf: *mut c_char, count: c_int, list: ExprListArg) -> c_int {
    helper(0, || {
        let room = usize::try_from(count).unwrap_or(0);
        // SAFETY: NULL, or `count` bytes of the program's, which the call may write.
        let written = unsafe { write_string(buf, room, from_c(list)) };
        c_int::try_from(written).unwrap_or(c_int::MAX)
    })
}

/// Stores in *vals an array of all numbers of the expression, which the caller frees with
/// cfs_expr_list_values_free.
///
/// Returns the number of values; 0, and no array, if there are none; -EINVAL if there are more than max;
/// -ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_expr_list_values(
    list: ExprListArg,
    max: c_int,
    vals: *mut *mut __u32,
) -> c_int {
    helper(Errno::Invalid.to_c(), || {
        let max = usize::try_from(max).unwrap_or(0);
        let values = match from_c(list).values(max) {
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
        // SAFETY: the array was made for just as many values, and nobody else has it yet; `vals`, checked for NULL above, is a variable of the
        // program's, which the call may write.
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
    // SAFETY: NULL, or an array of `cfs_expr_list_values`, which is `malloc`'s; the program gives it up.
    unsafe { libc::free(values.cast::<c_void>()) };
}

/// Frees an expression.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_expr_list_free(list: ExprListArg) {
    let Some(list) = list else { return };
    while let Some(range) = list.ranges().pop() {
        // SAFETY: a range of `to_c`, which is `malloc`'s, and which the expression, that the program gives up, has no more.
        unsafe { libc::free(range.as_ptr()) };
    }
    // SAFETY: an expression of `to_c`, which is `malloc`'s, and which the program gives up.
    unsafe { libc::free(list.0.as_ptr().cast()) };
}

/// Frees the expressions in a list that links them by el_link; the list is then empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_expr_list_free_list(list: RingArg) {
    let Some(list) = list else { return };
    while let Some(item) = list.pop() {
        // SAFETY: an expression, which begins with its link; the list, that the program gives up, has it no more.
        unsafe { _cfs_expr_list_free(ExprList::of_link(item)) };
    }
    list.init();
}

/// Reads four expressions with dots between, all numbers from 0 to 255, or an IPv4 mask such as 10.0.0.0/8, which
/// four expressions stand for, from the first len bytes of str, and adds them to list, which the caller has initialised and frees with
/// cfs_expr_list_free_list.
///
/// Returns 0; -EINVAL, -ENOMEM: the list is then empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_ip_addr_parse(str: *mut c_char, len: c_int, list: RingArg) -> c_int {
    helper(Errno::Invalid.to_c(), || {
        // SAFETY: NULL, or `len` bytes of the program's, unchanged during the call.
        let parsed = unsafe { text(str, len) }.and_then(|text| text.parse::<IpRange>().ok()?.octets());
        let (Some(octets), Some(list)) = (parsed, list) else { return Errno::Invalid.to_c() };
        for octet in &octets {
            let Some(expression) = ExprList::made(octet) else {
                // SAFETY: the expressions of the program's list, which is empty when the call fails.
                unsafe { _cfs_expr_list_free_list(Some(list)) };
                return Errno::NoMemory.to_c();
            };
            list.add_tail(expression.link());
        }
        0
    })
}

/// Returns 1 if addr, an IPv4 address in host byte order, matches the four expressions in list, else 0.
#[unsafe(no_mangle)]
pub extern "C" fn _cfs_ip_addr_match(addr: __u32, list: RingArg) -> c_int {
    helper(0, || {
        let Some(list) = list else { return 0 };
        let octets: Vec<Expression> = list.items().map(|item| from_c(ExprList::of_link(item))).collect();
        <[Expression; 4]>::try_from(octets)
            .is_ok_and(|octets| IpRange::from_octets(octets).matches(Ipv4Addr::from_bits(addr).into()))
            .into()
    })
}

/// `struct cfs_expr_list *` that is not NULL: an expression in C's form.
///
/// Contract: an expression that [`to_c`] has made, with its ranges, which is valid as long as a copy of this is used; no
/// other thread uses it during a call. C guarantees it.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct ExprList(NonNull<cfs_expr_list>);

/// `struct cfs_expr_list *`: an [`ExprList`], or `None` for NULL.
pub type ExprListArg = Option<ExprList>;

impl ExprList {
    /// The expression in C's form; `None` if there is no memory.
    pub(crate) fn made(expression: &Expression) -> ExprListArg {
        NonNull::new(to_c(expression)).map(Self)
    }

    /// The expression that a pointer of the program points to; `None` for NULL.
    ///
    /// # Safety
    /// NULL, or as the contract of the type says.
    pub(crate) unsafe fn new(list: *mut cfs_expr_list) -> ExprListArg {
        NonNull::new(list).map(Self)
    }

    /// The expression with this link, which is its first member.
    pub(crate) fn of_link(link: Ring) -> ExprListArg {
        NonNull::new(link.as_ptr()).map(Self)
    }

    /// The link of the expression in a list of expressions.
    pub(crate) const fn link(self) -> Ring {
        // SAFETY: the first member of an expression, which is not NULL and stays.
        unsafe { Ring::new(self.0.as_ptr().cast()) }
    }

    /// The ring of the expression's ranges.
    const fn ranges(self) -> Ring {
        // SAFETY: a member of an expression, which is not NULL and stays.
        unsafe { Ring::new(&raw mut (*self.0.as_ptr()).el_exprs) }
    }
}

/// The expression in C's form; NULL if there is no memory.
pub(crate) fn to_c(expression: &Expression) -> *mut cfs_expr_list {
    // SAFETY: `malloc` may be called with any size.
    let Some(list) = NonNull::new(unsafe { libc::malloc(size_of::<cfs_expr_list>()) }.cast()).map(ExprList)
    else {
        return ptr::null_mut();
    };
    list.link().init();
    list.ranges().init();
    for range in expression.ranges() {
        // SAFETY: `malloc` may be called with any size.
        let node: *mut cfs_range_expr = unsafe { libc::malloc(size_of::<cfs_range_expr>()) }.cast();
        if node.is_null() {
            // SAFETY: new, and nobody else has it.
            unsafe { _cfs_expr_list_free(Some(list)) };
            return ptr::null_mut();
        }
        let re_link = list_head { next: ptr::null_mut(), prev: ptr::null_mut() };
        let re_stride = range.stride.get();
        // SAFETY: new and large enough; the range begins with its link, and stays as long as the expression.
        let link = unsafe {
            node.write(cfs_range_expr { re_link, re_lo: range.lo, re_hi: range.hi, re_stride });
            Ring::new(node.cast())
        };
        list.ranges().add_tail(link);
    }
    list.0.as_ptr()
}

/// The expression that is given in C's form; the empty one for NULL.
pub(crate) fn from_c(list: ExprListArg) -> Expression {
    let Some(list) = list else { return Expression::default() };
    let ranges = list.ranges().items().map(|item| {
        // SAFETY: a range of an expression, which begins with its link, and stays unchanged during the call (`ExprList`).
        let range = unsafe { &*item.as_ptr::<cfs_range_expr>() };
        let stride = NonZeroU32::new(range.re_stride).unwrap_or(NonZeroU32::MIN);
        Range { lo: range.re_lo, hi: range.re_hi, stride }
    });
    Expression::from_ranges(ranges.collect())
}
