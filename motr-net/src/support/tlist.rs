//! Lists of objects of one type (motr-net 8.1): a descriptor says where in an object its link is.

use super::list::{
    Links, m0_list, m0_list_add, m0_list_add_tail, m0_list_contains, m0_list_del, m0_list_first,
    m0_list_init, m0_list_is_empty, m0_list_last, m0_list_length, m0_list_link, m0_list_link_fini,
    m0_list_link_init, m0_list_link_is_in,
};
use std::ffi::{CStr, c_char, c_void};
use std::ptr;

/// The head of a list of objects.
#[repr(C)]
#[derive(Debug, Default)]
pub struct m0_tl {
    /// The ring of the links.
    pub t_head: m0_list,
}

/// A link, in an object.
#[repr(C)]
#[derive(Debug, Default)]
pub struct m0_tlink {
    /// The link.
    pub t_link: m0_list_link,
}

/// Where in an object its link and its mark are.
#[repr(C)]
#[derive(Debug)]
pub struct m0_tl_descr {
    td_name: *const c_char,
    td_link_offset: usize,
    td_magic_offset: usize,
    td_magic: u64,
}

// SAFETY: descriptors are constants, which nothing writes.
unsafe impl Sync for m0_tl_descr {}

impl m0_tl_descr {
    /// Of objects whose link is at `link_offset`, and a `u64` at `magic_offset`, which becomes `magic`; 0: none.
    pub const fn new(name: &'static CStr, link_offset: usize, magic_offset: usize, magic: u64) -> Self {
        Self {
            td_name: name.as_ptr(),
            td_link_offset: link_offset,
            td_magic_offset: magic_offset,
            td_magic: magic,
        }
    }

    fn link_of(&self, object: *const c_void) -> *mut m0_list_link {
        object.wrapping_byte_add(self.td_link_offset).cast_mut().cast()
    }

    /// NULL: no link.
    fn object_of(&self, link: *mut m0_list_link) -> *mut c_void {
        if link.is_null() {
            return ptr::null_mut();
        }
        link.wrapping_byte_sub(self.td_link_offset).cast()
    }

    /// The objects of a list, from the first to the last. The one that it gave last may be taken out of the list.
    ///
    /// # Safety
    /// The list is valid, its objects are those that `self` describes, and it is changed in no other way while this is used.
    pub unsafe fn objects(&self, list: *const m0_tl) -> impl Iterator<Item = *mut c_void> + '_ {
        // SAFETY: by contract.
        unsafe { Links::of(list.cast()) }.map(|link| self.object_of(link))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_tlist_init(_: *const m0_tl_descr, list: *mut m0_tl) {
    // SAFETY: by contract; a list of objects is a list.
    unsafe { m0_list_init(list.cast()) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_tlist_fini(_: *const m0_tl_descr, list: *mut m0_tl) {
    // SAFETY: by contract.
    unsafe { super::list::m0_list_fini(list.cast()) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_tlist_is_empty(_: *const m0_tl_descr, list: *const m0_tl) -> bool {
    // SAFETY: by contract.
    unsafe { m0_list_is_empty(list.cast()) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_tlist_length(_: *const m0_tl_descr, list: *const m0_tl) -> usize {
    // SAFETY: by contract.
    unsafe { m0_list_length(list.cast()) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_tlist_contains(
    d: *const m0_tl_descr,
    list: *const m0_tl,
    object: *const c_void,
) -> bool {
    // SAFETY: by contract.
    unsafe { m0_list_contains(list.cast(), (*d).link_of(object)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_tlink_init(d: *const m0_tl_descr, object: *mut c_void) {
    // SAFETY: by contract the descriptor is that of the object.
    unsafe {
        m0_list_link_init((*d).link_of(object));
        if (*d).td_magic != 0 {
            object.byte_add((*d).td_magic_offset).cast::<u64>().write((*d).td_magic);
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_tlink_fini(d: *const m0_tl_descr, object: *mut c_void) {
    // SAFETY: by contract.
    unsafe { m0_list_link_fini((*d).link_of(object)) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_tlink_is_in(d: *const m0_tl_descr, object: *const c_void) -> bool {
    // SAFETY: by contract.
    unsafe { m0_list_link_is_in((*d).link_of(object)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_tlist_add(d: *const m0_tl_descr, list: *mut m0_tl, object: *mut c_void) {
    // SAFETY: by contract.
    unsafe { m0_list_add(list.cast(), (*d).link_of(object)) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_tlist_add_tail(d: *const m0_tl_descr, list: *mut m0_tl, object: *mut c_void) {
    // SAFETY: by contract.
    unsafe { m0_list_add_tail(list.cast(), (*d).link_of(object)) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_tlist_del(d: *const m0_tl_descr, object: *mut c_void) {
    // SAFETY: by contract.
    unsafe { m0_list_del((*d).link_of(object)) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_tlist_head(d: *const m0_tl_descr, list: *const m0_tl) -> *mut c_void {
    // SAFETY: by contract.
    unsafe { (*d).object_of(m0_list_first(list.cast())) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_tlist_tail(d: *const m0_tl_descr, list: *const m0_tl) -> *mut c_void {
    // SAFETY: by contract.
    unsafe { (*d).object_of(m0_list_last(list.cast())) }
}

/// The object of a link, NULL if that is the head.
///
/// # Safety
/// The descriptor is that of the list.
unsafe fn unless_head(d: *const m0_tl_descr, list: *const m0_tl, link: *mut m0_list_link) -> *mut c_void {
    if ptr::eq(link, list.cast()) {
        return ptr::null_mut();
    }
    // SAFETY: by contract.
    unsafe { (*d).object_of(link) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_tlist_next(
    d: *const m0_tl_descr,
    list: *const m0_tl,
    object: *const c_void,
) -> *mut c_void {
    // SAFETY: by contract the object is in the list.
    unsafe { unless_head(d, list, (*(*d).link_of(object)).ll_next) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_tlist_prev(
    d: *const m0_tl_descr,
    list: *const m0_tl,
    object: *const c_void,
) -> *mut c_void {
    // SAFETY: by contract the object is in the list.
    unsafe { unless_head(d, list, (*(*d).link_of(object)).ll_prev) }
}

/// Makes a family: the descriptor and the functions that `M0_TL_FAMILY_DECLARE` declares.
macro_rules! tl_family {
    ($object:ty, $descriptor:ident = $value:expr; lists: $init:ident $fini:ident $is_empty:ident $length:ident
     $contains:ident $add:ident $add_tail:ident $del:ident $head:ident $tail:ident;
     links: $link_init:ident $init_at:ident $init_at_tail:ident $link_fini:ident $del_fini:ident $is_in:ident) => {
        #[allow(missing_docs, non_upper_case_globals, reason = "lib/tlist.h documents it")]
        #[unsafe(no_mangle)]
        pub static $descriptor: $crate::support::m0_tl_descr = $value;

        $crate::support::tlist::tl_family!(@ $descriptor;
            $init(list: *mut $crate::support::m0_tl) -> (): m0_tlist_init(list);
            $fini(list: *mut $crate::support::m0_tl) -> (): m0_tlist_fini(list);
            $is_empty(list: *const $crate::support::m0_tl) -> bool: m0_tlist_is_empty(list);
            $length(list: *const $crate::support::m0_tl) -> usize: m0_tlist_length(list);
            $contains(list: *const $crate::support::m0_tl, object: *const $object) -> bool:
                m0_tlist_contains(list, object.cast());
            $add(list: *mut $crate::support::m0_tl, object: *mut $object) -> (): m0_tlist_add(list, object.cast());
            $add_tail(list: *mut $crate::support::m0_tl, object: *mut $object) -> ():
                m0_tlist_add_tail(list, object.cast());
            $del(object: *mut $object) -> (): m0_tlist_del(object.cast());
            $link_init(object: *mut $object) -> (): m0_tlink_init(object.cast());
            $link_fini(object: *mut $object) -> (): m0_tlink_fini(object.cast());
            $is_in(object: *const $object) -> bool: m0_tlink_is_in(object.cast());
        );

        #[allow(missing_docs, clippy::missing_safety_doc, reason = "lib/tlist.h documents it")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $head(list: *const $crate::support::m0_tl) -> *mut $object {
            // SAFETY: by contract of the C function.
            unsafe { $crate::support::m0_tlist_head(&raw const $descriptor, list) }.cast()
        }

        #[allow(missing_docs, clippy::missing_safety_doc, reason = "lib/tlist.h documents it")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $tail(list: *const $crate::support::m0_tl) -> *mut $object {
            // SAFETY: by contract of the C function.
            unsafe { $crate::support::m0_tlist_tail(&raw const $descriptor, list) }.cast()
        }

        #[allow(missing_docs, clippy::missing_safety_doc, reason = "lib/tlist.h documents it")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $init_at(object: *mut $object, list: *mut $crate::support::m0_tl) {
            // SAFETY: by contract of the C function.
            unsafe {
                $link_init(object);
                $add(list, object);
            }
        }

        #[allow(missing_docs, clippy::missing_safety_doc, reason = "lib/tlist.h documents it")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $init_at_tail(object: *mut $object, list: *mut $crate::support::m0_tl) {
            // SAFETY: by contract of the C function.
            unsafe {
                $link_init(object);
                $add_tail(list, object);
            }
        }

        #[allow(missing_docs, clippy::missing_safety_doc, reason = "lib/tlist.h documents it")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $del_fini(object: *mut $object) {
            // SAFETY: by contract of the C function.
            unsafe { $del(object) };
        }
    };

    (@ $descriptor:ident; $($name:ident($($argument:ident: $kind:ty),*) -> $result:ty: $function:ident($($value:expr),*);)*) => {
        $(
            #[allow(missing_docs, clippy::missing_safety_doc, clippy::unused_unit, reason = "lib/tlist.h documents it")]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $kind),*) -> $result {
                // SAFETY: by contract of the C function.
                unsafe { $crate::support::$function(&raw const $descriptor, $($value),*) }
            }
        )*
    };
}
#[allow(unused_imports)]
pub(crate) use tl_family;

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[repr(C)]
    #[derive(Default)]
    struct Object {
        number: u32,
        magic: u64,
        link: m0_tlink,
    }

    static OBJECTS: m0_tl_descr =
        m0_tl_descr::new(c"objects", offset_of!(Object, link), offset_of!(Object, magic), 0xfeed);

    #[test]
    fn objects_are_listed_by_their_links_and_marked_by_initialisation() {
        let d = &raw const OBJECTS;
        let mut objects =
            [const { Object { number: 0, magic: 0, link: m0_tlink { t_link: m0_list_link::new() } } }; 3];
        let mut list = m0_tl::default();
        let (objects, list) = (&raw mut objects, &raw mut list);
        let at = |index: usize| objects.cast::<Object>().wrapping_add(index).cast::<c_void>();
        // SAFETY: the list and the objects live to the end of the test.
        unsafe {
            for (index, number) in [(0, 10), (1, 11), (2, 12)] {
                m0_tlink_init(d, at(index));
                assert!(!m0_tlink_is_in(d, at(index)));
                m0_tlist_add_tail(d, list, at(index));
                (*at(index).cast::<Object>()).number = number;
            }
            assert_eq!((*objects)[2].magic, 0xfeed);
            let numbers = || -> Vec<u32> {
                (*d).objects(list).map(|object| (*object.cast::<Object>()).number).collect()
            };
            assert_eq!(numbers(), [10, 11, 12]);
            assert_eq!(m0_tlist_next(d, list, at(0)), at(1));
            assert_eq!(m0_tlist_prev(d, list, at(1)), at(0));
            assert!(m0_tlist_next(d, list, at(2)).is_null() && m0_tlist_prev(d, list, at(0)).is_null());
            assert_eq!((m0_tlist_head(d, list), m0_tlist_tail(d, list)), (at(0), at(2)));
            m0_tlist_del(d, at(1));
            m0_tlist_del(d, at(0));
            m0_tlist_add(d, list, at(1));
            assert_eq!(numbers(), [11, 12]);
            assert!(!m0_tlist_contains(d, list, at(0)) && m0_tlist_contains(d, list, at(1)));
            (*d).objects(list).for_each(|object| m0_tlist_del(d, object));
            assert!(m0_tlist_is_empty(d, list) && m0_tlist_head(d, list).is_null());
        }
    }
}
