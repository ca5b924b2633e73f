# SPDX-License-Identifier: MIT OR Apache-2.0
import pytest

import liblnet
from liblnet import Nid


@pytest.mark.parametrize(
    ("text", "shown"),
    [("10.0.0.1@tcp", "10.0.0.1@tcp"), ("10.0.0.1@o2ib3", "10.0.0.1@o2ib3"), ("10.0.0.1", "10.0.0.1@tcp"), ("0@lo", "0@lo")],
)
def test_a_nid_is_read_and_shown(text: str, shown: str) -> None:
    nid = Nid(text)
    assert str(nid) == shown
    assert nid == Nid(int(nid)) == Nid(nid)
    assert hash(nid) == hash(Nid(shown))
    assert repr(nid) == f"Nid('{shown}')"


@pytest.mark.parametrize("wrong", ["10.0.0.1@tpc", "", "10.0.0.256@tcp", -1, 2**64])
def test_what_is_no_nid_is_refused_at_once(wrong: "str | int") -> None:
    with pytest.raises(ValueError, match="is no NID"):
        Nid(wrong)


def test_the_wildcard_is_no_text_of_a_nid() -> None:
    assert str(Nid.ANY) == "*"
    assert repr(Nid.ANY) == "Nid.ANY"
    assert Nid.ANY != Nid.LOOPBACK


def test_a_node_says_its_addresses(node: liblnet.Node) -> None:
    assert node.nids == []
    assert node.nid == Nid.LOOPBACK
    assert node.pid == liblnet.PID_LUSTRE
    assert node.distance("0@lo") == 0
    assert node.primary_nid("0@lo") == Nid.LOOPBACK


def test_a_node_has_the_networks_that_it_is_given() -> None:
    with liblnet.Node("tcp(127.0.1.1),tcp1(127.0.1.2)") as node:
        assert node.nids == [Nid("127.0.1.1@tcp"), Nid("127.0.1.2@tcp1")]
        assert node.nid == Nid("127.0.1.1@tcp")
