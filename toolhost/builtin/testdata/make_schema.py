"""Write the cases of assert_json_schema and json_validator, with the verdicts of the Python library jsonschema."""
import json
import pathlib

from jsonschema import validators

DRAFTS = {
    "draft 4": "http://json-schema.org/draft-04/schema#",
    "draft 6": "http://json-schema.org/draft-06/schema#",
    "draft 7": "http://json-schema.org/draft-07/schema#",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
}
USER = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 1},
        "name": {"type": "string", "minLength": 2, "pattern": "^\\S"},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True},
        "address": {"$ref": "#/definitions/address"},
    },
    "required": ["id", "name"],
    "additionalProperties": False,
    "definitions": {"address": {"type": "object", "required": ["city"]}},
}
USERS = {
    "a user": {"id": 1, "name": "Zoë", "tags": ["a"], "address": {"city": "Łódź"}},
    "a name of two characters": {"id": 9007199254740993, "name": "😀é"},
    "a name of one character": {"id": 1, "name": "😀"},
    "no name": {"id": 1},
    "an id with a fraction": {"id": 1.5, "name": "Ann"},
    "an id of text": {"id": "1", "name": "Ann"},
    "equal tags": {"id": 1, "name": "Ann", "tags": ["a", "a"]},
    "an unknown tag": {"id": 1, "name": "Ann", "tags": ["c"]},
    "no city": {"id": 1, "name": "Ann", "address": {}},
    "an unknown member": {"id": 1, "name": "Ann", "age": 3},
    "nothing": {},
}
# Keywords that mean something in some drafts only.
DATED = [
    ({"properties": {"a": {"minimum": 1, "exclusiveMinimum": True}}}, ["draft 4"], [{"a": 1}, {"a": 2}]),
    ({"properties": {"a": {"const": 1}}}, list(DRAFTS), [{"a": 1}, {"a": 2}]),
    ({"properties": {"a": {"exclusiveMinimum": 1}}}, list(DRAFTS)[1:], [{"a": 1}, {"a": 2}]),
    ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, list(DRAFTS), [{"a": 1}, {"a": 1, "b": 1}]),
    ({"dependentRequired": {"a": ["b"]}}, list(DRAFTS), [{"a": 1}, {"a": 1, "b": 1}]),
    ({"dependencies": {"a": ["b"]}}, list(DRAFTS)[:3], [{"a": 1}, {"a": 1, "b": 1}]),
    ({"properties": {"a": {"prefixItems": [{"type": "string"}]}}}, list(DRAFTS), [{"a": [1]}, {"a": ["x"]}]),
    ({"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False}, list(DRAFTS), [{"a": 1}, {"b": 1}]),
]


def valid(schema, data):
    validator = validators.validator_for(schema)
    validator.check_schema(schema)
    return validator(schema).is_valid(data)


def write(tool, cases):
    rows = ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases)
    pathlib.Path(__file__).with_name(tool + ".json").write_text(f"[\n{rows}\n]\n")


def cases(verdict):
    for draft, uri in DRAFTS.items():
        schema = {"$schema": uri, **USER}
        for name, user in USERS.items():
            yield {"name": f"{name}, {draft}", "args": {"data": user, "schema": schema}, "has": {verdict: valid(schema, user)}}
    for i, (keywords, drafts, values) in enumerate(DATED):
        for draft in drafts:
            schema = {"$schema": DRAFTS[draft], **keywords}
            for n, v in enumerate(values):
                yield {"name": f"keyword {i} in {draft}, value {n}", "args": {"data": v, "schema": schema}, "has": {verdict: valid(schema, v)}}


ERRORS = [{"path": "", "keyword": "required", "message": 'must have the property "b"'}, {"path": "/a", "keyword": "type", "message": "must be string, is number"}]
BAD = {"data": {"a": 1}, "schema": {"properties": {"a": {"type": "string"}}, "required": ["a", "b"]}}
WRONG = [
    {"name": "a wrong type", "args": {"data": {}, "schema": {"type": "strin"}}, "error": "schema at /type"},
    {"name": "a reference to nowhere", "args": {"data": {}, "schema": {"$ref": "http://example.com/x.json"}}, "error": "leads nowhere"},
    {"name": "an invalid pattern", "args": {"data": {}, "schema": {"properties": {"a": {"pattern": "("}}}}, "error": "schema at /properties/a/pattern"},
    {"name": "a schema without end", "args": {"data": {}, "schema": {"$ref": "#"}}, "error": "refers to itself without end"},
    {"name": "a draft of the future", "args": {"data": {}, "schema": {"$schema": "https://example.com/schema"}}, "error": "$schema"},
    {"name": "a schema that is a text", "args": {"data": {}, "schema": "{}"}, "error": "schema"},
    {"name": "no data", "args": {"schema": {}}, "error": "data"},
]
write("assert_json_schema", [
    *cases("passed"),
    *({"name": f"{json.dumps(v)} as {t}", "args": {"data": v, "schema": {"type": t}}, "has": {"passed": valid({"type": t}, v)}}
      for v in [None, True, 1, 1.5, "1", [], {}, 10**30] for t in ["null", "boolean", "integer", "number", "string", "array", "object"]),
    {"name": "all errors", "args": {**BAD, "message": "reply"}, "want": {"passed": False, "message": 'reply: must have the property "b" (and 1 more)', "errors": ERRORS}},
    {"name": "no errors", "args": {"data": "x", "schema": {}}, "want": {"passed": True, "message": "the value fits the schema", "errors": []}},
    *WRONG,
])
write("json_validator", [
    *cases("valid"),
    {"name": "all errors", "args": BAD, "want": {"valid": False, "errors": ERRORS}},
    {"name": "no errors", "args": {"data": {"a": None}, "schema": {}}, "want": {"valid": True, "errors": []}},
    *WRONG,
    {"name": "data that is no object", "args": {"data": [], "schema": {}}, "error": "data"},
])
