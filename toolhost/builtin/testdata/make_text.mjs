// Writes the test cases of regex_test and template_render.
import { exact, write } from "./cases.mjs";

// In results that go through Go, half a surrogate pair is U+FFFD.
const whole = (v) => JSON.parse(JSON.stringify(v), (_, x) => (typeof x === "string" ? x.toWellFormed() : x));

function regex(name, pattern, text, flags) {
	const regex = new RegExp(pattern, flags ?? "g");
	const all = regex.global ? [...text.matchAll(regex)] : [regex.exec(text)].filter((m) => m);
	const matches = all.slice(0, 1000).map((m) => ({
		match: m[0],
		index: m.index,
		groups: m.slice(1).map((g) => g ?? null),
		...(m.groups && { named: Object.fromEntries(Object.entries(m.groups).map(([k, v]) => [k, v ?? null])) }),
	}));
	return [name, { pattern, text, ...(flags !== undefined && { flags }) }, { want: whole({ hasMatch: all.length > 0, matchCount: all.length, matches }) }];
}

write("regex_test", [
	regex("all", "a.", "ab ac ad"),
	regex("none", "x", "abc"),
	regex("first only", "a.", "ab ac", ""),
	regex("none of first only", "x", "ab", ""),
	regex("empty pattern and text", "", ""),
	regex("between characters", "", "a😀", "gu"),
	regex("between units", "", "a😀"),
	regex("groups that take no part", "(a)|(b)", "ab"),
	regex("last repetition of a group", "(?:(a)|(b))*", "ab"),
	regex("named", "(?<year>\\d{4})-(?<month>\\d\\d)?", "2024-02 2025-"),
	regex("named __proto__", "(?<__proto__>b)", "abc"),
	regex("look-behind", "(?<=\\$)\\d+(?!\\d|%)", "$12 $34% 56"),
	regex("negative look-behind", "(?<!a)b", "ab cb b"),
	regex("back-reference", "(['\"])(.*?)\\1", "say 'a' or \"b'\""),
	regex("back-reference to a name", "(?<q>.)\\k<q>", "aabbc"),
	regex("back-reference forward", "\\1(a)", "aa"),
	regex("sticky", "a", "aaba", "gy"),
	regex("sticky, first only", "b", "ab", "y"),
	regex("lines", "^.$", "a\nb\r\nc\u2028d", "gm"),
	regex("dot and line ends", "a.b", "a\nb a\u2028b a\u0085b"),
	regex("dot and all", "a.b", "a\nb a\u2028b", "gs"),
	regex("white space", "\\s", "a\u00a0b\ufeffc\u180ed\u3000"),
	regex("digits are ASCII", "\\d+", "12 ١٢"),
	regex("word bounds are ASCII", "\\b\\w+\\b", "naïve é"),
	regex("case", "straSSe", "STRASSE straße", "gi"),
	regex("case of Unicode", "[k-s]+", "\u212a ſ K", "giu"),
	regex("case without Unicode", "[k-s]+", "\u212a ſ K", "gi"),
	regex("astral without u", "^.$", "😀"),
	regex("astral with u", "^.$", "😀", "gu"),
	regex("index behind astral", "b", "😀b😀b"),
	regex("combining", "e\u0301", "é e\u0301"),
	regex("properties", "\\p{Lu}\\p{Ll}+", "Éa Ωmega Жук 1", "gu"),
	regex("script", "\\p{Script=Greek}+", "abc αβγ", "gu"),
	regex("sets", "[\\p{L}--[a-z]]", "aÄbß", "gv"),
	regex("strings of a property", "^\\p{RGI_Emoji}$", "👩‍👩‍👧", "v"),
	regex("indices", "b", "ab", "gd"),
	regex("escapes of browsers", "\\c]\\_{", "\\c]_{"),
	regex("quantifier is text", "a{,2}x{", "a{,2}x{"),
	regex("NUL", "\0", "a\0b"),
	regex("huge", "(?:ab)+$", "ab".repeat(20000), ""),
	regex("more than are listed", "a", "a".repeat(1500)),
	["backtracking", { pattern: "^(?=a)(a+)+$", text: "a".repeat(40) + "b" }, { error: "pattern: matching did not end" }],
	["no regular expression", { pattern: "(", text: "" }, { error: "pattern: it is no regular expression" }],
	["no Unicode escape", { pattern: "\\-", text: "", flags: "u" }, { error: "pattern: it is no regular expression" }],
	["unknown flag", { pattern: "a", text: "", flags: "gx" }, { error: "flags:" }],
	["double flag", { pattern: "a", text: "", flags: "gg" }, { error: "flags:" }],
	["u and v", { pattern: "a", text: "", flags: "uv" }, { error: "flags:" }],
	["no pattern", { text: "" }, { error: '"pattern"' }],
]);

const value = (path, variables) => {
	if (Object.hasOwn(variables, path)) return variables[path];
	return path.split(".").reduce((at, step) => (typeof at === "object" && at !== null && Object.hasOwn(at, step) ? at[step] : undefined), variables);
};

function template(name, template, variables) {
	const missing = new Set();
	const result = template.replace(/\{\{\s*([^{}\s]|[^{}\s][^{}]*[^{}\s])\s*\}\}/g, (whole, path) => {
		const v = value(path, variables);
		if (v === undefined) missing.add(path);
		return v === undefined ? whole : typeof v === "string" ? v : JSON.stringify(v);
	});
	return [name, { template, variables }, { want: { result, missing: [...missing] } }];
}

write("template_render", [
	template("names", "Hello {{name}}, you are {{ age }}.", { name: "Ann", age: 30 }),
	template("no placeholder", "plain } { {{ }} {{}}", {}),
	template("empty", "", {}),
	template("missing", "{{a}} {{b}} {{a}} {{c}}", { c: 1 }),
	template("patterns of replacement", "{{a}}{{b}}{{c}}", { a: "$& $1 $$", b: "\\1 \\0", c: "$<x>" }),
	template("values go in once", "{{a}} {{b}}", { a: "{{b}}", b: "{{a}}" }),
	template("values make no placeholder", "{{a}}b}}", { a: "{{", b: "wrong" }),
	template("paths", "{{user.name}} {{user.tags.1}} {{user.tags.2}} {{user.tags}}", { user: { name: "Ann", tags: ["a", "b"] } }),
	template("names with dots come first", "{{a.b}}", { "a.b": 1, a: { b: 2 } }),
	template("other values", "{{o}} {{l}} {{t}} {{f}} {{n}} {{z}} {{e}}", { o: { b: [1, "<&>"] }, l: [], t: true, f: false, n: null, z: 0, e: "" }),
	template("no member of prototypes", "{{constructor}} {{a.length}} {{__proto__}}", { a: "text" }),
	template("Unicode", "{{größe}} {{😀}} {{cafe\u0301}}", { größe: "ß", "😀": "👍", "cafe\u0301": "decomposed", café: "composed" }),
	template("three braces", "{{{a}}}", { a: "x" }),
	template("spaces in and around names", "{{\tfirst name\n}}", { "first name": "Ann" }),
	template("not closed", "{{a {{b}} {{c", { b: 1, c: 2 }),
	template("huge", "{{a}}".repeat(5000), { a: "ab" }),
	["digits of big numbers", { template: "{{n}}", variables: { n: exact("9007199254740993") } }, { want: { result: "9007199254740993", missing: [] } }],
	["too much", { template: "{{a}}".repeat(11000), variables: { a: "x".repeat(1000) } }, { error: "template: the result would be larger" }],
	["no object", { template: "", variables: [] }, { error: "/variables" }],
	["no variables", { template: "" }, { error: '"variables"' }],
]);
