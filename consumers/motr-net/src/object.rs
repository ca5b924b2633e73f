//! Pointers to the structures that a program in C and the library share, and their contract.

use crate::contract::require;
use lnet_api::c_pointer::Out;
use std::any::type_name;
use std::fmt;
use std::ops::Deref;
use std::ptr;

/// The address of a `T` that the program and the library share, or NULL: `struct T *` in an argument or a field.
///
/// # Contract
/// C makes objects, in arguments and in fields, as the headers (`consumers/motr-net/include`) demand; Rust makes them with
/// [`Object::new`]. The maker of an object guarantees this, for as long as a copy of it is in use:
///
/// 1. The object is NULL, or the address of a `T` that its init function has initialised, or of a zeroed one where the header
///    permits that. The header's statements about the fields are true: an array has as many elements as its count says, a
///    pointer is an object in its turn.
/// 2. The `T` stays where it is until the last call for it according to its header: fini, deregister, free, or the last event
///    of an operation. After that no copy is used; those calls take the object out of every list and field of the library.
/// 3. Fields that change while others look at the `T` are cells, atomics or locks, so that references to it may exist meanwhile, in callbacks
///    too. A cell is accessed with the lock that the header names for it.
///
/// Dereferencing an object is therefore safe. NULL where an object is needed violates the contract of the call, which ends
/// the process with a message.
#[repr(transparent)]
pub struct Object<T>(*mut T);

impl<T> Object<T> {
    /// The NULL pointer, which is no object.
    pub const NULL: Self = Self(ptr::null_mut());

    /// The object at this address.
    ///
    /// # Safety
    /// The caller guarantees the contract of the type.
    pub const unsafe fn new(pointer: *mut T) -> Self {
        Self(pointer)
    }

    /// A constant as an object, which lives for ever.
    pub const fn of_static(constant: &'static T) -> Self {
        Self(ptr::from_ref(constant).cast_mut())
    }

    /// Initialises memory of the program, which is an object from then on.
    pub(crate) fn init(mut memory: Out<'_, T>, value: T) -> Self {
        let is_given = memory.store(value, ()).is_ok();
        require!(type_name::<T>(), is_given, "the pointer to what is to be initialised is NULL");
        Self(memory.as_ptr())
    }

    /// Whether the pointer is NULL.
    pub const fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The address of the object.
    pub const fn as_ptr(self) -> *mut T {
        self.0
    }

    /// The object; `None` if the pointer is NULL.
    pub(crate) fn get(self) -> Option<Self> {
        (!self.is_null()).then_some(self)
    }

    /// A structure within this one, with the same lifetime.
    pub(crate) fn part<P>(self, pick: impl for<'a> FnOnce(&'a T) -> &'a P) -> Object<P> {
        let offset = ptr::from_ref(pick(&self)).addr().wrapping_sub(self.0.addr());
        let is_part = offset.checked_add(size_of::<P>()).is_some_and(|end| end <= size_of::<T>());
        require!(type_name::<T>(), is_part, "{} is no part of it", type_name::<P>());
        Object(self.0.wrapping_byte_add(offset).cast())
    }

    /// The structure that contains this one at `offset`; NULL for NULL.
    ///
    /// # Safety
    /// `self` is NULL, or a part of a `C` at that offset.
    pub(crate) unsafe fn container<C>(self, offset: usize) -> Object<C> {
        if self.is_null() { Object::NULL } else { Object(self.0.wrapping_byte_sub(offset).cast()) }
    }

    /// The memory of an object, to be initialised again.
    ///
    /// # Safety
    /// No thread uses the object, or has a reference to it, until it is initialised.
    pub(crate) const unsafe fn memory<'a>(self) -> Out<'a, T> {
        // SAFETY: memory of an object is there to be written as long as nobody uses the object, which the caller vouches for.
        unsafe { Out::new(self.0) }
    }
}

#[cfg(test)]
impl<T> Object<T> {
    /// A variable of a test, which stays to the end of the test.
    pub(crate) fn of_test(variable: &T) -> Self {
        Self(ptr::from_ref(variable).cast_mut())
    }

    /// The memory of a variable of a test, which is not in use yet.
    pub(crate) fn memory_of_test<'a>(variable: &T) -> Out<'a, T> {
        // SAFETY: the test vouches for it.
        unsafe { Self::of_test(variable).memory() }
    }
}

impl<T> Deref for Object<T> {
    type Target = T;

    fn deref(&self) -> &T {
        require!(type_name::<T>(), !self.0.is_null(), "the pointer to it is NULL");
        // SAFETY: not NULL, so the address of a valid `T` that stays while `self` is in use (1 and 2 of the contract), and that changes in
        // cells, atomics and locks only (3).
        unsafe { &*self.0 }
    }
}

impl<T> Clone for Object<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Object<T> {}

impl<T> PartialEq for Object<T> {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self.0, other.0)
    }
}

impl<T> Eq for Object<T> {}

impl<T> Default for Object<T> {
    fn default() -> Self {
        Self::NULL
    }
}

impl<T> fmt::Debug for Object<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
