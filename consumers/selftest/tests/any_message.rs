//! Messages of any bytes.
#![allow(clippy::unwrap_used)]

use lnet as _;
use lnet_selftest::wire::*;
use proptest::prelude::*;

fn any_service() -> impl Strategy<Value = Service> {
    prop::sample::select([Service::FRAMEWORK.as_slice(), &Service::TESTS].concat())
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(service in any_service(), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = IncomingRequest::parse(service, &bytes);
        let _ = IncomingReply::parse(service, &bytes);
    }

    /// Tests any body behind a valid header, so that the parsers of bodies are reached.
    #[test]
    fn any_body_is_read_and_a_reply_means_the_same_when_written_again(
        service in any_service(),
        body in prop::collection::vec(any::<u8>(), 136),
        big in any::<bool>(),
        features in any::<u32>(),
    ) {
        let bytes = |kind: u32| {
            let order = if big { ByteOrder::Big } else { ByteOrder::Little };
            let mut message = [0; MESSAGE_LEN];
            for (at, value) in [(0, MAGIC), (4, VERSION), (8, kind), (20, features)] {
                order.put_u32(&mut message, at, value);
            }
            message[24..].copy_from_slice(&body);
            message
        };
        let request = IncomingRequest::parse(service, &bytes(service.request_type()));
        prop_assert!(service == Service::Ping || request.is_ok());
        let reply = IncomingReply::parse(service, &bytes(service.reply_type())).unwrap();
        let again = IncomingReply::parse(service, &reply.reply.write(reply.features)).unwrap();
        prop_assert_eq!(again, IncomingReply { order: ByteOrder::Little, ..reply });
    }

    /// Fails if a node reads another number of destinations from a console's list than it fetched.
    #[test]
    fn any_list_of_destinations_is_read_or_refused(list in prop::collection::vec(any::<u8>(), 0..9000), count in 0u32..800) {
        if let Some(nodes) = read_destinations(&list, ByteOrder::Little, count) {
            prop_assert_eq!(nodes.len(), count as usize);
        }
    }
}
