// Writes the test cases of url_parse, http_status_info, hello_world, wait_ms, random_choice,
// timestamp_now and env_info.
import { STATUS_CODES } from "node:http";
import { exact, write } from "./cases.mjs";

const url = (name, text) => {
	if (!URL.canParse(text)) return [name, { url: text }, { error: "url: " }];
	const u = new URL(text);
	const params = { __proto__: null };
	for (const [k, v] of u.searchParams) (params[k] ??= []).push(v);
	const { href, origin, protocol, username, password, host, hostname, port, pathname, search, hash } = u;
	return [name, { url: text }, { want: { href, origin, protocol, username, password, host, hostname, port, pathname, search, hash, params } }];
};

write("url_parse", [
	url("all parts", "https://user:p%40ss@example.com:8443/a/b.html?x=1&y=2#top"),
	url("host alone", "http://example.com"),
	url("port of the protocol", "https://example.com:443/"),
	url("port of another protocol", "http://example.com:443/"),
	url("capital letters", "HTTPS://EXAMPLE.com/Path"),
	url("dots in the path", "http://example.com/a/./b/../../c/%2e%2E/d"),
	url("backslashes", "http:\\\\example.com\\a"),
	url("blanks and line ends", "  http://exam\nple.com/a\tb "),
	url("international host", "https://www.größe.de/ü?ö=ä#ß"),
	url("emoji host", "https://👍.ws/😀"),
	url("dots that look alike", "http://example。com/"),
	url("IPv6", "http://[2001:DB8:0:0:0:0:0:1]:3000/"),
	url("IPv4 in other notations", "http://0x7f.0.1/"),
	url("IPv4 out of range", "http://256.0.0.1/"),
	url("several values", "http://e.com/?a=1&b=2&a=3&a="),
	url("encoded values", "http://e.com/?q=a+b%20c%26d&%C3%A9=%F0%9F%98%80&bad=%zz&half=%ff"),
	url("odd values", "http://e.com/?&&a&=b&c==d"),
	url("empty query and fragment", "http://e.com/?#"),
	url("question mark in the fragment", "http://e.com/#a?b=c"),
	url("only a user", "ftp://user@host/file;type=a"),
	url("empty password", "http://user:@host/"),
	url("special characters in user and password", "http://us er:p@ss:w/rd@host/"),
	url("at signs in the password", "http://u:p@ss@host/"),
	url("mail", "mailto:a@example.com?subject=Hi%20there"),
	url("data", "data:text/plain;base64,SGk="),
	url("file", "file:///C:/Users/../a.txt"),
	url("file on a host", "file://server/share"),
	url("web socket", "wss://e.com/socket"),
	url("blob", "blob:https://e.com/8b5d7a0e"),
	url("blob of something else", "blob:ftp://e.com/8b5d7a0e"),
	url("other scheme", "postgres://u:p@db:5432/name?sslmode=require"),
	url("script", "javascript:alert('1')"),
	url("name __proto__", "http://e.com/?__proto__=1&toString=2"),
	url("trailing dot", "http://e.com./"),
	url("relative", "/a/b"),
	url("no scheme", "example.com/a"),
	url("no scheme but two slashes", "//example.com"),
	url("nothing", ""),
	url("no host", "http://"),
	url("port out of range", "http://e.com:65536/"),
	url("port is no number", "http://e.com:8o80/"),
	url("space in the host", "http://a b.com/"),
	url("forbidden host", "http://a<b>.com/"),
	url("broken Punycode", "http://xn--a/"),
	url("broken IPv6", "http://[::1/"),
	url("huge", "http://e.com/" + "a/".repeat(2000) + "?" + "x=1&".repeat(500)),
	["no text", { url: 1 }, { error: "/url" }],
]);

// Of these codes the names changed with RFC 9110, or they are not final.
const renamed = new Set(["413", "422", "509"]);
const category = ["informational", "success", "redirection", "client error", "server error"];
const status = (code, has) => [`${code}`, { code }, { has: { code, category: category[Math.floor(code / 100) - 1], isError: code >= 400, ...has } }];

write("http_status_info", [
	...Object.entries(STATUS_CODES).filter(([code]) => !renamed.has(code)).map(([code, name]) => status(+code, { known: true, name: name === "I'm a Teapot" ? "I'm a teapot" : name })),
	status(413, { known: true, name: "Content Too Large" }),
	status(422, { known: true, name: "Unprocessable Content" }),
	...[199, 299, 306, 399, 419, 499, 509, 599].map((code) => status(code, { known: false })),
	...[408, 425, 429, 500, 502, 503, 504].map((code) => [`retry ${code}`, { code }, { has: { retryable: true } }]),
	...[200, 301, 400, 404, 409, 501, 505].map((code) => [`no retry ${code}`, { code }, { has: { retryable: false } }]),
	["too small", { code: 99 }, { error: "/code" }],
	["too large", { code: 600 }, { error: "/code" }],
	["fraction", { code: 200.5 }, { error: "/code" }],
	["text", { code: "404" }, { error: "/code" }],
	["no code", {}, { error: '"code"' }],
]);

const greets = (name, args, greeting) => [name, args, { want: { greeting } }];
write("hello_world", [
	greets("default", {}, "Hello, World!"),
	greets("name", { name: "Ann" }, "Hello, Ann!"),
	greets("excited", { name: "Ann", excited: true }, "Hello, Ann!!!"),
	greets("not excited", { excited: false }, "Hello, World!"),
	greets("Unicode", { name: "Zoë 😀 e\u0301 <&>" }, "Hello, Zoë 😀 e\u0301 <&>!"),
	greets("no name", { name: "" }, "Hello, !"),
	["no text", { name: null }, { error: "/name" }],
	["no boolean", { excited: "yes" }, { error: "/excited" }],
]);

write("wait_ms", [
	["not at all", { ms: 0 }, { want: { waited: 0 } }],
	["short", { ms: 2 }, { want: { waited: 2 } }],
	["fraction", { ms: 0.5 }, { want: { waited: 0.5 } }],
	["too long", { ms: 30001 }, { error: "/ms" }],
	["negative", { ms: -1 }, { error: "/ms" }],
	["no number", { ms: "10" }, { error: "/ms" }],
	["no time", {}, { error: '"ms"' }],
]);

write("random_choice", [
	["one", { items: ["a", "b", "c"] }, {}],
	["several", { items: [1, 2, 3, 4, 5], count: 3 }, {}],
	["all", { items: [1, 2, 3, 4, 5], count: 5 }, {}],
	["none", { items: [1], count: 0 }, { want: { result: [] } }],
	["equal items at different positions", { items: [7, 7, 7], count: 3 }, { want: { result: [7, 7, 7] } }],
	["some again", { items: [1, 2], count: 50, unique: false }, {}],
	["all kinds", { items: [null, "😀", exact("9007199254740993"), { a: [1] }, true], count: 5 }, {}],
	["more than there are", { items: [1, 2], count: 3 }, { error: "count: 3 are more than the 2 items" }],
	["too much", { items: ["x".repeat(2000)], count: 100000, unique: false }, { error: "count: the result would be larger" }],
	["from nothing", { items: [] }, { error: "items: " }],
	["negative", { items: [1], count: -1 }, { error: "/count" }],
	["no list", { items: "abc" }, { error: "/items" }],
]);

write("timestamp_now", [
	["default", {}, {}],
	["all", { format: "all" }, {}],
	["iso", { format: "iso" }, {}],
	["unix", { format: "unix" }, {}],
	["human", { format: "human" }, {}],
	["unknown", { format: "stardate" }, { error: "/format" }],
]);

write("env_info", [
	["nothing", {}, {}],
	["null", null, {}],
	["an argument", { verbose: true }, { error: "verbose" }],
	["another argument", { "": 1 }, { error: '""' }],
	["a list", [], { error: "fit" }],
]);
