"""Write the cases of the tools that make data. What they make is checked in Go."""
import json
import pathlib
import re


def write(tool, cases):
    rows = ",\n".join(re.sub(r'"exactly ([^"]*)"', r"\1", json.dumps(c, ensure_ascii=False)) for c in cases)
    pathlib.Path(__file__).with_name(tool + ".json").write_text(f"[\n{rows}\n]\n")


TYPES = "name firstName lastName email phone uuid date boolean number word sentence paragraph url ipv4 username password hexColor company".split()
BIG = 9007199254740993
write("data_generate", [
    *({"name": t, "args": {"type": t}, "has": {"count": 1}} for t in TYPES),
    *({"name": f"many of {t}", "args": {"type": t, "count": 200}, "has": {"count": 200}} for t in TYPES),
    {"name": "a range", "args": {"type": "number", "count": 100, "options": {"min": 5, "max": 7}}, "has": {"count": 100}},
    {"name": "one number", "args": {"type": "number", "options": {"min": BIG, "max": BIG}}, "want": {"count": 1, "data": BIG}},
    {"name": "fractions", "args": {"type": "number", "count": 100, "options": {"min": 0.5, "max": 0.75}}, "has": {"count": 100}},
    {"name": "a negative maximum", "args": {"type": "number", "count": 10, "options": {"max": -5}}, "has": {"count": 10}},
    {"name": "a minimum", "args": {"type": "number", "count": 10, "options": {"min": 10**20}}, "has": {"count": 10}},
    {"name": "a short password", "args": {"type": "password", "count": 10, "options": {"length": 3}}, "has": {"count": 10}},
    {"name": "a long password", "args": {"type": "password", "options": {"length": 1000}}, "has": {"count": 1}},
    {"name": "a sentence of one word", "args": {"type": "sentence", "options": {"length": 1}}, "has": {"count": 1}},
    {"name": "a paragraph of two sentences", "args": {"type": "paragraph", "options": {"length": 2}}, "has": {"count": 1}},
    {"name": "min above max", "args": {"type": "number", "options": {"min": 2, "max": 1}}, "error": "options.min must not be greater"},
    {"name": "no integer between", "args": {"type": "number", "options": {"min": "NaN"}}, "error": "min"},
    {"name": "an unknown type", "args": {"type": "address"}, "error": "type"},
    {"name": "too many", "args": {"type": "word", "count": 1001}, "error": "count"},
    {"name": "a count of zero", "args": {"type": "word", "count": 0}, "error": "count"},
    {"name": "half a count", "args": {"type": "word", "count": 1.5}, "error": "count"},
    {"name": "a fraction of zero", "args": {"type": "word", "count": "exactly 5.0"}, "error": "count: number 5.0 cannot be used"},
    {"name": "no type", "args": {}, "error": "type"},
])

USER = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "format": "uuid"},
        "name": {"type": "string", "minLength": 3, "maxLength": 10},
        "email": {"type": "string", "format": "email"},
        "born": {"type": "string", "format": "date"},
        "age": {"type": "integer", "minimum": 18, "maximum": 99},
        "score": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        "code": {"type": "string", "pattern": "^[A-Z]{3}-\\d{2}$"},
        "tags": {"type": "array", "items": {"enum": ["a", "b", "c"]}, "minItems": 1, "uniqueItems": True},
        "größe": {"anyOf": [{"type": "null"}, {"type": "integer"}]},
    },
    "required": ["id", "email", "age", "code", "tags"],
    "additionalProperties": False,
}
TREE = {"$ref": "#/definitions/node", "definitions": {"node": {"type": "object", "properties": {"left": {"$ref": "#/definitions/node"}, "n": {"type": "integer"}}, "required": ["n"]}}}
write("data_from_schema", [
    {"name": "users", "args": {"schema": USER, "count": 100}, "has": {"count": 100}},
    {"name": "one user", "args": {"schema": USER}, "has": {"count": 1}},
    {"name": "a tree", "args": {"schema": TREE, "count": 20}, "has": {"count": 20}},
    {"name": "an integer beyond 2^53", "args": {"schema": {"type": "integer", "minimum": BIG, "maximum": BIG}}, "want": {"count": 1, "data": BIG}},
    {"name": "a constant", "args": {"schema": {"const": {"é": [1, "😀"]}}, "count": 2}, "want": {"count": 2, "data": [{"é": [1, "😀"]}] * 2}},
    {"name": "null", "args": {"schema": {"type": "null"}}, "want": {"count": 1, "data": None}},
    {"name": "anything", "args": {"schema": {}, "count": 10}, "has": {"count": 10}},
    {"name": "bounds of draft 4", "args": {"schema": {"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer", "minimum": 1, "exclusiveMinimum": True, "maximum": 2}}, "want": {"count": 1, "data": 2}},
    {"name": "a tuple of 2020-12", "args": {"schema": {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "array", "prefixItems": [{"const": 1}, {"const": "a"}], "items": False, "minItems": 2}}, "want": {"count": 1, "data": [1, "a"]}},
    {"name": "nothing fits", "args": {"schema": {"not": {}}}, "error": "no value that fits the schema was found"},
    {"name": "too much", "args": {"schema": {"type": "array", "minItems": 9000, "items": {"const": "x" * 100}}, "count": 1000}, "error": "the result would be larger than"},
    {"name": "a wrong schema", "args": {"schema": {"type": "text"}}, "error": "schema at /type"},
    {"name": "too many", "args": {"schema": {}, "count": 1001}, "error": "count"},
    {"name": "no schema", "args": {}, "error": "schema"},
])

NAMES = ["sql_injection", "xss", "path_traversal", "boundary", "unicode", "empty"]
write("data_edge_cases", [
    {"name": "all", "args": {}, "has": {"category": "all", "count": 60}},
    {"name": "one of each", "args": {"limit": 1}, "want": {"category": "all", "count": 6, "cases": [
        {"category": c, "value": v, "description": d} for c, (v, d) in zip(NAMES, [
            ("' OR 1=1 --", "condition that is always true"), ("<script>alert(1)</script>", "script"), ("../../../../etc/passwd", "parent directories"),
            ("0", "zero"), ("😀", "character beyond the basic plane"), ("", "nothing")])]}},
    *({"name": c, "args": {"category": c, "limit": 100}, "has": {"category": c}} for c in NAMES),
    {"name": "no limit", "args": {"limit": 0}, "error": "limit"},
    {"name": "an unknown category", "args": {"category": "csrf"}, "error": "category"},
    {"name": "a limit of text", "args": {"limit": "NaN"}, "error": "limit"},
])
