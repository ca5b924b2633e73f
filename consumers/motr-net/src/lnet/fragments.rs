//! Conversion of vectors to the fragments that LNet can transfer (motr-net 1.6), as pure functions.

use crate::Errno;
use crate::backend::Fragment;

/// The most fragments of a message (`LNET_MAX_IOV`).
pub const MAX_FRAGMENTS: usize = 256;
/// The most bytes of a buffer (`LNET_MAX_PAYLOAD`).
pub const MAX_BUFFER: u64 = 1 << 20;
/// The most bytes of a segment: a page.
pub const MAX_SEGMENT: u64 = 4096;

/// The fragments of a vector of segments, which are addresses and lengths. Adjacent segments become one fragment.
///
/// Errors: `EINVAL`: a segment is empty or NULL; `EFBIG`: too many bytes in all or in a segment, or too many pages; `EBADR`: a
/// segment other than the first does not begin at a page, or one other than the last does not end at one.
pub fn fragments(segments: impl Iterator<Item = (usize, u64)>) -> Result<Vec<Fragment>, Errno> {
    let segments: Vec<(usize, u64)> = segments.collect();
    if segments.is_empty() || segments.iter().any(|(address, len)| *address == 0 || *len == 0) {
        return Err(Errno::Invalid);
    }
    if segments.iter().any(|(_, len)| *len > MAX_SEGMENT) {
        return Err(Errno::FileTooBig);
    }
    let total: u64 = segments.iter().map(|(_, len)| len).sum();
    let pages: u64 = segments.iter().map(|(address, len)| pages(*address as u64, *len)).sum();
    if total > MAX_BUFFER || pages > MAX_FRAGMENTS as u64 {
        return Err(Errno::FileTooBig);
    }
    let mut fragments: Vec<Fragment> = Vec::new();
    for (index, (address, len)) in segments.iter().enumerate() {
        let (start, end) = (*address as u64, *address as u64 + len);
        let is_inside = |at: u64, edge: usize| index != edge && !at.is_multiple_of(MAX_SEGMENT);
        if is_inside(start, 0) || is_inside(end, segments.len() - 1) {
            return Err(Errno::BadRequest);
        }
        let len = *len as usize;
        match fragments.last_mut() {
            Some(last) if last.iov_base as usize + last.iov_len == *address => last.iov_len += len,
            _ => fragments
                .push(Fragment { iov_base: std::ptr::with_exposed_provenance_mut(*address), iov_len: len }),
        }
    }
    Ok(fragments)
}

/// Calls `with` with fragments that hold the first `len` bytes; there are at least as many.
pub fn with_prefix<R>(fragments: &mut [Fragment], len: usize, with: impl FnOnce(&[Fragment]) -> R) -> R {
    let mut left = len;
    let count = fragments.iter().take_while(|it| take(&mut left, it.iov_len)).count();
    let Some(last) = fragments.get_mut(count).filter(|_| left > 0) else { return with(&fragments[..count]) };
    let whole = std::mem::replace(&mut last.iov_len, left);
    let result = with(&fragments[..=count]);
    fragments[count].iov_len = whole;
    result
}

/// Whether the prefix includes all of a fragment, whose length is then subtracted from `left`.
fn take(left: &mut usize, len: usize) -> bool {
    let whole = *left >= len;
    if whole {
        *left -= len;
    }
    whole
}

fn pages(address: u64, len: u64) -> u64 {
    (address % MAX_SEGMENT + len).div_ceil(MAX_SEGMENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAGE: usize = 4096;

    fn parts(segments: &[(usize, u64)]) -> Result<Vec<(usize, usize)>, Errno> {
        let fragments = fragments(segments.iter().copied())?;
        Ok(fragments.iter().map(|it| (it.iov_base as usize, it.iov_len)).collect())
    }

    #[test]
    fn vectors_that_are_accepted_and_refused() {
        for (name, segments, expected) in [
            ("none", vec![], Err(Errno::Invalid)),
            ("NULL", vec![(0, 1)], Err(Errno::Invalid)),
            ("empty", vec![(PAGE, 0)], Err(Errno::Invalid)),
            ("one", vec![(PAGE, 100)], Ok(vec![(PAGE, 100)])),
            ("unaligned", vec![(PAGE + 7, 4096)], Ok(vec![(PAGE + 7, 4096)])),
            ("more than a page", vec![(PAGE, 4097)], Err(Errno::FileTooBig)),
            ("one block", vec![(PAGE, 4096), (2 * PAGE, 10)], Ok(vec![(PAGE, 4106)])),
            ("apart", vec![(PAGE, 4096), (9 * PAGE, 10)], Ok(vec![(PAGE, 4096), (9 * PAGE, 10)])),
            (
                "starts late",
                vec![(PAGE + 96, 4000), (9 * PAGE, 10)],
                Ok(vec![(PAGE + 96, 4000), (9 * PAGE, 10)]),
            ),
            ("a gap", vec![(PAGE, 100), (9 * PAGE, 10)], Err(Errno::BadRequest)),
            ("a late start inside", vec![(PAGE, 4096), (9 * PAGE + 1, 10)], Err(Errno::BadRequest)),
        ] {
            assert_eq!(parts(&segments), expected, "{name}");
        }
    }

    #[test]
    fn as_many_pages_as_lnet_transfers() {
        let segments = |count: usize, shift: usize| -> Vec<(usize, u64)> {
            (1..=count).map(|n| (2 * n * PAGE + shift, 4096)).collect()
        };
        assert_eq!(parts(&segments(256, 0)).map(|it| it.len()), Ok(256));
        assert_eq!(parts(&segments(257, 0)), Err(Errno::FileTooBig));
        assert_eq!(parts(&segments(256, 8)), Err(Errno::FileTooBig), "each is on two pages");
    }

    proptest! {
        #[test]
        fn a_prefix_has_its_bytes_and_leaves_the_fragments_alone(
            lens in prop::collection::vec(1_usize..50, 1..8), cut in 0.0_f64..=1.0,
        ) {
            let whole: Vec<Fragment> = lens
                .iter()
                .enumerate()
                .map(|(n, len)| Fragment { iov_base: std::ptr::without_provenance_mut(n * 1000), iov_len: *len })
                .collect();
            let total: usize = lens.iter().sum();
            let len = (total as f64 * cut) as usize;
            let mut fragments = whole.clone();
            let got = with_prefix(&mut fragments, len, |prefix| {
                assert!(prefix.iter().all(|it| it.iov_len > 0));
                prefix.iter().map(|it| it.iov_len).sum::<usize>()
            });
            prop_assert_eq!(got, len);
            prop_assert!(fragments.iter().zip(&whole).all(|(a, b)| a.iov_len == b.iov_len));
        }
    }
}
