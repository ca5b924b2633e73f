//! Doubly linked lists whose links are inside the listed objects (motr-net 8.1, 8.2). The head is a link too.
//!
//! The macros of the program iterate over them, and callbacks change them: links are reached by [`Object`]s, and change in cells.

use crate::contract::require;
use crate::object::Object;
use lnet_api::c_pointer::Out;
use std::cell::Cell;

/// A link, inside a listed object.
#[repr(C)]
#[derive(Debug, Default)]
pub struct m0_list_link {
    /// The next link, or the head.
    pub ll_next: Cell<Object<Self>>,
    /// The previous link, or the head.
    pub ll_prev: Cell<Object<Self>>,
}

/// The head of a list, with the same layout as a link.
#[repr(C)]
#[derive(Debug, Default)]
pub struct m0_list {
    /// The first link; the head itself, or NULL in a zeroed head, if the list is empty.
    pub l_head: Cell<Object<m0_list_link>>,
    /// The last link.
    pub l_tail: Cell<Object<m0_list_link>>,
}

impl m0_list_link {
    /// A link that is in no list.
    pub const fn new() -> Self {
        Self { ll_next: Cell::new(Object::NULL), ll_prev: Cell::new(Object::NULL) }
    }

    /// Sets the link back to one that is in no list.
    pub(crate) fn reset(&self) {
        self.ll_next.take();
        self.ll_prev.take();
    }
}

impl m0_list {
    /// An empty list.
    pub const fn new() -> Self {
        Self { l_head: Cell::new(Object::NULL), l_tail: Cell::new(Object::NULL) }
    }
}

impl Object<m0_list_link> {
    /// Links the link to itself: a ring of one.
    pub(crate) fn close(self) {
        self.ll_next.set(self);
        self.ll_prev.set(self);
    }

    /// Inserts the link between two neighbours.
    fn insert(self, prev: Self, next: Self) {
        require!("m0_list_add", !m0_list_link_is_in(self), "the link is in a list");
        self.ll_prev.set(prev);
        self.ll_next.set(next);
        prev.ll_next.set(self);
        next.ll_prev.set(self);
    }
}

impl Object<m0_list> {
    /// The head as a link of its ring.
    fn as_link(self) -> Object<m0_list_link> {
        const { assert!(size_of::<m0_list>() == size_of::<m0_list_link>()) };
        // SAFETY: both structures are two pointers to links, so that a list, which lives as long, is a link.
        unsafe { Object::new(self.as_ptr().cast()) }
    }

    /// Links the head to itself: the list is empty.
    pub(crate) fn close(self) {
        self.as_link().close();
    }

    /// The head as a link, made a ring if it is zeroed.
    fn ring(self) -> Object<m0_list_link> {
        if self.l_head.get().is_null() {
            self.as_link().close();
        }
        self.as_link()
    }

    /// The links, from the first to the last. The link that was returned last may be removed from the list meanwhile.
    pub(crate) fn links(self) -> impl Iterator<Item = Object<m0_list_link>> {
        let head = self.as_link();
        let mut next = m0_list_first(self);
        std::iter::from_fn(move || {
            let link = next.get().filter(|link| *link != head)?;
            next = link.ll_next.get();
            Some(link)
        })
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_list_init(list: Out<'_, m0_list>) {
    Object::init(list, m0_list::new()).as_link().close();
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_list_fini(list: Object<m0_list>) {
    require!("m0_list_fini", m0_list_is_empty(list), "the list is not empty");
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_list_is_empty(list: Object<m0_list>) -> bool {
    let first = list.l_head.get();
    first.is_null() || first == list.as_link()
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_list_link_init(link: Out<'_, m0_list_link>) {
    Object::init(link, m0_list_link::new()).close();
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_list_link_fini(link: Object<m0_list_link>) {
    require!("m0_list_link_fini", !m0_list_link_is_in(link), "the link is in a list");
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_list_link_is_in(link: Object<m0_list_link>) -> bool {
    let next = link.ll_next.get();
    !next.is_null() && next != link
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_list_add(list: Object<m0_list>, link: Object<m0_list_link>) {
    let head = list.ring();
    link.insert(head, head.ll_next.get());
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_list_add_tail(list: Object<m0_list>, link: Object<m0_list_link>) {
    let head = list.ring();
    link.insert(head.ll_prev.get(), head);
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_list_add_after(anchor: Object<m0_list_link>, link: Object<m0_list_link>) {
    link.insert(anchor, anchor.ll_next.get());
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_list_add_before(anchor: Object<m0_list_link>, link: Object<m0_list_link>) {
    link.insert(anchor.ll_prev.get(), anchor);
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_list_del(link: Object<m0_list_link>) {
    if m0_list_link_is_in(link) {
        let (prev, next) = (link.ll_prev.get(), link.ll_next.get());
        prev.ll_next.set(next);
        next.ll_prev.set(prev);
    }
    link.close();
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_list_contains(list: Object<m0_list>, link: Object<m0_list_link>) -> bool {
    list.links().any(|it| it == link)
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_list_length(list: Object<m0_list>) -> usize {
    list.links().count()
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_list_first(list: Object<m0_list>) -> Object<m0_list_link> {
    if m0_list_is_empty(list) { Object::NULL } else { list.l_head.get() }
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_list_last(list: Object<m0_list>) -> Object<m0_list_link> {
    if m0_list_is_empty(list) { Object::NULL } else { list.l_tail.get() }
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
        /// Lists and links are zeroed, and in every other run initialised.
        #[test]
        fn lists_hold_what_double_ended_queues_hold(operations in operations(), initialised: bool) {
            let list_memory: Vec<m0_list> = (0..LISTS).map(|_| m0_list::new()).collect();
            let link_memory: Vec<m0_list_link> = (0..LINKS).map(|_| m0_list_link::new()).collect();
            let lists: Vec<_> = list_memory.iter().map(Object::of_test).collect();
            let links: Vec<_> = link_memory.iter().map(Object::of_test).collect();
            let mut model = vec![VecDeque::<usize>::new(); LISTS];
            let place = |model: &[VecDeque<usize>], link| {
                model.iter().enumerate().find_map(|(list, links)| {
                    links.iter().position(|it| *it == link).map(|at| (list, at))
                })
            };
                if initialised {
                    list_memory.iter().for_each(|list| m0_list_init(Object::memory_of_test(list)));
                    link_memory.iter().for_each(|link| m0_list_link_init(Object::memory_of_test(link)));
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
                        let found: Vec<_> = list.links().collect();
                        let expected: Vec<_> = expected.iter().map(|link| links[*link]).collect();
                        prop_assert_eq!(&found, &expected);
                        prop_assert_eq!(m0_list_length(*list), expected.len());
                        prop_assert_eq!(m0_list_is_empty(*list), expected.is_empty());
                        let or_null = |link: Option<&Object<m0_list_link>>| link.map_or(Object::NULL, |it| *it);
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
        }
    }
}
