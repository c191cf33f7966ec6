"""What Schemathesis cannot read in openapi.yaml: credentials, which features there are, and the events of a stream."""

import base64
import hashlib
import hmac
import json
import os
import time
import urllib.request
import zlib
from urllib.parse import urlsplit

import requests
import schemathesis
from hypothesis.control import current_build_context
from hypothesis.errors import InvalidArgument
from jsonschema_rs import validator_for
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.core.parameters import ParameterLocation
from schemathesis.openapi.checks import JsonSchemaError, RejectedPositiveData

URL = os.environ["CONTRACT_URL"]
# The server listens on a port that is not the default.
COOKIE = f"mvi_session_{urllib.parse.urlsplit(URL).port}"


def read(path):
    with urllib.request.urlopen(URL + path, timeout=10) as response:
        return json.load(response)


# openapi.yaml says how an id is written; the server says which features and keys it has.
FEATURES = read("/features")["features"]
NAMES = [each["id"] for each in FEATURES]
INSTANCES = [f"{each['id']}:{each['exampleKeys'][0]}" if each["keyed"] else each["id"] for each in FEATURES]
INTENTS = {name: read(f"/features/{name}")["intents"] for name in NAMES}


def operation_id(case):
    return case.operation.definition.raw["operationId"]


def checksum(text):
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def content_type(response):
    return response.headers.get("content-type", [""])[0]


# --- Identities -------------------------------------------------------------------------------------------------------


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def identity_of(subject):
    """A JWT that the server takes (RFC 7519)."""
    claims = {
        "iss": os.environ["CONTRACT_ISSUER"],
        "aud": os.environ["CONTRACT_AUDIENCE"],
        "sub": subject,
        "exp": int(time.time()) + 86_400,
    }
    parts = [encoded(json.dumps(part).encode()) for part in ({"alg": "HS256"}, claims)]
    signature = hmac.new(os.environ["CONTRACT_SECRET"].encode(), b".".join(parts), hashlib.sha256).digest()
    return b".".join([*parts, encoded(signature)]).decode()


IDENTITIES = [identity_of(subject) for subject in ("anna", "bob")]


# --- Credentials ------------------------------------------------------------------------------------------------------


class Scenario:
    """The session that requests are sent with: a new one for each, or for each scenario of linked requests."""

    source = None
    credential = None


def credential_of(session, set_cookie):
    """The field that carries it: `Authorization` with its value, or `Cookie` with the token; and the session's id."""
    if "token" in session:
        return ("Authorization", f"Bearer {session['token']}", session["id"])
    return ("Cookie", set_cookie.split(";")[0].partition("=")[2], session["id"])


def new_credential(kind):
    body = json.dumps({"credential": kind}).encode()
    request = urllib.request.Request(f"{URL}/sessions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as response:
        return credential_of(json.load(response), response.headers.get("Set-Cookie", ""))


def source_of_choices():
    """Hypothesis draws every step of a scenario from one source, and every request on its own from another."""
    try:
        return current_build_context().data
    except InvalidArgument:
        return None


@schemathesis.auth(refresh_interval=None, retry_on=[])
class SessionCredential:
    def get(self, case, context):
        source = source_of_choices()
        if source is None or source is not Scenario.source:
            Scenario.source = source
            # The same kind when Hypothesis sends the same requests again, which then get the same answers.
            number = checksum(f"{operation_id(case)} {case.path_parameters} {case.query}")
            Scenario.credential = new_credential("cookie" if number % 2 else "bearer")
        return Scenario.credential

    def set(self, case, credential, context):
        field, value, session = credential
        if "MVI-Session" in case.headers:
            # No text that is made of the pattern is the id of the session.
            case.headers["MVI-Session"] = choice(case.headers["MVI-Session"], [session]) or case.headers["MVI-Session"]
        if field == "Cookie":
            case.cookies = {**(case.cookies or {}), COOKIE: value}
        elif "security" in case.operation.definition.raw:
            case.headers["Authorization"] = value


def credential_sent(request):
    return {name: value for name, value in request.headers.items() if name.lower() in ("authorization", "cookie")}


@schemathesis.hook
def after_call(context, case, response):
    # A scenario goes on with the session that it made last.
    made = operation_id(case) in ("createSession", "signIn") and response.status_code in (200, 201)
    if made and Scenario.source is not None:
        session, cookie = response.json(), response.headers.get("set-cookie", [""])[0]
        # Whoever renews an identity keeps the credential.
        if "token" in session or cookie:
            Scenario.credential = credential_of(session, cookie)


# --- Requests that reach something ------------------------------------------------------------------------------------


def choice(text, options):
    """One of them, the same for the same text; None for one text in eight, which stays as it is."""
    number = checksum(str(text))
    return None if number % 8 == 0 else options[number // 8 % len(options)]


@schemathesis.hook
def map_case(context, case):
    meta = case.meta
    if meta is None:
        return case
    negative = {location for location, component in meta.components.items() if component.mode.is_negative}
    if ParameterLocation.PATH not in negative and case.path.startswith("/features/{"):
        # Nearly no id that is made of the pattern is that of a feature.
        for name, options in (("id", INSTANCES), ("name", NAMES)):
            value = case.path_parameters.get(name)
            chosen = value if value in options else choice(value, options)
            if value is not None and chosen is not None:
                case.path_parameters = {**case.path_parameters, name: chosen}
    if operation_id(case) in ("createSession", "signIn"):
        if ParameterLocation.BODY not in negative and isinstance(case.body, dict):
            # No text that is made of the pattern is a JWT of the server's issuer.
            if isinstance(case.body.get("identity"), str):
                chosen = choice(case.body["identity"], IDENTITIES)
                case.body = {**case.body, "identity": chosen or case.body["identity"]}
            else:
                # Only the devices of somebody who is signed in share a session.
                case.body = {name: value for name, value in case.body.items() if name != "shared"}
    if operation_id(case) == "sendIntent":
        if ParameterLocation.HEADER not in negative:
            # An intent has one name; OpenAPI cannot say that header fields exclude or need each other.
            if "Idempotency-Key" in case.headers or "Intent-Seq" not in case.headers:
                for name in ("Intent-Seq", "Intent-Epoch"):
                    case.headers.pop(name, None)
            else:
                case.headers.setdefault("Intent-Epoch", "epoch")
        if ParameterLocation.BODY not in negative and isinstance(case.body, dict):
            # Which intents there are is the feature's to say.
            name = str(case.path_parameters.get("id", "")).partition(":")[0]
            intent = choice(json.dumps(case.body, sort_keys=True, default=str), INTENTS.get(name, [None]))
            if intent is not None:
                case.body = intent
    return case


# --- Checks of our own ------------------------------------------------------------------------------------------------


def events_of(text):
    for block in text.split("\n\n"):
        event, data = None, []
        for line in block.split("\n"):
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "event":
                event = value
            elif name == "data":
                data.append(value)
        if data:
            yield event, "\n".join(data)


@schemathesis.check
def stream_conformance(ctx, response, case):
    """Every event of a stream is one that openapi.yaml has, with its members; `hello` or `goaway` is the first."""
    if not content_type(response).startswith("text/event-stream") or case.method == "HEAD":
        return None
    root = case.operation.schema.raw_schema
    declared = root["components"]["responses"]["Stream"]["content"]["text/event-stream"]["x-events"]
    events = list(events_of(response.text))
    assert events and events[0][0] in ("hello", "goaway"), f"the stream begins with {events[:1]}"
    for event, data in events:
        assert event in declared, f"the event '{event}' is not declared"
        schema = {"$ref": declared[event]["$ref"], "components": root["components"]}
        for error in validator_for(schema).iter_errors(json.loads(data)):
            raise AssertionError(f"the data of '{event}' {data}: {error.message}")
    return None


@schemathesis.hook
def filter_failure(context, failure, case, response):
    # Schemathesis takes a stream's schema for that of each event, taken apart; in openapi.yaml it is that of the text.
    # `stream_conformance` has the events' own.
    if isinstance(failure, JsonSchemaError) and failure.title == "SSE event violates schema":
        return False
    name = operation_id(case)
    is_problem = content_type(response) == "application/problem+json" and case.method != "HEAD"
    problem = response.json()["type"] if is_problem else None
    if problem == "/problems/other-session" and isinstance(failure, RejectedPositiveData):
        # Which session it is, the credential says.
        return False
    if name == "sendIntent" and isinstance(failure, RejectedPositiveData):
        # Which intents there are is the feature's to say; a tag is that of a moment of a session, and a key that of an
        # earlier intent of the scenario.
        allowed = ("invalid-intent", "precondition-failed", "idempotency-key-reused")
        return problem not in [f"/problems/{each}" for each in allowed]
    if name == "sendIntent" and isinstance(failure, AcceptedNegativeData):
        # What the client believes of the state is judged before what it asks for.
        return problem != "/problems/precondition-failed"
    if name in ("createSession", "signIn") and isinstance(failure, RejectedPositiveData):
        # Which identities are good is their issuer's to say, and another subject may be signed in.
        return problem not in [f"/problems/{each}" for each in ("identity-rejected", "other-identity")]
    if name == "createSession" and isinstance(failure, AcceptedNegativeData) and "Content-Encoding" in failure.message:
        # Without a body there is nothing that could be coded.
        return response.request.body is not None
    return True


@schemathesis.check
def problem_conformance(ctx, response, case):
    """A problem's members agree with its answer and its request."""
    if content_type(response) != "application/problem+json":
        assert response.status_code < 400, f"{response.status_code} is no problem document"
        return None
    if case.method == "HEAD":
        return None
    problem = response.json()
    assert problem["status"] == response.status_code, f"the problem's status is {problem['status']}"
    path = urlsplit(response.request.url).path
    assert problem.get("instance", path)[:200] == path[:200], f"the problem's instance is {problem['instance']}"
    return None


@schemathesis.check
def ended_session_is_refused(ctx, response, case):
    """What was the session's is not served any more: 404, and for a stream 204, at which a browser stops for ever."""
    if operation_id(case) not in ("endSession", "signOut") or response.status_code != 204:
        return None
    for path, status in (("/sessions/current", 404), ("/features/counter/state", 404), ("/events", 204)):
        again = requests.get(URL + path, headers=credential_sent(response.request), timeout=10)
        assert again.status_code == status, f"after the end {path} is answered with {again.status_code}"
    return None
