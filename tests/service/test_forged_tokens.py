"""A thousand tokens, each wrong in one way and drawn with a seed: none is let in, and the sound ones are.

Each way of forging starts from a token that would be let in; that it would is checked beside it, so that none
is refused for another reason than its own.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import random
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from joserfc.jwk import OctKey

from leakcap.service.identity import Bearer, OidcProvider, Principal, Providers, Unauthenticated, authenticate
from leakcap.service.store import Store
from service.issuers import Issuer, key_of, part, signed, unsigned

NOW = datetime(2026, 11, 27, 9, tzinfo=UTC)
SECONDS = int(NOW.timestamp())
HOME, OTHER = "https://id.example/uni", "https://id.example/other"
Forge = Callable[[random.Random, Issuer, Issuer], str]
WAYS: dict[str, Forge] = {}


def way(forge: Forge) -> Forge:
    """A way to forge a token, under the name of the function."""
    WAYS[forge.__name__] = forge
    return forge


def key(issuer: Issuer) -> Any:
    return key_of(issuer.algorithm, issuer.names[-1])


@way
def expired(draw: random.Random, home: Issuer, _: Issuer) -> str:
    return home.token(NOW, exp=SECONDS - draw.choice([60, 61, 3600, 10**9, SECONDS * 2]), nbf=0, iat=0)


@way
def not_yet_valid(draw: random.Random, home: Issuer, _: Issuer) -> str:
    early = {draw.choice(["nbf", "iat"]): SECONDS + draw.choice([61, 62, 3600, 10**9])}
    return home.token(NOW, exp=SECONDS + 10**10, **early)


@way
def without_times(draw: random.Random, home: Issuer, _: Issuer) -> str:
    return home.token(NOW, **draw.choice([{"exp": None}, {"nbf": None, "iat": None}]))


@way
def with_times_that_are_none(draw: random.Random, home: Issuer, _: Issuer) -> str:
    odd = draw.choice(["9999999999", True, [SECONDS + 60], {}, "", float("1e400")])
    name = draw.choice(["exp", "nbf", "iat"])
    raw = json.dumps({**home.claims(NOW), name: odd}).encode()
    return signed(home.header(), raw, key(home))


@way
def for_another_audience(draw: random.Random, home: Issuer, _: Issuer) -> str:
    odd = draw.choice(
        ["terminal", "", "Curator", "curator ", "curator/", "https://curator", [], ["terminal"], {}, None, 7,
         ["terminal", ["curator"]], {"curator": 1}, ["curator", 7], "xcuratorx"]
    )  # fmt: skip
    return home.token(NOW, aud=odd)


@way
def with_another_issuer_in_it(draw: random.Random, home: Issuer, _: Issuer) -> str:
    odd = draw.choice(
        [HOME + "/", HOME.upper(), "https://id.example", "http://id.example/uni", "", None, [HOME]]
    )
    return home.token(NOW, iss=odd)


@way
def of_one_issuer_signed_by_another(draw: random.Random, home: Issuer, other: Issuer) -> str:
    one, two = draw.choice([(home, other), (other, home)])
    header = one.header(kid=draw.choice([one.names[-1], two.names[-1]]))
    return signed(header, one.claims(NOW), key(two))


@way
def of_another_issuer_for_the_first_ones_audience(_: random.Random, home: Issuer, other: Issuer) -> str:
    return other.token(NOW, aud=home.audience)


@way
def not_signed(draw: random.Random, home: Issuer, _: Issuer) -> str:
    header = home.header(
        alg=draw.choice(["none", "None", "NONE", "nOnE", "", None, "HS256", home.algorithm, 0])
    )
    sound = home.token(NOW).rpartition(".")[2]
    signature = draw.choice(["", "AA", sound, part(b"\0" * 256)])
    forged = {name: value for name, value in header.items() if draw.random() < 0.9 or name == "alg"}
    return unsigned(forged, home.claims(NOW, sub="admin"), signature)


@way
def signed_with_the_public_key_as_a_secret(draw: random.Random, home: Issuer, _: Issuer) -> str:
    public = key(home).as_dict(private=False)
    pem = key(home).raw_value.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )  # fmt: skip
    texts = [
        pem,
        pem.strip(),
        json.dumps(public).encode(),
        public["n"].encode(),
        public["n"].encode() + b"\n",
    ]
    header = home.header(alg=draw.choice(["HS256", "HS384", "HS512"]))
    raw, claims = draw.choice(texts), part(home.claims(NOW))
    signing = f"{part(header)}.{claims}".encode()
    mac = hmac.new(raw, signing, getattr(hashlib, f"sha{header['alg'][2:]}"))
    return f"{signing.decode()}.{part(mac.digest())}"


@way
def with_a_key_of_its_own(draw: random.Random, home: Issuer, _: Issuer) -> str:
    own = key_of("RS256", "mallory")
    public = own.as_dict(private=False)
    brought = draw.choice(
        [{"jwk": public}, {"jku": "https://mallory.example/keys"}, {"x5u": "http://169.254.169.254/x"},
         {"x5c": ["MIIB"]}, {"jwk": public, "kid": "mallory"}]
    )  # fmt: skip
    return signed(home.header(**brought), home.claims(NOW), own)


@way
def with_an_algorithm_that_is_not_the_providers(draw: random.Random, home: Issuer, _: Issuer) -> str:
    algorithm = draw.choice(["ES256", "RS512", "PS256", "EdDSA"])
    signer = key(home) if algorithm[:2] in ("RS", "PS") else key_of(algorithm, home.names[-1])
    return signed(home.header(alg=algorithm), home.claims(NOW), signer)


@way
def of_another_type(draw: random.Random, home: Issuer, _: Issuer) -> str:
    odd = draw.choice(["JWE", "id+jwt", "logout+jwt", "dpop+jwt", "at+jwt ", "", None, 7, ["at+jwt"]])
    return home.token(NOW, {"typ": odd})


@way
def an_id_token_or_bound_to_a_key(draw: random.Random, home: Issuer, _: Issuer) -> str:
    odd: dict[str, Any] = draw.choice(
        [{"aud": "terminal", "nonce": "n"}, {"at_hash": "x", "aud": ["terminal", "curator"]}, {"typ": "ID"},
         {"typ": "Refresh"}, {"cnf": {"jkt": "x"}}, {"cnf": None, "aud": ["terminal"]}]
    )  # fmt: skip
    return home.token(NOW, {"typ": draw.choice(["JWT", "at+jwt"])}, **odd)


@way
def with_what_must_be_understood(draw: random.Random, home: Issuer, _: Issuer) -> str:
    return home.token(NOW, draw.choice([{"crit": ["exp"]}, {"crit": []}, {"b64": False, "crit": ["b64"]}]))


@way
def with_a_name_twice(draw: random.Random, home: Issuer, _: Issuer) -> str:
    claims = json.dumps(home.claims(NOW))
    name = draw.choice(["aud", "sub", "exp", "iss"])
    twice = f'{{"{name}": "admin", {claims[1:]}'.encode()
    return signed(home.header(), twice, key(home))


@way
def with_a_subject_that_is_none(draw: random.Random, home: Issuer, _: Issuer) -> str:
    odd = [
        "",
        "a" * 201,
        "\u0430lice",
        "alice ",
        "alice\u200b",
        "a\0",
        "a\nb",
        7,
        None,
        ["alice"],
        {"a": 1},
        True,
    ]
    return home.token(NOW, sub=draw.choice(odd))


@way
def changed_after_it_was_signed(draw: random.Random, home: Issuer, _: Issuer) -> str:
    header, claims, signature = home.token(NOW).split(".")
    if draw.random() < 0.5:
        return f"{header}.{part(home.claims(NOW, sub='admin'))}.{signature}"
    raw = bytearray(base64.urlsafe_b64decode(signature + "=="))
    raw[draw.randrange(len(raw))] ^= 1 << draw.randrange(8)
    return f"{header}.{claims}.{part(bytes(raw))}"


@way
def cut_or_grown(draw: random.Random, home: Issuer, _: Issuer) -> str:
    token = home.token(NOW)
    at = draw.randrange(1, len(token) - 1)
    deep = part(b"[" * 2000) + "." + part(b"[" * 3000) + ".AA"
    return draw.choice(
        [token[:at], token[at:], token + ".", "." + token, token.replace(".", ""), token + "=", " " + token,
         token + "\n", token.rpartition(".")[0] + ".", f"{token}.{token}", token + "A" * 9000,
         "\u0430" + token, part({"alg": "RS256"}) + ".bm90IGpzb24.AA", "..", "e30.e30.e30",
         part([1]) + "." + part([2]) + ".AA", deep]
    )  # fmt: skip


@way
def of_a_key_that_was_withdrawn(_: random.Random, home: Issuer, __: Issuer) -> str:
    withdrawn = f"{home.url}/0"
    return signed(home.header(kid=withdrawn), home.claims(NOW), key_of(home.algorithm, withdrawn))


@way
def of_a_person_who_was_removed(_: random.Random, home: Issuer, __: Issuer) -> str:
    return home.token(NOW, sub="gone")


REASONS = {
    "expired": "expired",
    "not_yet_valid": "not yet valid",
    "without_times": "claims",
    "with_times_that_are_none": "claims, malformed",
    "for_another_audience": "audience",
    "with_another_issuer_in_it": "unknown issuer, claims",
    "of_one_issuer_signed_by_another": "signature, unknown key",
    "of_another_issuer_for_the_first_ones_audience": "audience",
    "not_signed": "algorithm, signature, malformed, not an access token",
    "signed_with_the_public_key_as_a_secret": "algorithm",
    "with_a_key_of_its_own": "signature, unknown key",
    "with_an_algorithm_that_is_not_the_providers": "algorithm",
    "of_another_type": "not an access token",
    "an_id_token_or_bound_to_a_key": "not an access token, audience",
    "with_what_must_be_understood": "malformed",
    "with_a_name_twice": "malformed",
    "with_a_subject_that_is_none": "subject",
    "changed_after_it_was_signed": "signature",
    "cut_or_grown": "malformed, signature, claims",
    "of_a_key_that_was_withdrawn": "unknown key",
    "of_a_person_who_was_removed": "removed person",
}
"""For each way the kinds of reasons that the log has: the one that is meant, not another one by chance."""


@pytest.fixture
def store(tmp_path: Any) -> Any:
    with Store.open(f"sqlite:///{tmp_path / 'store.db'}") as found:
        found.people.add("uni:gone", by="curator")
        found.people.remove("uni:gone", by="curator")
        yield found


def providers() -> tuple[Providers, Issuer, Issuer]:
    """Two providers, each for an audience of its own; the first has withdrawn a key that was good before."""
    home, other, seconds = Issuer(HOME), Issuer(OTHER, audience="other-curator"), [1000.0]
    first = OidcProvider("uni", HOME, "curator", "terminal", ("RS256",), home.fetch, lambda: seconds[0])
    second = OidcProvider("office", OTHER, "other-curator", "terminal", ("RS256",), other.fetch)
    new, home.names = home.names, [f"{HOME}/0"]
    old = home.token(NOW)
    assert first.verify(old, NOW) == "8f14e45f"
    home.names = new
    seconds[0] += 31
    assert first.verify(home.token(NOW), NOW) == "8f14e45f"
    return Providers([first, second]), home, other


def test_of_a_thousand_forged_tokens_none_is_let_in(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    draw = random.Random(17)
    trusted, home, other = providers()
    tried, why = 0, defaultdict[str, set[str]](set)
    caplog.set_level(logging.INFO, "leakcap.service.identity")
    for _ in range(50):
        for name, forge in WAYS.items():
            tried += 1
            caplog.clear()
            with pytest.raises(
                Unauthenticated, match=r"^The credentials are not accepted\. Sign in again\.$"
            ):
                authenticate(Bearer(forge(draw, home, other)), store, trusted, NOW)
            why[name] |= {getattr(record, "refusal", "") for record in caplog.records}
        sound = authenticate(Bearer(home.token(NOW)), store, trusted, NOW)
        assert sound == Principal("uni:8f14e45f", "uni")
        assert authenticate(Bearer(other.token(NOW)), store, trusted, NOW).subject == "office:8f14e45f"
    assert tried >= 1000
    assert why.keys() == REASONS.keys()
    assert [name for name, kinds in why.items() if not set() < kinds <= set(REASONS[name].split(", "))] == []
    # However many keys they named, the issuers were asked at the start, and the first one for its new key.
    assert len(home.asked) == len(other.asked) * 2 == 4


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"aud": ["terminal", "curator"]},
        {"nbf": None},
        {"iat": None},
        {"exp": SECONDS - 59},
        {"nbf": SECONDS + 60, "iat": SECONDS + 60},
        {"typ": "Bearer", "nonce": "n"},
        {"sub": "CN=Alice Smith,O=Uni"},
        {"exp": SECONDS + 0.5},
    ],
)
@pytest.mark.parametrize("kind", ["at+jwt", "JWT", "application/at+jwt", "AT+JWT"])
def test_sound_tokens_are_let_in(store: Store, changes: dict[str, Any], kind: str) -> None:
    trusted, home, _ = providers()
    extra = {"typ": kind, "x5t": "x" * 600, "nonce": "of the provider's own"}
    found = authenticate(Bearer(home.token(NOW, extra, **changes)), store, trusted, NOW)
    assert found.subject == "uni:" + str(changes.get("sub", "8f14e45f"))


@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"])
def test_every_algorithm_that_may_be_configured_verifies(store: Store, algorithm: str) -> None:
    home = Issuer(HOME, algorithm=algorithm)
    trusted = Providers([OidcProvider("uni", HOME, "curator", "t", (algorithm,), fetch=home.fetch)])
    assert authenticate(Bearer(home.token(NOW)), store, trusted, NOW).subject == "uni:8f14e45f"
    forged = signed(home.header(), home.claims(NOW), key_of(algorithm, "mallory"))
    with pytest.raises(Unauthenticated):
        authenticate(Bearer(forged), store, trusted, NOW)


PLANTED = {
    "no signature is checked": (
        "leakcap.service.identity.oidc.jws.deserialize_compact",
        lambda *_, **__: None,
    ),
    "no claim is checked": (
        "leakcap.service.identity.oidc.OidcProvider._checked_claims",
        lambda _, claims, now: str(claims.get("sub")),
    ),
    "no header is checked": (
        "leakcap.service.identity.oidc.OidcProvider._checked_header",
        lambda _, header: "RS256",
    ),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_hole_lets_forged_tokens_in(
    store: Store, planted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*PLANTED[planted])
    draw = random.Random(17)
    trusted, home, other = providers()
    let_in = 0
    for forge in WAYS.values():
        for _ in range(5):
            try:
                authenticate(Bearer(forge(draw, home, other)), store, trusted, NOW)
                let_in += 1
            except Unauthenticated:
                pass
    assert let_in >= 5


def test_a_secret_key_among_the_issuers_keys_is_not_used(store: Store) -> None:
    trusted, home, _ = providers()
    home.extra = [{"kty": "oct", "kid": "s", "k": part(b"0" * 32), "alg": "HS256"}]
    secret = OctKey.import_key(home.extra[0])  # type: ignore[arg-type]
    for algorithm in ("HS256", "RS256"):
        forged = signed(home.header(alg="HS256", kid="s"), home.claims(NOW), secret)
        header = part({**home.header(kid="s"), "alg": algorithm})
        with pytest.raises(Unauthenticated):
            authenticate(Bearer(header + forged[forged.index(".") :]), store, trusted, NOW)
