"""Write schema.json: what the Python library jsonschema says of values under each draft."""
import json
import pathlib

from jsonschema import validators

DRAFTS = {
    "4": "http://json-schema.org/draft-04/schema#",
    "6": "http://json-schema.org/draft-06/schema#",
    "7": "http://json-schema.org/draft-07/schema#",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
}
OLD, NEW = ["4", "6", "7"], ["2019-09", "2020-12"]
ALL = OLD + NEW
TREE = {"type": "object", "properties": {"value": {"type": "integer"}, "children": {"type": "array", "items": {"$ref": "#"}}}, "required": ["value"]}

# Drafts, schema, values.
CASES = [
    (ALL, {}, [None, 1, "a", [], {}]),
    (ALL, {"type": "integer"}, [1, 1.5, "1", None, True, 9007199254740993, -0, 10**400]),
    (ALL, {"type": ["string", "null"]}, ["", None, 0, [], False]),
    (ALL, {"enum": [1, "a", None, [1, {"b": 2}]]}, [1, 1.0, "a", None, [1, {"b": 2}], [1], True, 2]),
    (ALL, {"const": 9007199254740993}, [9007199254740993, 9007199254740992, "9007199254740993"]),
    (ALL, {"const": {"a": [True]}}, [{"a": [True]}, {"a": [1]}, {}]),
    (ALL, {"minimum": 1, "maximum": 3}, [0.999, 1, 3, 3.001, "x"]),
    (ALL, {"minimum": 9007199254740993}, [9007199254740992, 9007199254740993, 9007199254740994]),
    (["4"], {"minimum": 1, "exclusiveMinimum": True}, [1, 1.001, 0]),
    (["4"], {"maximum": 1, "exclusiveMaximum": False}, [1, 1.001]),
    (ALL[1:], {"exclusiveMinimum": 1, "exclusiveMaximum": 3}, [1, 1.001, 2.999, 3]),
    (ALL, {"multipleOf": 3}, [9, 10, 0, -3, "x"]),
    (ALL, {"multipleOf": 0.5}, [4.5, 4.25]),
    (ALL, {"minLength": 2, "maxLength": 3}, ["a", "ab", "abc", "abcd", "😀", "😀😀", "e\u0301", 1]),
    (ALL, {"pattern": "^a+$"}, ["aaa", "aab", "", 1]),
    (ALL, {"pattern": "a"}, ["bab", "bbb"]),
    (ALL, {"pattern": "^(?=.*[0-9])(?=.*[a-z]).{4,}$"}, ["abc1", "abcd", "1234", "a1"]),
    (ALL, {"pattern": "^(.)\\1$"}, ["aa", "ab"]),
    (ALL, {"pattern": "^\\u00e9.$"}, ["é😀", "é", "e😀"]),
    (OLD, {"items": [{"type": "string"}, {"type": "integer"}], "additionalItems": False}, [[], ["a"], ["a", 1], ["a", 1, 2], [1], ["a", "b"]]),
    (["2019-09"], {"items": [{"type": "string"}], "additionalItems": {"type": "integer"}}, [["a", 1], ["a", "b"], [1]]),
    (["2020-12"], {"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}, [["a", 1], ["a", "b"], [1], []]),
    (["2020-12"], {"prefixItems": [{}], "additionalItems": False}, [[1, 2]]),
    (ALL, {"items": {"type": "integer"}, "minItems": 1, "maxItems": 2}, [[], [1], [1, 2], [1, 2, 3], ["a"], {}]),
    (ALL, {"uniqueItems": True}, [[1, 1.0], [1, True], [1, 2], [[1], [1]], [{"a": 1, "b": 2}, {"b": 2, "a": 1}], ["1", 1], [None, None], []]),
    (ALL, {"contains": {"minimum": 5}}, [[1, 5], [1, 2], [], {}]),
    (ALL, {"contains": {"const": 1}, "minContains": 2, "maxContains": 3}, [[1], [1, 1], [1, 1, 1], [1, 1, 1, 1], []]),
    (ALL, {"contains": {"const": 1}, "minContains": 0}, [[], [2]]),
    (ALL, {"properties": {"a": {"type": "integer"}, "é": {"type": "string"}}, "required": ["a"]}, [{"a": 1}, {"a": "1"}, {}, {"a": 1, "é": 2}, {"a": 1, "b": 2}, []]),
    (ALL, {"properties": {"a": {}}, "additionalProperties": False}, [{"a": 1}, {"b": 1}, {}]),
    (ALL, {"patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": {"type": "integer"}}, [{"x-a": "s", "n": 1}, {"x-a": 1}, {"n": "s"}]),
    (ALL, {"minProperties": 1, "maxProperties": 2}, [{}, {"a": 1}, {"a": 1, "b": 2, "c": 3}]),
    (ALL, {"propertyNames": {"maxLength": 2}}, [{"ab": 1}, {"abc": 1}]),
    (OLD, {"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}, [{"a": 1}, {"a": 1, "b": 2}, {"c": 1}, {"c": 1, "d": 1}, {"b": 1}]),
    (ALL, {"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"required": ["d"]}}}, [{"a": 1}, {"a": 1, "b": 2}, {"c": 1}, {"c": 1, "d": 1}]),
    (ALL, {"allOf": [{"minimum": 1}, {"maximum": 3}]}, [0, 2, 4]),
    (ALL, {"anyOf": [{"type": "string"}, {"minimum": 3}]}, ["a", 3, 2]),
    (ALL, {"oneOf": [{"minimum": 3}, {"multipleOf": 2}]}, [3, 2, 4, 1]),
    (ALL, {"not": {"type": "null"}}, [None, 1]),
    (ALL, {"if": {"properties": {"kind": {"const": "a"}}, "required": ["kind"]}, "then": {"required": ["x"]}, "else": {"required": ["y"]}}, [{"kind": "a", "x": 1}, {"kind": "a", "y": 1}, {"kind": "b", "y": 1}, {"x": 1}]),
    (ALL, TREE, [{"value": 1}, {"value": 1, "children": [{"value": 2}, {"value": 3, "children": []}]}, {"value": 1, "children": [{"value": "2"}]}, {"value": 1, "children": [{}]}]),
    (ALL, {"definitions": {"a/b~c": {"type": "string"}}, "properties": {"x": {"$ref": "#/definitions/a~1b~0c"}}}, [{"x": "s"}, {"x": 1}]),
    (ALL, {"properties": {"x": {"$ref": "#/definitions/n", "maximum": 3}}, "definitions": {"n": {"type": "integer"}}}, [{"x": 5}, {"x": 2}, {"x": "s"}]),
    (ALL, {"properties": {"x": {"$ref": "#/definitions/n", "not": {"type": "integer"}}}, "definitions": {"n": {}}}, [{"x": 5}, {"x": "s"}]),
    (ALL, {"properties": {"": {"type": "integer"}, "x": {"$ref": "#/properties/"}}}, [{"": 1, "x": 1}, {"": "s"}, {"x": "s"}]),
    (["4"], {"id": "http://x.test/root.json", "properties": {"a": {"$ref": "b.json"}}, "definitions": {"b": {"id": "b.json", "type": "integer"}}}, [{"a": 1}, {"a": "s"}]),
    (ALL[1:], {"$id": "http://x.test/root.json", "properties": {"a": {"$ref": "b.json"}}, "definitions": {"b": {"$id": "b.json", "type": "integer"}}}, [{"a": 1}, {"a": "s"}]),
    (NEW, {"$ref": "#here", "$defs": {"d": {"$anchor": "here", "type": "integer"}}}, [1, "s"]),
    (["2019-09"], {"$id": "http://x.test/strict", "$recursiveAnchor": True, "$ref": "tree", "unevaluatedProperties": False, "$defs": {"tree": {"$id": "tree", "$recursiveAnchor": True, "properties": {"data": {}, "next": {"$recursiveRef": "#"}}}}}, [{"data": 1}, {"next": {"data": 1}}, {"next": {"daat": 1}}, {"daat": 1}]),
    (["2020-12"], {"$id": "http://x.test/strict", "$dynamicAnchor": "node", "$ref": "tree", "unevaluatedProperties": False, "$defs": {"tree": {"$id": "tree", "$dynamicAnchor": "node", "properties": {"data": {}, "next": {"$dynamicRef": "#node"}}}}}, [{"data": 1}, {"next": {"data": 1}}, {"next": {"daat": 1}}, {"daat": 1}]),
    (NEW, {"allOf": [{"properties": {"a": {}}}], "properties": {"b": {}}, "unevaluatedProperties": False}, [{"a": 1, "b": 1}, {"c": 1}]),
    (NEW, {"anyOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"b": {"const": 2}}, "required": ["b"]}], "unevaluatedProperties": False}, [{"a": 1}, {"a": 1, "b": 2}, {"a": 1, "b": 3}]),
    (NEW, {"if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "then": {"properties": {"b": {}}}, "unevaluatedProperties": False}, [{"a": 1, "b": 1}, {"a": 2}, {"b": 1}]),
    (["2020-12"], {"prefixItems": [{}], "contains": {"type": "string"}, "unevaluatedItems": False}, [[1, "a"], [1, "a", 2], ["a"]]),
    (["2019-09"], {"items": [{}], "unevaluatedItems": {"type": "string"}}, [[1, "a"], [1, 2]]),
    (ALL[1:], {"properties": {"a": True, "b": False}}, [{"a": 1}, {"b": 1}]),
    (ALL, {"$comment": "x", "title": "t", "default": 3, "examples": [1], "unknown": {"type": 7}}, [1, "a"]),
]

out = []
for drafts, schema, values in CASES:
    for draft in drafts:
        whole = {"$schema": DRAFTS[draft], **schema}
        validator = validators.validator_for(whole)
        validator.check_schema(whole)
        out.append({"schema": whole, "values": [{"value": v, "valid": validator(whole).is_valid(v)} for v in values]})
path = pathlib.Path(__file__).with_name("schema.json")
path.write_text("[\n" + ",\n".join(json.dumps(case, ensure_ascii=False) for case in out) + "\n]\n")
