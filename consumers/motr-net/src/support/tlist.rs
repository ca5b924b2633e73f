//! Lists of objects of one type (motr-net 8.1): a descriptor gives the offset of the link in an object.

use super::list::{
    m0_list, m0_list_add, m0_list_add_tail, m0_list_contains, m0_list_del, m0_list_first, m0_list_is_empty,
    m0_list_last, m0_list_length, m0_list_link, m0_list_link_fini, m0_list_link_is_in,
};
use crate::object::Object;
use lnet_api::c_pointer::Out;
use std::ffi::{CStr, c_char, c_void};

/// The head of a list of objects.
#[repr(C)]
#[derive(Debug, Default)]
pub struct m0_tl {
    /// The ring of the links.
    pub t_head: m0_list,
}

/// A link, inside a listed object.
#[repr(C)]
#[derive(Debug, Default)]
pub struct m0_tlink {
    /// The link in the ring of links.
    pub t_link: m0_list_link,
}

/// The offsets of the link and of the magic number in an object.
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

/// A listed object, whose type is known only by its descriptor.
///
/// The contract is that of [`Object`], and every descriptor that the object is passed with describes its type. C guarantees
/// it, or the maker in Rust.
pub type Listed = Object<c_void>;

impl m0_tl_descr {
    /// The descriptor of objects whose link is at `link_offset`, and whose `u64` at `magic_offset` becomes `magic`; 0: none.
    pub const fn new(name: &'static CStr, link_offset: usize, magic_offset: usize, magic: u64) -> Self {
        Self {
            td_name: name.as_ptr(),
            td_link_offset: link_offset,
            td_magic_offset: magic_offset,
            td_magic: magic,
        }
    }

    fn link_of(&self, object: Listed) -> Object<m0_list_link> {
        // SAFETY: the object is of the descriptor's type (`Listed`): its link is at that offset, and lives as long as the object.
        unsafe { Object::new(object.as_ptr().wrapping_byte_add(self.td_link_offset).cast()) }
    }

    /// The object of a link; NULL for NULL.
    fn object_of(&self, link: Object<m0_list_link>) -> Listed {
        // SAFETY: a link of a list of this descriptor's is that part of an object.
        unsafe { link.container(self.td_link_offset) }
    }

    /// Initialises the link of an object, and writes its magic number.
    fn init_link(&self, object: Listed) {
        self.link_of(object).close();
        if self.td_magic != 0 {
            let mark = object.as_ptr().wrapping_byte_add(self.td_magic_offset).cast::<u64>();
            // SAFETY: the mark of an object of the descriptor's type (`Listed`), which the thread that initialises its link may write.
            unsafe { mark.write(self.td_magic) };
        }
    }

    /// The objects of a list, from the first to the last. The object that was returned last may be removed from the list
    /// meanwhile.
    pub(crate) fn objects(&self, list: Object<m0_tl>) -> impl Iterator<Item = Listed> + '_ {
        head_of(list).links().map(|link| self.object_of(link))
    }

    /// The object of a link; NULL if the link is the head.
    fn unless_head(&self, list: Object<m0_tl>, link: Object<m0_list_link>) -> Listed {
        let is_head = std::ptr::addr_eq(link.as_ptr(), list.as_ptr());
        if is_head { Object::NULL } else { self.object_of(link) }
    }
}

/// A list of objects as a list of links.
fn head_of(list: Object<m0_tl>) -> Object<m0_list> {
    list.part(|list| &list.t_head)
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_tlist_init(_: Object<m0_tl_descr>, list: Out<'_, m0_tl>) {
    head_of(Object::init(list, m0_tl::default())).close();
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_tlist_fini(_: Object<m0_tl_descr>, list: Object<m0_tl>) {
    super::list::m0_list_fini(head_of(list));
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_tlist_is_empty(_: Object<m0_tl_descr>, list: Object<m0_tl>) -> bool {
    m0_list_is_empty(head_of(list))
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_tlist_length(_: Object<m0_tl_descr>, list: Object<m0_tl>) -> usize {
    m0_list_length(head_of(list))
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_tlist_contains(d: Object<m0_tl_descr>, list: Object<m0_tl>, object: Listed) -> bool {
    m0_list_contains(head_of(list), d.link_of(object))
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_tlink_init(d: Object<m0_tl_descr>, object: Listed) {
    d.init_link(object);
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_tlink_fini(d: Object<m0_tl_descr>, object: Listed) {
    m0_list_link_fini(d.link_of(object));
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_tlink_is_in(d: Object<m0_tl_descr>, object: Listed) -> bool {
    m0_list_link_is_in(d.link_of(object))
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_tlist_add(d: Object<m0_tl_descr>, list: Object<m0_tl>, object: Listed) {
    m0_list_add(head_of(list), d.link_of(object));
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_tlist_add_tail(d: Object<m0_tl_descr>, list: Object<m0_tl>, object: Listed) {
    m0_list_add_tail(head_of(list), d.link_of(object));
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_tlist_del(d: Object<m0_tl_descr>, object: Listed) {
    m0_list_del(d.link_of(object));
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_tlist_head(d: Object<m0_tl_descr>, list: Object<m0_tl>) -> Listed {
    d.object_of(m0_list_first(head_of(list)))
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_tlist_tail(d: Object<m0_tl_descr>, list: Object<m0_tl>) -> Listed {
    d.object_of(m0_list_last(head_of(list)))
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_tlist_next(d: Object<m0_tl_descr>, list: Object<m0_tl>, object: Listed) -> Listed {
    d.unless_head(list, d.link_of(object).ll_next.get())
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_tlist_prev(d: Object<m0_tl_descr>, list: Object<m0_tl>, object: Listed) -> Listed {
    d.unless_head(list, d.link_of(object).ll_prev.get())
}

/// Converts a listed object to one of its type, or the other way round.
///
/// # Safety
/// `T` and `U` are the type that the object's descriptor describes, and [`c_void`].
pub(crate) const unsafe fn cast<T, U>(object: Object<T>) -> Object<U> {
    // SAFETY: the same object, for whose type the caller vouches.
    unsafe { Object::new(object.as_ptr().cast()) }
}

/// Defines a family: the descriptor and the functions that `M0_TL_FAMILY_DECLARE` declares; `$objects` returns the objects of
/// a list.
macro_rules! tl_family {
    ($object:ty, $descriptor:ident = $value:expr; lists: $init:ident $fini:ident $is_empty:ident $length:ident
     $contains:ident $add:ident $add_tail:ident $del:ident $head:ident $tail:ident $objects:ident;
     links: $link_init:ident $init_at:ident $init_at_tail:ident $link_fini:ident $del_fini:ident $is_in:ident) => {
        #[allow(missing_docs, non_upper_case_globals, reason = "lib/tlist.h documents it")]
        #[unsafe(no_mangle)]
        pub static $descriptor: $crate::support::m0_tl_descr = $value;

        $crate::support::tlist::tl_family!(@functions $descriptor;
            $init(list: lnet_api::c_pointer::Out<'_, $crate::support::m0_tl>) -> (): m0_tlist_init(list);
            $fini(list: Object<$crate::support::m0_tl>) -> (): m0_tlist_fini(list);
            $is_empty(list: Object<$crate::support::m0_tl>) -> bool: m0_tlist_is_empty(list);
            $length(list: Object<$crate::support::m0_tl>) -> usize: m0_tlist_length(list);
            $contains(list: Object<$crate::support::m0_tl>, object: Object<$object>) -> bool:
                m0_tlist_contains(list, cast(object));
            $add(list: Object<$crate::support::m0_tl>, object: Object<$object>) -> (): m0_tlist_add(list, cast(object));
            $add_tail(list: Object<$crate::support::m0_tl>, object: Object<$object>) -> ():
                m0_tlist_add_tail(list, cast(object));
            $del(object: Object<$object>) -> (): m0_tlist_del(cast(object));
            $link_init(object: Object<$object>) -> (): m0_tlink_init(cast(object));
            $link_fini(object: Object<$object>) -> (): m0_tlink_fini(cast(object));
            $is_in(object: Object<$object>) -> bool: m0_tlink_is_in(cast(object));
        );

        #[allow(dead_code, reason = "not every list is gone through")]
        pub(crate) fn $objects(list: Object<$crate::support::m0_tl>) -> impl Iterator<Item = Object<$object>> {
            // SAFETY: the objects of a list of this descriptor's are of its type.
            $descriptor.objects(list).map(|object| unsafe { $crate::support::tlist::cast(object) })
        }

        #[allow(missing_docs, reason = "lib/tlist.h documents it")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $head(list: Object<$crate::support::m0_tl>) -> Object<$object> {
            // SAFETY: the objects of a list of this descriptor's are of its type.
            unsafe { $crate::support::tlist::cast($crate::support::m0_tlist_head(Object::of_static(&$descriptor), list)) }
        }

        #[allow(missing_docs, reason = "lib/tlist.h documents it")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $tail(list: Object<$crate::support::m0_tl>) -> Object<$object> {
            // SAFETY: the objects of a list of this descriptor's are of its type.
            unsafe { $crate::support::tlist::cast($crate::support::m0_tlist_tail(Object::of_static(&$descriptor), list)) }
        }

        #[allow(missing_docs, reason = "lib/tlist.h documents it")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $init_at(object: Object<$object>, list: Object<$crate::support::m0_tl>) {
            $link_init(object);
            $add(list, object);
        }

        #[allow(missing_docs, reason = "lib/tlist.h documents it")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $init_at_tail(object: Object<$object>, list: Object<$crate::support::m0_tl>) {
            $link_init(object);
            $add_tail(list, object);
        }

        #[allow(missing_docs, reason = "lib/tlist.h documents it")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $del_fini(object: Object<$object>) {
            $del(object);
        }
    };

    (@functions $descriptor:ident; $($name:ident($($argument:ident: $kind:ty),*) -> $result:ty: $function:ident($($value:expr),*);)*) => {
        $(
            #[allow(missing_docs, clippy::unused_unit, reason = "lib/tlist.h documents it")]
            #[unsafe(no_mangle)]
            pub extern "C" fn $name($($argument: $kind),*) -> $result {
                #[allow(unused_imports, reason = "not every function takes an object")]
                use $crate::support::tlist::cast;
                // SAFETY: an object of the type that the descriptor describes becomes a listed one, for this descriptor.
                #[allow(unused_unsafe, reason = "not every function takes an object")]
                unsafe { $crate::support::$function(Object::of_static(&$descriptor), $($value),*) }
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
    struct Item {
        number: u32,
        magic: u64,
        link: m0_tlink,
    }

    static OBJECTS: m0_tl_descr =
        m0_tl_descr::new(c"objects", offset_of!(Item, link), offset_of!(Item, magic), 0xfeed);

    #[test]
    fn objects_are_listed_by_their_links_and_marked_by_initialisation() {
        let d = Object::of_static(&OBJECTS);
        let mut items = [10, 11, 12].map(|number| Item { number, ..Item::default() });
        let mut list = m0_tl::default();
        let items = &raw mut items;
        // SAFETY: the list and the items live to the end of the test, and the descriptor is that of the items.
        let list = unsafe { Object::new(&raw mut list) };
        // SAFETY: the same.
        let at =
            |index: usize| unsafe { Object::new(items.cast::<Item>().wrapping_add(index).cast::<c_void>()) };
        {
            for index in 0..3 {
                m0_tlink_init(d, at(index));
                assert!(!m0_tlink_is_in(d, at(index)));
                m0_tlist_add_tail(d, list, at(index));
            }
            let numbers = || -> Vec<u32> {
                // SAFETY: the objects of the list are items.
                d.objects(list).map(|object| unsafe { cast::<_, Item>(object) }.number).collect()
            };
            // SAFETY: the items of above.
            assert_eq!(unsafe { cast::<_, Item>(at(2)) }.magic, 0xfeed);
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
            d.objects(list).for_each(|object| m0_tlist_del(d, object));
            assert!(m0_tlist_is_empty(d, list) && m0_tlist_head(d, list).is_null());
        }
    }
}
