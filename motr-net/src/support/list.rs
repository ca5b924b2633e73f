//! Rings of links that lie in what is listed (motr-net 8.1, 8.2). The head is a link too.
//!
//! No file of Rust keeps references to links: the program's macros go over them.

use crate::contract::require;
use std::ptr;

/// A link, in an object.
#[repr(C)]
#[derive(Debug)]
pub struct m0_list_link {
    /// The next link, or the head.
    pub ll_next: *mut Self,
    /// The previous link, or the head.
    pub ll_prev: *mut Self,
}

/// The head of a list, of the same shape as a link.
#[repr(C)]
#[derive(Debug)]
pub struct m0_list {
    /// The first link; the head itself, or NULL in one of zeros: there is none.
    pub l_head: *mut m0_list_link,
    /// The last one.
    pub l_tail: *mut m0_list_link,
}

impl m0_list_link {
    /// In no list.
    pub const fn new() -> Self {
        Self { ll_next: ptr::null_mut(), ll_prev: ptr::null_mut() }
    }
}

impl Default for m0_list_link {
    fn default() -> Self {
        Self::new()
    }
}

impl m0_list {
    /// Empty.
    pub const fn new() -> Self {
        Self { l_head: ptr::null_mut(), l_tail: ptr::null_mut() }
    }
}

impl Default for m0_list {
    fn default() -> Self {
        Self::new()
    }
}

/// The head as a link of its ring, which is made a ring if it is zeros.
///
/// # Safety
/// `list` is valid.
unsafe fn ring(list: *mut m0_list) -> *mut m0_list_link {
    let head = list.cast::<m0_list_link>();
    // SAFETY: both structures are two pointers to links.
    unsafe {
        if (*head).ll_next.is_null() {
            m0_list_link_init(head);
        }
    }
    head
}

/// Puts `link` between two neighbours.
///
/// # Safety
/// All three are valid, the neighbours are next to each other.
unsafe fn insert(link: *mut m0_list_link, prev: *mut m0_list_link, next: *mut m0_list_link) {
    // SAFETY: by contract.
    unsafe {
        require!("m0_list_add", !m0_list_link_is_in(link), "the link is in a list");
        (*link).ll_prev = prev;
        (*link).ll_next = next;
        (*prev).ll_next = link;
        (*next).ll_prev = link;
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_list_init(list: *mut m0_list) {
    // SAFETY: by contract the caller's to write.
    unsafe { m0_list_link_init(list.cast()) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_list_fini(list: *mut m0_list) {
    // SAFETY: by contract.
    require!("m0_list_fini", unsafe { m0_list_is_empty(list) }, "the list is not empty");
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_list_is_empty(list: *const m0_list) -> bool {
    // SAFETY: by contract.
    let first = unsafe { (*list).l_head };
    first.is_null() || ptr::eq(first, list.cast())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_list_link_init(link: *mut m0_list_link) {
    // SAFETY: by contract the caller's to write.
    unsafe { link.write(m0_list_link { ll_next: link, ll_prev: link }) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_list_link_fini(link: *mut m0_list_link) {
    // SAFETY: by contract.
    require!("m0_list_link_fini", unsafe { !m0_list_link_is_in(link) }, "the link is in a list");
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_list_link_is_in(link: *const m0_list_link) -> bool {
    // SAFETY: by contract.
    let next = unsafe { (*link).ll_next };
    !next.is_null() && !ptr::eq(next, link)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_list_add(list: *mut m0_list, link: *mut m0_list_link) {
    // SAFETY: by contract; a ring has a next link.
    unsafe {
        let head = ring(list);
        insert(link, head, (*head).ll_next);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_list_add_tail(list: *mut m0_list, link: *mut m0_list_link) {
    // SAFETY: by contract; a ring has a previous link.
    unsafe {
        let head = ring(list);
        insert(link, (*head).ll_prev, head);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_list_add_after(anchor: *mut m0_list_link, link: *mut m0_list_link) {
    // SAFETY: by contract the anchor is in a list.
    unsafe { insert(link, anchor, (*anchor).ll_next) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_list_add_before(anchor: *mut m0_list_link, link: *mut m0_list_link) {
    // SAFETY: by contract the anchor is in a list.
    unsafe { insert(link, (*anchor).ll_prev, anchor) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_list_del(link: *mut m0_list_link) {
    // SAFETY: by contract; the neighbours of a link that is in a list are valid.
    unsafe {
        if m0_list_link_is_in(link) {
            (*(*link).ll_prev).ll_next = (*link).ll_next;
            (*(*link).ll_next).ll_prev = (*link).ll_prev;
        }
        m0_list_link_init(link);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_list_contains(list: *const m0_list, link: *const m0_list_link) -> bool {
    // SAFETY: by contract.
    unsafe { Links::of(list) }.any(|it| ptr::eq(it, link))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_list_length(list: *const m0_list) -> usize {
    // SAFETY: by contract.
    unsafe { Links::of(list) }.count()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_list_first(list: *const m0_list) -> *mut m0_list_link {
    // SAFETY: by contract.
    unsafe { if m0_list_is_empty(list) { ptr::null_mut() } else { (*list).l_head } }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_list_last(list: *const m0_list) -> *mut m0_list_link {
    // SAFETY: by contract.
    unsafe { if m0_list_is_empty(list) { ptr::null_mut() } else { (*list).l_tail } }
}

/// The links of a list, from the first to the last. The one that it gave last may be taken out of the list.
#[derive(Debug)]
pub struct Links {
    head: *const m0_list_link,
    next: *mut m0_list_link,
}

impl Links {
    /// Those of `list`.
    ///
    /// # Safety
    /// The list is valid, and is changed in no other way, while this is used.
    pub unsafe fn of(list: *const m0_list) -> Self {
        // SAFETY: by contract.
        Self { head: list.cast(), next: unsafe { m0_list_first(list) } }
    }
}

impl Iterator for Links {
    type Item = *mut m0_list_link;

    fn next(&mut self) -> Option<Self::Item> {
        let link = self.next;
        if link.is_null() || ptr::eq(link, self.head) {
            return None;
        }
        // SAFETY: a link of the list, by the contract of `of`.
        self.next = unsafe { (*link).ll_next };
        Some(link)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const LINKS: usize = 5;
    const LISTS: usize = 2;

    #[derive(Clone, Debug)]
    enum Operation {
        Add(usize, usize),
        AddTail(usize, usize),
        AddAfter(usize, usize),
        AddBefore(usize, usize),
        Del(usize),
    }

    fn operations() -> impl Strategy<Value = Vec<Operation>> {
        let one = prop_oneof![
            (0..LISTS, 0..LINKS).prop_map(|(list, link)| Operation::Add(list, link)),
            (0..LISTS, 0..LINKS).prop_map(|(list, link)| Operation::AddTail(list, link)),
            (0..LINKS, 0..LINKS).prop_map(|(anchor, link)| Operation::AddAfter(anchor, link)),
            (0..LINKS, 0..LINKS).prop_map(|(anchor, link)| Operation::AddBefore(anchor, link)),
            (0..LINKS).prop_map(Operation::Del),
        ];
        proptest::collection::vec(one, 0..40)
    }

    proptest! {
        /// Lists and links begin as zeros, and every other run initialises them.
        #[test]
        fn lists_hold_what_double_ended_queues_hold(operations in operations(), initialised: bool) {
            let lists: Vec<*mut m0_list> = (0..LISTS).map(|_| Box::into_raw(Box::default())).collect();
            let links: Vec<*mut m0_list_link> = (0..LINKS).map(|_| Box::into_raw(Box::default())).collect();
            let mut model = vec![VecDeque::<usize>::new(); LISTS];
            let place = |model: &[VecDeque<usize>], link| {
                model.iter().enumerate().find_map(|(list, links)| {
                    links.iter().position(|it| *it == link).map(|at| (list, at))
                })
            };
            // SAFETY: all lists and links live until the end of this block.
            unsafe {
                if initialised {
                    lists.iter().for_each(|list| m0_list_init(*list));
                    links.iter().for_each(|link| m0_list_link_init(*link));
                }
                for operation in operations {
                    match operation {
                        Operation::Add(list, link) if place(&model, link).is_none() => {
                            m0_list_add(lists[list], links[link]);
                            model[list].push_front(link);
                        }
                        Operation::AddTail(list, link) if place(&model, link).is_none() => {
                            m0_list_add_tail(lists[list], links[link]);
                            model[list].push_back(link);
                        }
                        Operation::AddAfter(anchor, link) if place(&model, link).is_none() => {
                            if let Some((list, at)) = place(&model, anchor) {
                                m0_list_add_after(links[anchor], links[link]);
                                model[list].insert(at + 1, link);
                            }
                        }
                        Operation::AddBefore(anchor, link) if place(&model, link).is_none() => {
                            if let Some((list, at)) = place(&model, anchor) {
                                m0_list_add_before(links[anchor], links[link]);
                                model[list].insert(at, link);
                            }
                        }
                        Operation::Del(link) => {
                            m0_list_del(links[link]);
                            if let Some((list, at)) = place(&model, link) {
                                model[list].remove(at);
                            }
                        }
                        _ => {}
                    }
                    for (list, expected) in lists.iter().zip(&model) {
                        let found: Vec<_> = Links::of(*list).collect();
                        let expected: Vec<_> = expected.iter().map(|link| links[*link]).collect();
                        prop_assert_eq!(&found, &expected);
                        prop_assert_eq!(m0_list_length(*list), expected.len());
                        prop_assert_eq!(m0_list_is_empty(*list), expected.is_empty());
                        let or_null = |link: Option<&*mut m0_list_link>| link.map_or(ptr::null_mut(), |it| *it);
                        prop_assert_eq!(m0_list_first(*list), or_null(expected.first()));
                        prop_assert_eq!(m0_list_last(*list), or_null(expected.last()));
                        for link in &links {
                            prop_assert_eq!(m0_list_contains(*list, *link), expected.contains(link));
                        }
                    }
                    for (link, pointer) in links.iter().enumerate() {
                        prop_assert_eq!(m0_list_link_is_in(*pointer), place(&model, link).is_some());
                    }
                }
                links.iter().for_each(|link| drop(Box::from_raw(*link)));
                lists.iter().for_each(|list| drop(Box::from_raw(*list)));
            }
        }
    }
}
