import { write } from "./cases.mjs";

const results = {
	name: "Checkout 😀",
	tests: [
		{ name: "adds an item", status: "passed", duration: 125 },
		{ name: "pays", status: "failed", duration: 2000, error: "expected 200\ngot <500> & `gone`", screenshot: "/tmp/pay.png" },
		{ name: "zieht um | Straße\n2", status: "failed", duration: 0.5 },
		{ name: "refunds", status: "skipped" },
		{ name: "is empty", status: "passed", duration: 3000.25 },
		{ name: "adds an item", status: "passed", duration: 125 },
		{ name: "unknown keys", status: "passed", duration: 1, browser: "firefox" },
	],
};
const none = { tests: [] };
const duration = r => r.tests.reduce((sum, t) => sum + (t.duration ?? 0), 0);

function summary(r) {
	const count = s => r.tests.filter(t => t.status === s).length;
	return {
		name: r.name, status: count("failed") > 0 ? "failed" : "passed", total: r.tests.length,
		passed: count("passed"), failed: count("failed"), skipped: count("skipped"),
		passRate: r.tests.length ? 100 * count("passed") / r.tests.length : 0, totalDuration: duration(r),
	};
}
const rows = s => [["Status", s.status], ["Total", s.total], ["Passed", s.passed], ["Failed", s.failed], ["Skipped", s.skipped],
	["Pass rate", `${s.passRate.toFixed(1)} %`], ["Duration", `${(s.totalDuration / 1000).toFixed(2)} s`]];
const text = s => `${s.name ?? "Tests"}\n\n${rows(s).map(([k, v]) => `${k}:`.padEnd(10) + ` ${v}\n`).join("")}`;
const markdown = s => `# ${s.name ?? "Tests"}\n\n| | |\n|---|---|\n${rows(s).map(([k, v]) => `| ${k} | ${v} |\n`).join("")}`;

write("report_summary", [
	["text", { results }, { want: { output: text(summary(results)), summary: summary(results) } }],
	["markdown", { results, format: "markdown" }, { want: { output: markdown(summary(results)), summary: summary(results) } }],
	["JSON", { results, format: "json" }, { want: { output: JSON.stringify(summary(results), null, 2), summary: summary(results) } }],
	["nothing", { results: none }, { want: { output: text(summary(none)), summary: summary(none) } }],
	["all pass", { results: { tests: [results.tests[0]] } }, { has: { summary: { status: "passed", passRate: 100, totalDuration: 125 } } }],
	["a heading of two lines", { results: { name: "a\n# b", tests: [] }, format: "markdown" }, { want: { output: markdown({ ...summary(none), name: "a # b" }), summary: { ...summary(none), name: "a\n# b" } } }],
	["many tests", { results: { tests: Array.from({ length: 3000 }, () => ({ name: "x", status: "passed", duration: 0.1 })) } }, { has: { summary: { total: 3000, passed: 3000, totalDuration: 300 } } }],
	["an unknown status", { results: { tests: [{ name: "a", status: "ok" }] } }, { error: "status" }],
	["an unknown format", { results: none, format: "html" }, { error: "format" }],
	["a duration of text", { results: { tests: [{ name: "a", status: "passed", duration: "NaN" }] } }, { error: "duration" }],
	["no tests", { results: {} }, { error: "tests" }],
	["no results", {}, { error: "results" }],
]);

const failures = (r, screenshots) => r.tests.filter(t => t.status === "failed").map(t => screenshots ? t : { ...t, screenshot: undefined });
const fails = [
	"Checkout 😀: 2 of 7 failed\n",
	"\npays (2000 ms)\n  expected 200\n  got <500> & `gone`\n",
	"  Screenshot: /tmp/pay.png\n",
	"\nzieht um | Straße 2 (0.5 ms)\n  no error is known\n",
];
const failed = (output, screenshots) => ({ want: { output, failureCount: 2, failures: failures(results, screenshots) } });
write("report_failures", [
	["text", { results }, failed(fails[0] + fails[1] + fails[3], false)],
	["text with screenshots", { results, includeScreenshots: true }, failed(fails.join(""), true)],
	["markdown", { results, format: "markdown", includeScreenshots: true }, failed(
		"# Checkout 😀: 2 of 7 failed\n" +
		"\n## pays\n\nDuration: 2000 ms\n\n```\nexpected 200\ngot <500> & `gone`\n```\n\nScreenshot: /tmp/pay.png\n" +
		"\n## zieht um | Straße 2\n\nDuration: 0.5 ms\n\n```\nno error is known\n```\n", true)],
	["JSON", { results, format: "json" }, failed(JSON.stringify({ failureCount: 2, failures: failures(results, false).map(({ name, status, duration, error }) => ({ name, status, duration, error })) }, null, 2), false)],
	["a fence in the error", { results: { tests: [{ name: "a", status: "failed", error: "```\nx\n````" }] }, format: "markdown" }, { has: { output: "# Tests: 1 of 1 failed\n\n## a\n\nDuration: 0 ms\n\n`````\n```\nx\n````\n`````\n" } }],
	["none", { results: none }, { want: { output: "Tests: 0 of 0 failed\n", failureCount: 0, failures: [] } }],
	["no results", {}, { error: "results" }],
	["screenshots must be a boolean", { results: none, includeScreenshots: 1 }, { error: "includeScreenshots" }],
]);

// quantile interpolates as numpy does by default.
function quantile(numbers, q) {
	const sorted = numbers.toSorted((a, b) => a - b);
	const at = (sorted.length - 1) * q, below = Math.floor(at);
	return sorted[below] + (at - below) * ((sorted[below + 1] ?? sorted[below]) - sorted[below]);
}
function timing(r, n = 5, by = "duration") {
	const total = duration(r);
	const all = r.tests.filter(t => t.status !== "skipped").map(t => ({ name: t.name, status: t.status, duration: t.duration ?? 0, percent: 100 * (t.duration ?? 0) / total }));
	const slow = all.toSorted((a, b) => b.duration - a.duration);
	const order = { duration: () => 0, name: (a, b) => (a.name < b.name ? -1 : +(a.name > b.name)), status: (a, b) => (a.status < b.status ? -1 : +(a.status > b.status)) }[by];
	const durations = all.map(t => t.duration);
	return {
		has: {
			totalDuration: total, averageDuration: total / all.length, medianDuration: quantile(durations, 0.5), p95Duration: quantile(durations, 0.95),
			slowest: slow.slice(0, n).toSorted(order), fastest: slow.toReversed().slice(0, 3),
		},
	};
}
write("report_timing", [
	["defaults", { results }, timing(results)],
	["the three slowest", { results, showSlowest: 3 }, timing(results, 3)],
	["by name", { results, sortBy: "name" }, timing(results, 5, "name")],
	["by status", { results, sortBy: "status", showSlowest: 100 }, timing(results, 100, "status")],
	["none of the slowest", { results, showSlowest: 0 }, timing(results, 0)],
	["text", { results: { name: "S", tests: results.tests.slice(0, 2) }, showSlowest: 1 }, { has: { output: "S: 2 in 2.13 s\n\nAverage 1063 ms, median 1063 ms, 95 % at most 1906 ms\n\nSlowest:\n  1. pays: 2000 ms, 94.1 %, failed\n\nFastest:\n  1. adds an item: 125 ms, 5.9 %, passed\n  2. pays: 2000 ms, 94.1 %, failed\n" } }],
	["nothing", { results: none }, { want: { output: "Tests: 0 in 0.00 s\n\nAverage 0 ms, median 0 ms, 95 % at most 0 ms\n", totalDuration: 0, averageDuration: 0, medianDuration: 0, p95Duration: 0, slowest: [], fastest: [] } }],
	["no durations", { results: { tests: [{ name: "a", status: "skipped" }] } }, { has: { totalDuration: 0, slowest: [], fastest: [], output: "Tests: 0 (and 1 skipped) in 0.00 s\n\nAverage 0 ms, median 0 ms, 95 % at most 0 ms\n" } }],
	["a negative number of tests", { results, showSlowest: -1 }, { error: "showSlowest" }],
	["an unknown order", { results, sortBy: "size" }, { error: "sortBy" }],
	["no results", {}, { error: "results" }],
]);
