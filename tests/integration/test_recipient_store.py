"""The recipient store on a real Redis: keys and values of any look, and nothing deleted that was not judged."""

from collections.abc import Iterator

import pytest
import redis

from core.recipients import Deletion, RecipientStore, WrongType
from dev.services import RedisServer

ODD_ADDRESSES = [
    "jane@example.com",
    "jané@bücher.example",
    "jane+*?[a-z]^\\@example.com",
    "{hash}tag@example.com",
    '"jane,doe"@example.com',
    "new\nline@example.com",
    "",
]
VALUES = [b"{}", b"", b"\x00\xff\xfe", b"0", b"x" * 100_000, '{"name": "Jané"}'.encode()]
OTHER_TYPES = {
    "hash": ("HSET", "field", "value"),
    "list": ("RPUSH", "value"),
    "set": ("SADD", "value"),
    "zset": ("ZADD", "1", "value"),
    "stream": ("XADD", "*", "field", "value"),
}
GONE, DELETED, CHANGED = Deletion.GONE, Deletion.DELETED, Deletion.CHANGED


@pytest.fixture
def store(redis_client: redis.Redis, redis_prefix: str) -> RecipientStore:
    return RecipientStore(redis_client, redis_prefix + "{address}")


@pytest.fixture
def whole_redis(redis_server: RedisServer) -> Iterator[redis.Redis]:
    """A client of a numbered database of the store that nobody else uses, empty."""
    with redis.Redis.from_url(redis_server.url.removesuffix("/0") + "/9") as client:
        client.flushdb()
        yield client
        client.flushdb()


def put_other_type(client: redis.Redis, store: RecipientStore, address: str, kind: str) -> None:
    command, *arguments = OTHER_TYPES[kind]
    client.execute_command(command, store.key(address), *arguments)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("template", "key"),
    [
        ("recipient:{address}", "recipient:jane@example.com"),
        ("{address}", "jane@example.com"),
        ("{address}:recipient", "jane@example.com:recipient"),
        ("a:{address}:z", "a:jane@example.com:z"),
        ("%s:{address}", "%s:jane@example.com"),
    ],
)
def test_the_template_makes_the_key_and_gives_the_address_back(
    redis_client: redis.Redis, template: str, key: str
) -> None:
    store = RecipientStore(redis_client, template)

    assert store.key("jane@example.com") == key
    assert store.address(key) == "jane@example.com"


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value[:9]))
@pytest.mark.parametrize("address", ODD_ADDRESSES)
def test_a_record_is_read_and_deleted_whatever_its_key_and_bytes(
    store: RecipientStore, address: str, value: bytes
) -> None:
    key = store.key(address)
    store.put(address, value)

    assert store.read([key]) == [value]
    assert store.delete_if_unchanged([(key, value)]) == [DELETED]
    assert store.read([key]) == [None]


def test_values_come_in_the_order_of_the_keys_and_none_for_what_is_absent(store: RecipientStore) -> None:
    store.put("b", b"B")
    store.put("a", b"A")

    assert store.read([store.key(one) for one in ("a", "none", "b", "a")]) == [b"A", None, b"B", b"A"]


def test_no_keys_are_no_trip(redis_server: RedisServer) -> None:
    nowhere = RecipientStore(redis.Redis(host="127.0.0.1", port=1), "{address}")

    assert nowhere.read([]) == []
    assert nowhere.delete_if_unchanged([]) == []


@pytest.mark.parametrize("kind", OTHER_TYPES)
def test_a_key_of_another_type_is_refused_and_not_taken_for_absent(
    redis_client: redis.Redis, store: RecipientStore, kind: str
) -> None:
    store.put("jane", b"{}")
    put_other_type(redis_client, store, "other", kind)

    with pytest.raises(WrongType, match=kind):
        store.read([store.key("jane"), store.key("other")])


def test_a_key_that_became_another_type_is_not_deleted(redis_client: redis.Redis, store: RecipientStore) -> None:
    put_other_type(redis_client, store, "other", "hash")

    assert store.delete_if_unchanged([(store.key("other"), b"{}")]) == [CHANGED]
    assert redis_client.exists(store.key("other"))


def test_each_key_is_deleted_only_if_its_bytes_are_still_the_same(store: RecipientStore) -> None:
    for address in ("same", "changed", "longer", "shorter"):
        store.put(address, b"12")
    store.put("changed", b"21")
    store.put("longer", b"123")
    store.put("shorter", b"1")

    pairs = [(store.key(one), b"12") for one in ("same", "changed", "longer", "shorter", "gone")]
    assert store.delete_if_unchanged(pairs) == [DELETED, CHANGED, CHANGED, CHANGED, GONE]

    assert store.read([key for key, _ in pairs]) == [None, b"21", b"123", b"1", None]


def test_numbers_are_compared_as_bytes(store: RecipientStore) -> None:
    store.put("jane", b"1.0")

    assert store.delete_if_unchanged([(store.key("jane"), b"1")]) == [CHANGED]


def test_one_key_twice_is_deleted_once(store: RecipientStore) -> None:
    store.put("jane", b"{}")

    store.delete_if_unchanged([(store.key("jane"), b"{}")] * 2)

    assert store.read([store.key("jane")]) == [None]


def test_a_thousand_keys_take_one_trip_to_read_and_one_to_delete(
    redis_client: redis.Redis, store: RecipientStore
) -> None:
    addresses = [f"reader{number}@example.com" for number in range(1000)]
    store.put_many((address, address.encode()) for address in addresses[:900])
    keys = [store.key(address) for address in addresses]
    store.read(keys[:1])
    store.delete_if_unchanged([(keys[-1], b"")])  # both scripts are known to the server now
    before = commands(redis_client)

    records = store.read(keys)
    done = store.delete_if_unchanged([(key, record or b"") for key, record in zip(keys, records, strict=True)])

    assert commands(redis_client) - before == 2
    assert records == [address.encode() for address in addresses[:900]] + [None] * 100
    assert done == [DELETED] * 900 + [GONE] * 100


def commands(client: redis.Redis) -> int:
    """How many scripts the server has run for clients."""
    stats: dict[str, dict[str, int]] = client.info("commandstats")
    return stats["cmdstat_evalsha"]["calls"]


def test_the_scripts_survive_a_server_that_has_forgotten_them(redis_client: redis.Redis, store: RecipientStore) -> None:
    store.put("jane", b"{}")
    redis_client.script_flush()

    assert store.read([store.key("jane")]) == [b"{}"]
    redis_client.script_flush()
    assert store.delete_if_unchanged([(store.key("jane"), b"{}")]) == [DELETED]


def test_put_replaces_unless_told_not_to(store: RecipientStore) -> None:
    assert store.put("jane", b"1")
    assert store.put("jane", b"2")
    assert not store.put("jane", b"3", only_if_absent=True)
    assert store.put("joe", b"4", only_if_absent=True)

    assert store.read([store.key("jane"), store.key("joe")]) == [b"2", b"4"]


def test_many_records_are_put_at_once_and_the_last_of_equals_counts(store: RecipientStore) -> None:
    store.put_many([("jane", b"1"), ("joe", b"2"), ("jane", b"3")])

    assert dict(store.scan()) == {"jane": b"3", "joe": b"2"}


def test_putting_none_puts_none(store: RecipientStore) -> None:
    store.put_many([])

    assert list(store.scan()) == []


@pytest.mark.parametrize("template", ["a*b?[c-d]^\\:{address}", "{address}:a*b?[c]", "[a]{address}[b]"])
def test_scan_takes_glob_characters_of_the_template_literally(whole_redis: redis.Redis, template: str) -> None:
    store = RecipientStore(whole_redis, template)
    store.put("jane@example.com", b"{}")
    for lookalike in ("aXXbXc:jane", "a*bX[c-d]^\\:jane", "jane:aXbXc", "ajaneb", "recipient:jane"):
        whole_redis.set(lookalike, b"not ours")

    assert list(store.scan()) == [("jane@example.com", b"{}")]


def test_scan_with_an_empty_prefix_sees_every_string_of_the_database(whole_redis: redis.Redis) -> None:
    store = RecipientStore(whole_redis, "{address}")
    store.put_many((address, b"{}") for address in ODD_ADDRESSES)
    put_other_type(whole_redis, store, "a hash", "hash")

    assert sorted(store.scan()) == sorted((address, b"{}") for address in ODD_ADDRESSES)


def test_scan_passes_over_other_types_and_goes_beyond_one_page(
    redis_client: redis.Redis, store: RecipientStore
) -> None:
    expected = {f"reader{number}@example.com": b"%d" % number for number in range(2500)}
    store.put_many(expected.items())
    for kind in OTHER_TYPES:
        put_other_type(redis_client, store, f"other {kind}", kind)

    assert dict(store.scan()) == expected


def test_scan_of_nothing_is_nothing(store: RecipientStore) -> None:
    assert list(store.scan()) == []


def test_a_key_that_is_no_utf_8_does_not_end_the_scan(redis_client: redis.Redis, store: RecipientStore) -> None:
    store.put("jane", b"{}")
    redis_client.set(store.key("").encode() + b"\xff\xfe", b"not a text")

    assert ("jane", b"{}") in list(store.scan())
