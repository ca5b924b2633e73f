//! The open streams of server-sent events, and when they are sent something.

use crate::http::Stream;
use crate::page::{Feed, Update};
use crate::service::Service;
use rustix::event::PollFd;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The most streams at a time.
pub(crate) const MAX_STREAMS: usize = 16;
/// The time from one update to the next.
const INTERVAL: Duration = Duration::from_secs(1);
/// The least part of the time in which the nodes are not read for streams: of many peers they are read less often.
const IDLE_SHARE: u32 = 9;

/// The streams. Without any, nothing is read and nothing is kept.
#[derive(Debug)]
pub(crate) struct Streams {
    open: Vec<Stream>,
    source: Option<Source>,
    /// The beginning of the clock of the feed.
    began: Instant,
}

/// The updates for the streams.
#[derive(Debug)]
struct Source {
    feed: Feed,
    latest: Update,
    due: Instant,
}

impl Streams {
    pub(crate) fn new(now: Instant) -> Self {
        Self { open: Vec::new(), source: None, began: now }
    }

    /// The number of open streams.
    pub(crate) const fn count(&self) -> usize {
        self.open.len()
    }

    /// Adds the connection of a client, which is sent all that there is.
    pub(crate) fn add(&mut self, socket: TcpStream, now: Instant) {
        self.open.push(Stream::new(socket, now));
    }

    /// The next time at which something is to be done, whatever the clients do.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let due = self.source.as_ref().map(|source| source.due);
        self.open.iter().filter_map(Stream::deadline).chain(due).min()
    }

    /// The sockets, to be polled.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.open.iter().map(|stream| PollFd::new(stream.socket(), stream.events()))
    }

    /// Sends and reads what is possible, and reads the nodes if it is time. `clock` tells the time when that is done.
    pub(crate) fn advance(&mut self, service: &Service, now: Instant, clock: impl Fn() -> Instant) {
        self.open.retain_mut(|stream| stream.advance(now));
        if self.open.is_empty() {
            self.source = None;
            return;
        }
        let source = match self.source.take() {
            Some(source) if now < source.due => {
                // Those that have just come.
                let latest = &source.latest;
                for stream in self.open.iter_mut().filter(|stream| !stream.has_begun()) {
                    stream.offer(&latest.since_last, &latest.complete, now);
                }
                source
            }
            source => {
                let mut feed = source.map(|source| source.feed).unwrap_or_default();
                let latest = service.read(&mut feed, now.duration_since(self.began));
                for stream in &mut self.open {
                    stream.offer(&latest.since_last, &latest.complete, now);
                }
                Source { feed, latest, due: next(now, clock()) }
            }
        };
        self.open.retain_mut(|stream| stream.advance(now));
        self.source = Some(source);
    }
}

/// The time of the next update after one that was begun and ended at these times.
fn next(begun: Instant, ended: Instant) -> Instant {
    let cost = ended.saturating_duration_since(begun);
    (begun + INTERVAL).max(ended + cost * IDLE_SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails if pages of a node with many peers keep it busy.
    #[test]
    fn updates_come_every_second_unless_reading_takes_long() {
        let begun = Instant::now();
        for (cost, pause) in [(0, 1000), (100, 1000), (200, 2000), (3000, 30_000)] {
            let due = next(begun, begun + Duration::from_millis(cost));
            assert_eq!(due, begun + Duration::from_millis(pause), "{cost}");
        }
    }
}
