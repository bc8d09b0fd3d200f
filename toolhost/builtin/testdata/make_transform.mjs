// Writes the test cases of base64_encode, json_format, object_diff and array_operations.
import { exact, write } from "./cases.mjs";

const big = exact("9007199254740993");

const encode = (name, text) => [name, { text }, { want: { result: Buffer.from(text).toString("base64") } }];
const decode = (name, text, outcome) => [name, { text, action: "decode" }, outcome ?? { want: { result: Buffer.from(text, "base64").toString() } }];
const refused = (name, text) => decode(name, text, { error: "text: it is no base64" });

write("base64_encode", [
	encode("empty", ""),
	encode("no padding", "abc"),
	encode("one padding", "ab"),
	encode("two paddings", "a"),
	encode("Unicode", "Grüße 😀 e\u0301\0"),
	encode("plus and slash", "ûûû>>>???"),
	encode("huge", "ab😀".repeat(5000)),
	decode("text", "aGVsbG8="),
	decode("of nothing", ""),
	decode("decoded Unicode", Buffer.from("Grüße 😀").toString("base64")),
	decode("URL alphabet", Buffer.from("ûûû>>>???").toString("base64url")),
	decode("without padding", "YQ"),
	decode("in lines", "aGVs\r\nbG8=\n"),
	decode("bytes", "/wD+", { want: { hex: Buffer.from("/wD+", "base64").toString("hex") } }),
	decode("half a surrogate pair", "7aC9", { want: { hex: "eda0bd" } }),
	refused("foreign characters", "aGV!bG8="),
	refused("blanks inside", "aGVs bG8="),
	refused("too short", "a"),
	refused("too little padding", "YQ="),
	refused("too much padding", "YWI=="),
	refused("padding inside", "YQ==YQ=="),
	refused("bits behind the end", "YR=="),
	refused("both alphabets", "-_+/"),
	refused("letters that look alike", "аGVsbG8="),
	["unknown action", { text: "", action: "hash" }, { error: "/action" }],
	["no text", {}, { error: '"text"' }],
]);

const formatted = (name, json, indent) => [name, { json, ...(indent !== undefined && { indent }) }, { want: { valid: true, result: JSON.stringify(JSON.parse(json), null, indent ?? 2) } }];
const minified = (name, json) => [name, { json, action: "minify" }, { want: { valid: true, result: JSON.stringify(JSON.parse(json)) } }];

const accepts = (json) => {
	try {
		JSON.parse(json);
		return true;
	} catch {
		return false;
	}
};
const validated = (name, json, line, column) => [name, { json, action: "validate" }, accepts(json) ? { want: { valid: true } } : { has: { valid: false, line, column } }];

const nested = '{"a":[1,{"b":[],"c":{}},"x"],"d":null,"e":[[[]]]}';
write("json_format", [
	formatted("nested", nested),
	formatted("four spaces", nested, 4),
	formatted("no indent", nested, 0),
	formatted("blanks around", " \n\t[ 1 ,\r\n2 ] \n"),
	formatted("a value", "true"),
	formatted("Unicode", '{"größe":"😀","e\u0301":"\u2028"}'),
	formatted("not escaped", '"<a href=\\"x\\">&</a>"'),
	minified("minify", JSON.stringify(JSON.parse(nested), null, 7)),
	minified("huge", JSON.stringify(Array.from({ length: 5000 }, (_, i) => ({ i })), null, 1)),
	["digits, names and escapes stay", { json: '{"b":9007199254740993,"a":1.0,"a":1e2,"c":"\\u00e9\\ud800\\/"}', indent: 1 }, { want: { valid: true, result: '{\n "b": 9007199254740993,\n "a": 1.0,\n "a": 1e2,\n "c": "\\u00e9\\ud800\\/"\n}' } }],
	["minify digits", { json: "[ 1e999 , -0 ]", action: "minify" }, { want: { valid: true, result: "[1e999,-0]" } }],
	validated("valid", nested),
	validated("valid number", "-0.5e+10"),
	validated("valid twice", '{"a":1,"a":2}'),
	validated("valid half a pair", '"\\ud800"'),
	validated("empty", "", 1, 1),
	validated("cut off", '{"a":', 1, 6),
	validated("trailing comma", "[1,]", 1, 4),
	validated("second value", "1 2", 1, 3),
	validated("NaN", "[NaN]", 1, 2),
	validated("Infinity", "[\n 1,\n Infinity]", 3, 2),
	validated("single quotes", "{'a':1}", 1, 2),
	validated("comment", "[1, // one\n2]", 1, 5),
	validated("leading zero", "[01]", 1, 3),
	validated("control character", '"a\tb"', 1, 3),
	validated("column behind Unicode", '["😀e\u0301", é]', 1, 9),
	validated("unknown escape", '["\\x"]', 1, 3),
	validated("no-break space", "[1,\u00a02]", 1, 4),
	["format what is invalid", { json: "[1\n,}" }, { error: "json: line 2, column 2" }],
	["too deep", { json: "[".repeat(20000), action: "minify" }, { error: "json: " }],
	["too much indent", { json: "[".repeat(5000) + "]".repeat(5000) }, { error: "json: the result would be larger" }],
	["indent out of range", { json: "1", indent: 11 }, { error: "/indent" }],
	["no text", { json: { a: 1 } }, { error: "/json" }],
]);

const differs = (name, expected, actual, ...diffs) => [name, { expected, actual }, { want: { identical: diffs.length === 0, count: diffs.length, diffs } }];
const shallow = (name, expected, actual, ...diffs) => [name, { expected, actual, deep: false }, { want: { identical: diffs.length === 0, count: diffs.length, diffs } }];
const changed = (path, expected, actual) => ({ path, type: "changed", expected, actual });
const added = (path, actual) => ({ path, type: "added", actual });
const removed = (path, expected) => ({ path, type: "removed", expected });

write("object_diff", [
	differs("empty", {}, {}),
	differs("identical", JSON.parse(nested), JSON.parse(nested)),
	differs("order of members", { a: 1, b: 2 }, { b: 2, a: 1 }),
	differs("all kinds", { a: 1, b: 2 }, { b: 3, c: 4 }, removed("a", 1), changed("b", 2, 3), added("c", 4)),
	differs("nested", { user: { name: "Ann", tags: ["a", "b"] } }, { user: { name: "Bob", tags: ["a"] } }, changed("user.name", "Ann", "Bob"), removed("user.tags[1]", "b")),
	differs("in arrays", { a: [[1, 2], [3]] }, { a: [[1, 9], [3, 4]] }, changed("a[0][1]", 2, 9), added("a[1][1]", 4)),
	differs("null and nothing", { a: null }, { b: null }, removed("a", null), added("b", null)),
	differs("null and values", { a: null, b: false, c: 0, d: "" }, { a: false, b: 0, c: "", d: null }, changed("a", null, false), changed("b", false, 0), changed("c", 0, ""), changed("d", "", null)),
	differs("types", { a: [], b: {}, c: "1" }, { a: {}, b: [], c: 1 }, changed("a", [], {}), changed("b", {}, []), changed("c", "1", 1)),
	differs("big integers", { a: big, b: big }, { a: exact("9007199254740992"), b: big }, changed("a", big, exact("9007199254740992"))),
	differs("small differences", { a: exact("0.1") }, { a: exact("0.1000000000000000000001") }, changed("a", exact("0.1"), exact("0.1000000000000000000001"))),
	differs("the same number", { a: exact("1.0"), b: exact("1e2"), c: exact("-0") }, { a: 1, b: 100, c: 0 }),
	differs("names", { "a.b": 1, "": 1, "x y": { "0": 1, "😀": 1, größe: 1, 'q"': 1 } }, {}, removed('[""]', 1), removed('["a.b"]', 1), removed('["x y"]', { "0": 1, "😀": 1, größe: 1, 'q"': 1 })),
	differs("names within", { a: { "0": 1, "b c": 1, größe: 1 } }, { a: { "0": 2, "b c": 2, größe: 2 } }, changed('a["0"]', 1, 2), changed('a["b c"]', 1, 2), changed("a.größe", 1, 2)),
	differs("Unicode", { a: "café" }, { a: "cafe\u0301" }, changed("a", "café", "cafe\u0301")),
	shallow("shallow and identical", { a: { b: [1] } }, { a: { b: [exact("1.0")] } }),
	shallow("shallow", { a: { b: 1 }, c: 1 }, { a: { b: 2 }, c: 1 }, changed("a", { b: 1 }, { b: 2 })),
	["huge", { expected: { a: Array(1500).fill(0) }, actual: { a: Array(1500).fill(1) } }, { has: { identical: false, count: 1500 } }],
	["no object", { expected: [], actual: {} }, { error: "/expected" }],
	["missing", { expected: {} }, { error: '"actual"' }],
]);

const operation = (name, args, result) => [name, args, { want: { result, length: result.length } }];
const numbers = (a, b) => a - b;
const mixed = [3, "10", 1, "9", 3, exact("3.0"), null, true, null, { a: 1, b: [2] }, { b: [exact("2.0")], a: 1 }, [1], [1]];

write("array_operations", [
	operation("unique", { operation: "unique", array: mixed }, [3, "10", 1, "9", null, true, { a: 1, b: [2] }, [1]]),
	operation("unique texts", { operation: "unique", array: ["café", "cafe\u0301", "café", "😀", "😀"] }, [...new Set(["café", "cafe\u0301", "café", "😀", "😀"])]),
	operation("unique of nothing", { operation: "unique", array: [] }, []),
	operation("unique big integers", { operation: "unique", array: [big, exact("9007199254740992"), big] }, [big, exact("9007199254740992")]),
	operation("values of other types", { operation: "unique", array: [1, "1", true, "true", null, "null", [], "[]"] }, [1, "1", true, "true", null, "null", [], "[]"]),
	operation("flatten", { operation: "flatten", array: [1, [2, [3, [[4]]]], [], {}] }, [1, [2, [3, [[4]]]], [], {}].flat(Infinity)),
	operation("chunk by default", { operation: "chunk", array: [1, 2, 3, 4, 5] }, [[1, 2], [3, 4], [5]]),
	operation("chunk", { operation: "chunk", array: [1, 2, 3, 4], chunkSize: 3 }, [[1, 2, 3], [4]]),
	operation("chunk of more", { operation: "chunk", array: [1], chunkSize: 1000000 }, [[1]]),
	operation("chunk of nothing", { operation: "chunk", array: [] }, []),
	operation("intersection", { operation: "intersection", array: [1, 2, 2, 3, { a: 1 }], array2: [{ a: exact("1.0") }, 2, 3, 4] }, [2, 3, { a: 1 }]),
	operation("difference", { operation: "difference", array: [1, 1, 2, [3]], array2: [2, [3]] }, [1, 1]),
	operation("difference to nothing", { operation: "difference", array: [1, 2], array2: [] }, [1, 2]),
	operation("difference of big integers", { operation: "difference", array: [big], array2: [exact("9007199254740992")] }, [big]),
	operation("union", { operation: "union", array: [3, 1, 3], array2: [2, 1] }, [...new Set([3, 1, 3, 2, 1])]),
	operation("reverse", { operation: "reverse", array: [1, "b", null] }, [null, "b", 1]),
	operation("sort numbers", { operation: "sort", array: [10, 9, 1, -5, 100, 0.5, 1e21, -0.1] }, [10, 9, 1, -5, 100, 0.5, 1e21, -0.1].sort(numbers)),
	operation("sort big integers", { operation: "sort", array: [big, exact("9007199254740994"), exact("-9007199254740993"), exact("9007199254740992")] }, [exact("-9007199254740993"), exact("9007199254740992"), big, exact("9007199254740994")]),
	operation("sort texts", { operation: "sort", array: ["b", "B", "a", "10", "9", "é", "e\u0301", "z", "ab", ""] }, ["b", "B", "a", "10", "9", "é", "e\u0301", "z", "ab", ""].sort()),
	operation("sort texts by code point", { operation: "sort", array: ["😀", "\uff5e"] }, ["\uff5e", "😀"]),
	operation("sort mixed", { operation: "sort", array: [{}, "a", 2, [2], true, null, [1], false, 1] }, [null, false, true, 1, 2, "a", [1], [2], {}]),
	operation("sort huge", { operation: "sort", array: Array.from({ length: 3000 }, (_, i) => (i * 7919) % 3001) }, Array.from({ length: 3000 }, (_, i) => (i * 7919) % 3001).sort(numbers)),
	operation("shuffle one", { operation: "shuffle", array: ["a"] }, ["a"]),
	["shuffle", { operation: "shuffle", array: [1, 2, 3, 4, 5] }, { has: { length: 5 } }],
	["no second array", { operation: "union", array: [] }, { error: "array2: union needs a second array" }],
	["chunks of nothing", { operation: "chunk", array: [1], chunkSize: 0 }, { error: "/chunkSize" }],
	["unknown operation", { operation: "rotate", array: [] }, { error: "/operation" }],
	["no array", { operation: "sort", array: "abc" }, { error: "/array" }],
	["misspelt", { operation: "sort", array: [], arrray2: [] }, { error: "arrray2" }],
]);
