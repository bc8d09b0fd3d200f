import { deepEqual, deepStrictEqual } from "node:assert";
import { exact, write } from "./cases.mjs";

const holds = (compare, ...args) => {
	try {
		compare(...args);
		return true;
	} catch {
		return false;
	}
};
const passed = p => ({ has: { passed: p } });

const pairs = [
	["equal numbers", 1, 1],
	["a number and its text", 1, "1"],
	["a number and another text", 1, "1x"],
	["a number and true", 1, true],
	["zero and false", 0, false],
	["zero and an empty text", 0, ""],
	["zero and blanks", 0, " \n\t\u00a0\ufeff"],
	["a next line is no blank", 0, "\u0085"],
	["zero and null", 0, null],
	["false and null", false, null],
	["null and null", null, null],
	["an empty text and null", "", null],
	["hexadecimal", 255, "0xff"],
	["octal and binary", 8, "0o10"],
	["a signed hexadecimal is not a number", -255, "-0xff"],
	["no separators in numbers", 1000, "1_000"],
	["leading zeros", 7, "007"],
	["a point at the end", 5, "5."],
	["a point at the front", 0.5, ".5"],
	["a plus", 5, "+5e0"],
	["a point alone", 0, "."],
	["an exponent alone", 0, "e5"],
	["the text NaN", 0, "NaN"],
	["two texts NaN", "NaN", "NaN"],
	["the text Infinity", 1e308, "Infinity"],
	["texts with a different look", "1", "1.0"],
	["objects in another order", { a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 }],
	["members that are equal loosely", { a: [1, "2"] }, { a: ["1", 2] }],
	["a missing member", { a: 1 }, { a: 1, b: null }],
	["one more item", [1, 2, 3], [1, 2]],
	["items in another order", [1, 2], [2, 1]],
	["two empty arrays", [], []],
	["an array and an object", [], {}],
	["composed and decomposed", "é", "e\u0301"],
	["beyond the basic plane", "😀", "\ud83d\ude00"],
	["another emoji", "😀", "😁"],
	["fractions", 0.1 + 0.2, 0.3],
];
// Between a primitive and an object, deepEqual is stricter than ==.
const isComposite = v => v !== null && typeof v === "object";
const loosely = (a, b) => (isComposite(a) && isComposite(b) ? holds(deepEqual, a, b) : a == b);
const mixed = [
	["an array and its text", [1, 2], "1,2"],
	["an array of one and a number", [5], 5],
	["an empty array and zero", [], 0],
	["an array of null and an empty text", [null], ""],
	["nested arrays", [1, [2, [true]]], "1,2,true"],
	["an array with a fraction", [0.5, 1e21], "0.5,1e+21"],
	["an object and its text", { a: 1 }, "[object Object]"],
	["an object and a number", { a: 1 }, 1],
	["an array and null", [], null],
];
const equals = [];
for (const [name, actual, expected] of [...pairs, ...mixed]) {
	equals.push([name, { actual, expected }, passed(holds(deepStrictEqual, actual, expected))]);
	equals.push([name + ", not strictly", { actual, expected, strict: false }, passed(loosely(actual, expected))]);
	equals.push([name + ", reversed", { actual: expected, expected: actual, strict: false }, passed(loosely(actual, expected))]);
}
const big = 9007199254740993n, near = 9007199254740992n;
equals.push(
	["integers beyond 2^53", { actual: exact(big), expected: exact(near) }, passed(big === near)],
	["integers beyond 2^53, not strictly", { actual: exact(big), expected: `${near}`, strict: false }, passed(big === near)],
	["equal integers beyond 2^53", { actual: exact(big), expected: `${big}`, strict: false }, passed(true)],
	["ways to write a number", { actual: exact("1.0"), expected: exact("10e-1") }, passed(1.0 === 10e-1)],
	["zeros", { actual: exact("-0"), expected: 0 }, passed(-0 === 0)],
	["the place and the message", { actual: { a: [{ "b/c": 1 }] }, expected: { a: [{ "b/c": 2 }] }, message: "total" }, { want: { passed: false, path: "/a/0/b~1c", message: "total: at /a/0/b~1c is 1, expected 2" } }],
	["what is missing", { actual: {}, expected: { a: 1 } }, { want: { passed: false, path: "/a", message: "at /a is missing" } }],
	["what is too much", { actual: { "<b>": 1 }, expected: {} }, { want: { passed: false, path: "/<b>", message: "at /<b> is not expected" } }],
	["the message of equal values", { actual: 1, expected: 1 }, { want: { passed: true, message: "the values are equal" } }],
	["no expected value", { actual: 1 }, { error: "expected" }],
	["strict must be a boolean", { actual: 1, expected: 1, strict: "no" }, { error: "strict" }],
	["an unknown argument", { actual: 1, expected: 1, sctrict: false }, { error: "sctrict" }],
);
write("assert_equals", equals);

const contains = (text, substring, caseSensitive) =>
	caseSensitive ? text.includes(substring) : text.toLowerCase().includes(substring.toLowerCase());
write("assert_contains", [
	...[
		["in the middle", "Hello World", "lo Wo"],
		["another case", "Hello World", "WORLD"],
		["nothing", "abc", ""],
		["nothing in nothing", "", ""],
		["something in nothing", "", "a"],
		["not at all", "abc", "abd"],
		["umlauts", "GRÖSSE", "größe".slice(0, 3)],
		["Cyrillic", "ПРИВЕТ", "ривет"],
		["beyond the basic plane", "a😀b", "😀"],
		["letters beyond the basic plane", "𐐀𐐁", "𐐨𐐩"],
		["composed and decomposed", "caf\u00e9", "e\u0301"],
		["a long text", "ab".repeat(10000) + "X", "bx"],
	].flatMap(([name, text, substring]) => [
		[name, { text, substring }, passed(contains(text, substring, false))],
		[name + ", with case", { text, substring, caseSensitive: true }, passed(contains(text, substring, true))],
	]),
	["final sigma", { text: "ΟΔΟΣ", substring: "οδος" }, passed(contains("ΟΔΟΣ", "οδος", false))],
	["the message", { text: "<a>", substring: "b", message: "page" }, { want: { passed: false, message: "page: \"<a>\" does not contain \"b\"" } }],
	["no substring", { text: "a" }, { error: "substring" }],
	["a text must be a string", { text: 1, substring: "a" }, { error: "text" }],
]);

write("assert_truthy", [
	...[true, false, 0, 1, -1, 0.5, "", " ", "0", "false", "NaN", null, [], {}, [0], "😀", Number.MIN_VALUE].map(value => [
		`value ${JSON.stringify(value)}`, { value }, passed(!!value)]),
	["negative zero", { value: exact("-0.0") }, passed(!!-0)],
	["zero with an exponent", { value: exact("0e10") }, passed(!!0e10)],
	["an integer beyond 2^53", { value: exact(big) }, passed(!!big)],
	["the message", { value: null, message: "user" }, { want: { passed: false, message: "user: null is not truthy" } }],
	["no value", {}, { error: "value" }],
]);

const typeOf = v => (v === null ? "null" : Array.isArray(v) ? "array" : typeof v);
const values = [null, true, 0, 1.5, "", "NaN", [], [1], {}, { a: 1 }];
const types = ["string", "number", "boolean", "object", "array", "null", "undefined", "function"];
write("assert_type", [
	...values.flatMap(value => types.map(expectedType => [
		`value ${JSON.stringify(value)} as ${expectedType}`, { value, expectedType },
		{ has: { passed: typeOf(value) === expectedType, actualType: typeOf(value) } }])),
	["an integer beyond 2^53", { value: exact(big), expectedType: "number" }, passed(true)],
	["the message", { value: [], expectedType: "object", message: "reply" }, { want: { passed: false, actualType: "array", message: "reply: the type is array, expected object" } }],
	["an unknown type", { value: 1, expectedType: "integer" }, { error: "expectedType" }],
	["no value", { expectedType: "null" }, { error: "value" }],
]);

write("assert_range", [
	...[[5, 1, 10], [1, 1, 10], [10, 1, 10], [0, 1, 10], [10.0001, 1, 10], [-5, -10, -1], [0, 0, 0], [1e308, 0, 1e308], [0.3, 0.1, 0.3]].map(([value, min, max]) => [
		`${value} from ${min} to ${max}`, { value, min, max }, passed(value >= min && value <= max)]),
	["beyond 2^53", { value: exact(big), min: 0, max: exact(near) }, passed(big <= near)],
	["beyond 2^53, within", { value: exact(big), min: exact(near), max: exact(big) }, passed(big >= near)],
	["beyond what a computer counts", { value: exact("123456789012345678901234567890"), min: exact("123456789012345678901234567889"), max: exact("123456789012345678901234567891") }, passed(true)],
	["the message", { value: 11, min: 1, max: 10, message: "latency" }, { want: { passed: false, message: "latency: 11 is greater than 10" } }],
	["min above max", { value: 5, min: 10, max: 1 }, { error: "min must not be greater than max" }],
	["the text NaN", { value: "NaN", min: 0, max: 1 }, { error: "value" }],
	["the text Infinity", { value: 1, min: 0, max: "Infinity" }, { error: "max" }],
	["no bound", { value: 1, min: 0 }, { error: "max" }],
]);
