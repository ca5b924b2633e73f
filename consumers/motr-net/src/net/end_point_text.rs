//! The strict form of an address (motr-net 3.3): for programs that check what a user has entered.

use lnet_api::c_pointer::Text;

/// The most digits of a portal or a TMID.
const MAX_DIGITS: usize = 15;

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_endpoint_is_valid(endpoint: Text<'_>) -> bool {
    endpoint.utf8_or(()).is_ok_and(is_valid)
}

fn is_valid(text: &str) -> bool {
    let fields: Vec<&str> = text.split(':').collect();
    let [nid, pid, portal, tmid] = fields[..] else { return false };
    is_nid(nid) && pid == "12345" && is_number(portal) && is_number(tmid)
}

fn is_nid(text: &str) -> bool {
    if text == "0@lo" {
        return true;
    }
    let Some((address, net)) = text.split_once('@') else { return false };
    let number = net.strip_prefix("tcp").or_else(|| net.strip_prefix("o2ib"));
    let number_is_right = number.is_some_and(|it| it.is_empty() || it.len() == 1 && is_number(it));
    let octets: Vec<&str> = address.split('.').collect();
    number_is_right
        && octets.len() == 4
        && octets.iter().all(|it| it.len() <= 3 && is_number(it) && it.parse::<u8>().is_ok())
}

fn is_number(text: &str) -> bool {
    (1..=MAX_DIGITS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strict_form_of_an_address() {
        for (text, expected) in [
            ("0@lo:12345:34:1", true),
            ("172.18.1.1@tcp:12345:40:401", true),
            ("255.0.0.0@tcp:12345:1:1", true),
            ("172.18.50.40@o2ib1:12345:34:1", true),
            ("", false),
            (" 172.18.1.1@tcp:12345:40:401", false),
            ("172.18.1.1@tcp:12345:40:401 ", false),
            ("172.18.1.1@tcp12:12345:40:401", false),
            ("172.18.1.1@tcpx:12345:40:401", false),
            ("1@lo:12345:34:1", false),
            ("172.18.1.1:12345:40:401", false),
            ("172.18.1.1@:12345:40:401", false),
            ("172.18.1@tcp:12345:40:401", false),
            ("256.0.0.0@tcp:12345:1:1", false),
            ("172.18.1.1@tcp:12346:40:401", false),
            ("172.18.1.1@tcp:12345:40:*", false),
            ("172.18.1.1@tcp:12345:40:", false),
            ("172.18.1.1@tcp:12345:40", false),
            ("172.18.1.1@tcp:12345:40:1:1", false),
            ("172.18.1.1@tcp:12345:1234567890123456:1", false),
        ] {
            assert_eq!(is_valid(text), expected, "{text}");
        }
    }
}
