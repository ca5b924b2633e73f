//! Pointer arguments of functions that C programs call: the contract of each kind, stated once, and its conversion.
//!
//! Each type has the representation of a C pointer and stands in the signature of an `extern "C"` function in place of one. A
//! value comes from the C program that makes the call, or from an unsafe `new`; either guarantees the contract of the type.
//! Conversions are therefore safe: they refuse NULL with the error of the caller's choice, and no result outlives the call.

use std::ffi::{CStr, c_char};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// `const T *`: an argument that is only read.
///
/// Contract: NULL, or a `T` of the program that stays valid for `'a`, the time of the call; it does not change meanwhile,
/// except in cells, atomics and locks.
#[repr(transparent)]
#[derive(Debug)]
pub struct In<'a, T>(*const T, PhantomData<&'a T>);

impl<T> Clone for In<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for In<'_, T> {}

impl<'a, T> In<'a, T> {
    /// An argument for a call that Rust makes.
    ///
    /// # Safety
    /// The contract of the type.
    pub const unsafe fn new(pointer: *const T) -> Self {
        Self(pointer, PhantomData)
    }

    /// The object. `errno`: NULL.
    pub fn or<E>(self, errno: E) -> Result<&'a T, E> {
        self.get().ok_or(errno)
    }

    /// The object. `None`: NULL.
    pub fn get(self) -> Option<&'a T> {
        // SAFETY: NULL, or a `T` of the calling program's, which is there and unchanged until the call returns (`'a`).
        unsafe { self.0.as_ref() }
    }

    /// The address, which may be NULL.
    pub const fn as_ptr(self) -> *const T {
        self.0
    }

    /// The start of an array of `count` elements, of which there may be `max`; an empty one may be NULL. `errno`: NULL, or too many.
    ///
    /// # Safety
    /// Unless this is NULL, or `count` is above `max`, there are `count` elements, each as the type's contract says.
    pub unsafe fn elements<E>(self, count: u32, max: usize, errno: E) -> Result<&'a [T], E> {
        match NonNull::new(self.0.cast_mut()) {
            _ if count == 0 => Ok(&[]),
            Some(start) if count as usize <= max => {
                // SAFETY: not NULL, so an array of `count` elements of the calling program's, which is there and unchanged until the call
                // returns (`'a`).
                Ok(unsafe { std::slice::from_raw_parts(start.as_ptr(), count as usize) })
            }
            _ => Err(errno),
        }
    }
}

/// `T *`: an argument that the call reads and changes.
///
/// Contract: NULL, or a `T` that stays valid for `'a`, the time of the call; no other thread accesses it meanwhile.
#[repr(transparent)]
#[derive(Debug)]
pub struct InOut<'a, T>(*mut T, PhantomData<&'a mut T>);

impl<'a, T> InOut<'a, T> {
    /// An argument for a call that Rust makes.
    ///
    /// # Safety
    /// The contract of the type.
    pub const unsafe fn new(pointer: *mut T) -> Self {
        Self(pointer, PhantomData)
    }

    /// The object. `errno`: NULL.
    pub fn or<E>(self, errno: E) -> Result<&'a mut T, E> {
        // SAFETY: NULL, or a `T` of the calling program's, which is there until the call returns (`'a`) and which no other thread uses
        // before; `self` is used up, so that there is one reference.
        unsafe { self.0.as_mut() }.ok_or(errno)
    }

    /// The address, for a call during which the program's own functions may access the object. `errno`: NULL.
    pub fn address_or<E>(self, errno: E) -> Result<NonNull<T>, E> {
        NonNull::new(self.0).ok_or(errno)
    }
}

/// `T *`: memory in which a result is written.
///
/// Contract: NULL, or memory for a `T` that the call may write for `'a`; it need not be initialised.
#[repr(transparent)]
#[derive(Debug)]
pub struct Out<'a, T>(*mut T, PhantomData<&'a mut T>);

impl<T> Out<'_, T> {
    /// An argument for a call that Rust makes.
    ///
    /// # Safety
    /// The contract of the type.
    pub const unsafe fn new(pointer: *mut T) -> Self {
        Self(pointer, PhantomData)
    }

    /// Whether the program does not want the result.
    pub const fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// The address, which may be NULL.
    pub const fn as_ptr(&self) -> *mut T {
        self.0
    }

    /// Writes the result. `errno`: NULL.
    pub fn store<E>(&mut self, value: T, errno: E) -> Result<(), E> {
        let to = NonNull::new(self.0).ok_or(errno)?;
        // SAFETY: checked for NULL; memory of the calling program's for a `T`, which is there until the call returns (`'a`) and may be written.
        unsafe { to.write(value) };
        Ok(())
    }

    /// Writes the result if the program wants it.
    pub fn store_if_wanted(&mut self, value: T) {
        let _ = self.store(value, ());
    }
}

/// `const char *`: a string.
///
/// Contract: NULL, or a string of the program's that ends with a NUL, and stays valid and unchanged for `'a`, the time of the call.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Text<'a>(*const c_char, PhantomData<&'a c_char>);

impl<'a> Text<'a> {
    /// No string.
    pub const NULL: Self = Self(std::ptr::null(), PhantomData);

    /// An argument for a call that Rust makes.
    ///
    /// # Safety
    /// The contract of the type.
    pub const unsafe fn new(pointer: *const c_char) -> Self {
        Self(pointer, PhantomData)
    }

    /// A string of Rust's as an argument.
    pub const fn of(text: &'a CStr) -> Self {
        Self(text.as_ptr(), PhantomData)
    }

    /// The string. `None`: NULL.
    pub fn get(self) -> Option<&'a CStr> {
        // SAFETY: checked for NULL; a string of the calling program's, which is there and unchanged until the call returns (`'a`).
        (!self.0.is_null()).then(|| unsafe { CStr::from_ptr(self.0) })
    }

    /// The string. `errno`: NULL, or not UTF-8.
    pub fn utf8_or<E>(self, errno: E) -> Result<&'a str, E> {
        self.get().and_then(|text| text.to_str().ok()).ok_or(errno)
    }

    /// The address, which may be NULL.
    pub const fn as_ptr(self) -> *const c_char {
        self.0
    }
}

/// `T *`: an object of the library, in a box, that the program returns.
///
/// Contract: NULL, or the pointer that [`Owned::give`] gave to the program, which returns it, and does not use it again
/// unless the call refuses it.
#[repr(transparent)]
#[derive(Debug)]
pub struct Owned<T>(*mut T);

impl<T> Owned<T> {
    /// The pointer to an object that becomes the program's.
    pub fn give(object: T) -> *mut T {
        Box::into_raw(Box::new(object))
    }

    /// An argument for a call that Rust makes.
    ///
    /// # Safety
    /// The contract of the type.
    pub const unsafe fn new(pointer: *mut T) -> Self {
        Self(pointer)
    }

    /// The address, which may be NULL.
    pub const fn as_ptr(&self) -> *mut T {
        self.0
    }

    /// The object, without taking it. `errno`: NULL.
    pub fn or<E>(&self, errno: E) -> Result<&T, E> {
        // SAFETY: the box of `give`, which the program uses no more: it stays until `take`, which needs `self` itself.
        unsafe { self.0.as_ref() }.ok_or(errno)
    }

    /// The box. `errno`: NULL.
    pub fn take<E>(self, errno: E) -> Result<Box<T>, E> {
        let object = NonNull::new(self.0).ok_or(errno)?;
        // SAFETY: checked for NULL; the box of `give`, which lives until here: the program gives it back once and does not use it again.
        Ok(unsafe { Box::from_raw(object.as_ptr()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    #[test]
    fn null_is_refused_with_the_error_of_the_callers_choice() {
        // SAFETY: NULL is allowed by each of the contracts.
        unsafe {
            let null = ptr::null_mut::<u32>();
            assert_eq!(In::new(null).or(7), Err(7));
            assert_eq!(InOut::new(null).or(7), Err(7));
            assert_eq!(Out::new(null).store(1, 7), Err(7));
            assert_eq!(In::new(null).elements(1, 9, 7), Err(7));
            assert_eq!(In::new(null).elements(0, 9, 7), Ok(&[][..]));
            assert_eq!(Text::new(ptr::null()).utf8_or(7), Err(7));
            assert_eq!(Owned::new(null).take(7), Err(7));
            Out::new(null).store_if_wanted(1);
        }
    }

    #[test]
    fn what_the_program_gives_is_read_written_and_taken_back() {
        let mut number = 5_u32;
        // SAFETY: numbers and strings of this test, each used by one of them at a time.
        unsafe {
            *InOut::new(&raw mut number).or(()).unwrap() += 1;
            assert_eq!(In::new(&raw const number).or(()), Ok(&6));
            assert_eq!(Out::new(&raw mut number).store(7, ()), Ok(()));
            assert_eq!(number, 7);
            assert_eq!(In::new([1, 2].as_ptr()).elements(2, 2, ()), Ok(&[1, 2][..]));
            assert_eq!(In::new([1, 2].as_ptr()).elements(2, 1, 9), Err(9), "too many");
            assert_eq!(Text::new(c"\xff".as_ptr()).utf8_or(9), Err(9), "not UTF-8");
            let given = Owned::new(Owned::give(3));
            assert_eq!(given.or(()), Ok(&3));
            assert_eq!(given.take(()), Ok(Box::new(3)));
        }
        assert_eq!(Text::of(c"text").utf8_or(()), Ok("text"));
    }

    #[test]
    fn each_argument_is_one_pointer() {
        let sizes = [
            size_of::<In<'_, u64>>(),
            size_of::<InOut<'_, u64>>(),
            size_of::<Out<'_, u64>>(),
            size_of::<Text<'_>>(),
            size_of::<Owned<u64>>(),
        ];
        assert_eq!(sizes, [size_of::<*const u64>(); 5]);
    }
}
