"""Write the test cases of string_diff and hash_text."""
import difflib
import hashlib
import json
import pathlib


def write(tool, cases):
    rows = ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases)
    pathlib.Path(__file__).with_name(tool + ".json").write_text(f"[\n{rows}\n]\n", encoding="utf-8")


def diff(name, expected, actual, **options):
    """A case of texts whose lines all end with a newline."""
    unified = "".join(difflib.unified_diff(
        expected.splitlines(True), actual.splitlines(True), "expected", "actual", n=options.get("context", 3)))
    diffs = []
    matcher = difflib.SequenceMatcher(None, expected.split("\n"), actual.split("\n"), autojunk=False)
    before, after = expected.split("\n"), actual.split("\n")
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            diffs += [{"type": "removed", "line": i + 1, "text": before[i]} for i in range(i1, i2)]
            diffs += [{"type": "added", "line": j + 1, "text": after[j]} for j in range(j1, j2)]
    return {"name": name, "args": {"expected": expected, "actual": actual, **options}, "want": {
        "identical": expected == actual,
        "added": sum(d["type"] == "added" for d in diffs),
        "removed": sum(d["type"] == "removed" for d in diffs),
        "diffs": diffs, "unified": unified}}


lines = [f"line {i}\n" for i in range(2000)]
changed = lines.copy()
changed[1000] = "another\n"
write("string_diff", [
    diff("identical", "a\nb\n", "a\nb\n"),
    diff("both empty", "", ""),
    diff("one line", "a\nb\nc\n", "a\nx\nc\n"),
    diff("no context", "a\nb\nc\nd\n", "a\nb\nx\nd\n", context=0),
    diff("a line more, no context", "a\nb\n", "a\nx\nb\n", context=0),
    diff("a line less, no context", "a\nx\nb\n", "a\nb\n", context=0),
    diff("at the start and the end, no context", "a\nb\nc\n", "x\na\nb\n", context=0),
    diff("context of one", "a\nb\nc\nd\ne\nf\n", "a\nb\nc\nx\ne\nf\n", context=1),
    diff("two hunks", "".join(lines[:30]), "first\n" + "".join(lines[1:29]) + "last\n"),
    diff("from nothing", "", "a\nb\n"),
    diff("to nothing", "a\nb\n", ""),
    diff("composed and decomposed letters", "caf\u00e9\n", "cafe\u0301\n"),
    diff("astral", "a\n\U0001f600\n", "a\n\U0001f601\n"),
    diff("line ends of Windows", "a\r\nb\n", "a\nb\n"),
    diff("in the middle of much", "".join(lines), "".join(changed)),
    {"name": "no newline at the end", "args": {"expected": "a\nb", "actual": "a\nb\n"}, "want": {
        "identical": False, "added": 1, "removed": 1,
        "diffs": [{"type": "removed", "line": 2, "text": "b"}, {"type": "added", "line": 2, "text": "b"}],
        "unified": "--- expected\n+++ actual\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"}},
    {"name": "more than is listed", "args": {"expected": "", "actual": "x\n" * 1500}, "has": {"identical": False, "added": 1500}},
    {"name": "no text", "args": {"expected": 1, "actual": ""}, "error": "/expected"},
    {"name": "missing", "args": {"expected": ""}, "error": '"actual"'},
    {"name": "negative context", "args": {"expected": "", "actual": "", "context": -1}, "error": "/context"},
])


def hashed(name, text, algorithm=None):
    args = {"text": text} if algorithm is None else {"text": text, "algorithm": algorithm}
    algorithm = algorithm or "sha256"
    return {"name": name, "args": args, "want": {
        "algorithm": algorithm, "hash": hashlib.new(algorithm, text.encode()).hexdigest()}}


write("hash_text", [
    hashed("default", "hello"),
    *(hashed(a, "The quick brown fox", a) for a in ("md5", "sha1", "sha256", "sha512")),
    *(hashed("empty " + a, "", a) for a in ("md5", "sha1", "sha256", "sha512")),
    hashed("composed", "caf\u00e9"),
    hashed("decomposed", "cafe\u0301"),
    hashed("astral and NUL", "\U0001f600\0", "md5"),
    hashed("huge", "abc" * 20000, "sha512"),
    {"name": "unknown algorithm", "args": {"text": "", "algorithm": "crc32"}, "error": "/algorithm"},
    {"name": "no text", "args": {}, "error": '"text"'},
])
