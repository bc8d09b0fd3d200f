import { write } from "./cases.mjs";

const run = letters => [...letters].map(l => ({ status: { p: "passed", f: "failed", s: "skipped" }[l] }));
const history = Object.entries({
	steady: "pppppppppp",
	broken: "ffffff",
	wavering: "pfpfpfpf",
	once: "ppppppppppppppppppppppppf",
	mended: "ffffffpppp",
	few: "pfpf",
	skipping: "pspspspspsf",
	idle: "",
}).map(([id, letters]) => ({ testId: id, testName: `Test ${id} 😀`, runs: run(letters) }));

const ended = h => h.runs.filter(r => r.status !== "skipped");
const failRate = runs => (runs.length === 0 ? 0 : runs.filter(r => r.status === "failed").length / runs.length);
const wavers = runs => 2 * Math.min(failRate(runs), 1 - failRate(runs));

function flaky(testHistory, threshold = 0.1, minRuns = 5) {
	const judged = testHistory.filter(h => ended(h).length >= minRuns);
	const flakyTests = judged.filter(h => wavers(ended(h)) > 0 && wavers(ended(h)) >= threshold).map(h => {
		const runs = ended(h);
		const failCount = runs.filter(r => r.status === "failed").length;
		return {
			testId: h.testId, testName: h.testName, flakinessScore: wavers(runs),
			passCount: runs.length - failCount, failCount, totalRuns: runs.length,
			flips: runs.filter((r, i) => i > 0 && r.status !== runs[i - 1].status).length,
		};
	});
	flakyTests.sort((a, b) => b.flakinessScore - a.flakinessScore);
	return {
		want: {
			totalTests: testHistory.length, stableTests: judged.length - flakyTests.length,
			tooFewRuns: testHistory.length - judged.length, flakyCount: flakyTests.length, flakyTests,
		},
	};
}
write("test_flaky_detect", [
	["defaults", { testHistory: history }, flaky(history)],
	["a high threshold", { testHistory: history, flakinessThreshold: 0.9 }, flaky(history, 0.9)],
	["a threshold of zero", { testHistory: history, flakinessThreshold: 0 }, flaky(history, 0)],
	["few runs", { testHistory: history, minRuns: 1 }, flaky(history, 0.1, 1)],
	["many runs", { testHistory: history, minRuns: 20 }, flaky(history, 0.1, 20)],
	["many runs and a low threshold", { testHistory: history, minRuns: 20, flakinessThreshold: 0.05 }, flaky(history, 0.05, 20)],
	["nothing", { testHistory: [] }, flaky([])],
	["a threshold above 1", { testHistory: [], flakinessThreshold: 10 }, { error: "flakinessThreshold" }],
	["an unknown status", { testHistory: [{ testId: "a", runs: [{ status: "ok" }] }] }, { error: "status" }],
	["no runs", { testHistory: [{ testId: "a" }] }, { error: "runs" }],
	["no history", {}, { error: "testHistory" }],
]);

const timed = [
	...history,
	{ testId: "fast", runs: [{ status: "passed", duration: 30 }, { status: "failed", duration: 90 }] },
	{ testId: "slow", runs: [{ status: "failed", duration: 90000 }] },
	{ testId: "half", runs: [{ status: "failed", duration: 6000 }, { status: "failed" }, { status: "skipped", duration: 1 }] },
];
function prioritized(testHistory, weights = {}) {
	const w = { failureRate: 0.4, recentFailures: 0.3, executionTime: 0.1, stability: 0.2, ...weights };
	const rows = testHistory.map(h => {
		const runs = ended(h);
		const durations = runs.map(r => r.duration).filter(d => d !== undefined);
		const average = durations.reduce((a, b) => a + b, 0) / durations.length;
		const factors = {
			failureRate: failRate(runs),
			recentFailures: failRate(runs.slice(-5)),
			executionTime: durations.length === 0 ? 0.5 : Math.max(0, 1 - average / 60000),
			stability: 1 - wavers(runs),
		};
		const priorityScore = w.failureRate * factors.failureRate + w.recentFailures * factors.recentFailures +
			w.executionTime * factors.executionTime + w.stability * (1 - factors.stability);
		const row = { testId: h.testId, testName: h.testName, factors, priorityScore };
		row.recommendation = priorityScore > 0.7 ? "run first: likely to fail" : priorityScore > 0.5 ? "run early: may fail" : priorityScore < 0.2 ? "may wait: stable" : "run as usual";
		return row;
	});
	rows.sort((a, b) => b.priorityScore - a.priorityScore);
	return { want: { prioritized: rows } };
}
write("test_prioritize", [
	["defaults", { testHistory: timed }, prioritized(timed)],
	["one weight", { testHistory: timed, weights: { executionTime: 5 } }, prioritized(timed, { executionTime: 5 })],
	["a weight of zero", { testHistory: timed, weights: { failureRate: 0, recentFailures: 0 } }, prioritized(timed, { failureRate: 0, recentFailures: 0 })],
	["stability alone", { testHistory: timed, weights: { failureRate: 0, recentFailures: 0, executionTime: 0, stability: 1 } }, prioritized(timed, { failureRate: 0, recentFailures: 0, executionTime: 0, stability: 1 })],
	["nothing", { testHistory: [] }, prioritized([])],
	["a negative weight", { testHistory: [], weights: { stability: -1 } }, { error: "stability" }],
	["a weight of text", { testHistory: [], weights: { stability: "NaN" } }, { error: "stability" }],
	["a negative duration", { testHistory: [{ testId: "a", runs: [{ status: "passed", duration: -1 }] }] }, { error: "duration" }],
	["no history", {}, { error: "testHistory" }],
]);

const click = selector => ({ action: "click", selector });
const tests = [
	{ id: "1", name: "Log in", steps: [{ action: "goto", url: "/login" }, { action: "fill", selector: "#user", value: "zoë" }, { action: "fill", selector: "#password", value: "😀" }, click("#submit")] },
	{ id: "2", name: "Log in again", steps: [{ action: "goto", url: "/login" }, { action: "fill", selector: "#user", value: "zoë" }, { action: "fill", selector: "#password", value: "😀" }, click("#submit")] },
	{ id: "3", name: "Log in as another", steps: [{ action: "goto", url: "/login" }, { action: "fill", selector: "#user", value: "ann" }, { action: "fill", selector: "#password", value: "😀" }, click("#submit")] },
	{ id: "4", name: "Elsewhere", steps: [{ action: "goto", url: "/shop" }, { action: "fill", selector: "#user", value: "zoë" }, { action: "fill", selector: "#password", value: "😀" }, click("#submit")] },
	{ id: "5", name: "Twice", steps: [click("#a"), click("#a"), click("#b")] },
	{ id: "5", name: "The same id", steps: [click("#b"), click("#a")] },
	{ id: "6", name: "Colons", steps: [{ action: "a:b", selector: "c" }] },
	{ id: "7", name: "Other colons", steps: [{ action: "a", selector: "b:c" }] },
	{ id: "8", name: "Number", steps: [{ action: "fill", value: 1 }] },
	{ id: "9", name: "Text", steps: [{ action: "fill", value: "1" }] },
	{ id: "10", name: "Nothing", steps: [] },
	{ id: "11", name: "Nothing either" },
];
function pairs(all, threshold = 0.8) {
	const sets = all.map(t => new Set((t.steps ?? []).map(s => JSON.stringify([s.action, s.selector ?? "", s.url ?? "", s.value ?? null]))));
	const duplicates = [], later = new Set();
	for (let j = 0; j < all.length; j++) {
		for (let i = 0; i < j; i++) {
			const both = [...sets[i]].filter(s => sets[j].has(s)).length;
			const union = new Set([...sets[i], ...sets[j]]).size;
			const similarityScore = union === 0 ? 0 : both / union;
			if (similarityScore === 0 || similarityScore < threshold) continue;
			later.add(j);
			duplicates.push({
				testId1: all[i].id, testName1: all[i].name, testId2: all[j].id, testName2: all[j].name, similarityScore,
				recommendation: similarityScore > 0.95 ? "remove one" : similarityScore > 0.85 ? "merge them" : "compare them",
			});
		}
	}
	duplicates.sort((a, b) => b.similarityScore - a.similarityScore);
	return { want: { totalTests: all.length, uniqueTests: all.length - later.size, pairCount: duplicates.length, duplicates } };
}
write("test_deduplicate", [
	["defaults", { tests }, pairs(tests)],
	["a lower threshold", { tests, similarityThreshold: 0.6 }, pairs(tests, 0.6)],
	["equal ones only", { tests, similarityThreshold: 1 }, pairs(tests, 1)],
	["a threshold of zero", { tests, similarityThreshold: 0 }, pairs(tests, 0)],
	["nothing", { tests: [] }, pairs([])],
	["many steps", { tests: [9, 10].map(n => ({ id: `${n}`, name: "Long", steps: Array.from({ length: n * 10 }, (_, i) => click(`#${i}`)) })) },
		pairs([9, 10].map(n => ({ id: `${n}`, name: "Long", steps: Array.from({ length: n * 10 }, (_, i) => click(`#${i}`)) })))],
	["a threshold above 1", { tests, similarityThreshold: 80 }, { error: "similarityThreshold" }],
	["a step without action", { tests: [{ id: "1", steps: [{ selector: "a" }] }] }, { error: "action" }],
	["no tests", {}, { error: "tests" }],
]);

const all = ["authentication", "forms", "navigation", "data", "errors", "accessibility", "security", "performance"];
const coverage = (found, categories = all) => ({
	has: {
		coveragePercent: 100 * Object.keys(found).length / categories.length,
		covered: categories.filter(c => found[c]).map(c => ({ category: c, tests: found[c] })),
		gaps: categories.filter(c => !found[c]).map(c => ({ category: c, description: `No test touches ${c}.` })),
	},
});
write("test_coverage_gaps", [
	["no tests", { tests: [] }, coverage({})],
	["a login", { tests: [tests[0]] }, coverage({ authentication: 1, forms: 1, navigation: 1 })],
	["words within words do not count", { tests: [{ name: "The author reforms information of metadata and reloads terrors" }] }, coverage({})],
	["two words", { tests: [{ name: "Sign in" }, { name: "screen-reader" }] }, coverage({ authentication: 1, accessibility: 1 })],
	["camel case", { tests: [{ steps: [{ action: "press", selector: "#btnLogOut" }] }] }, coverage({ authentication: 1 })],
	["values", { tests: [{ steps: [{ action: "type", selector: "#q", value: "XSS" }, { action: "type", selector: "#q", value: 404 }] }] }, coverage({ security: 1 })],
	["some categories", { tests: [{ name: "404 page" }, { name: "Error 500" }], categories: ["errors", "security"] }, coverage({ errors: 2 }, ["errors", "security"])],
	["a category of one's own", { tests: [{ name: "The check-out works" }], categories: ["Checkout", "crêpes"] }, coverage({ Checkout: 1 }, ["Checkout", "crêpes"])],
	["a category of two words", { tests: [{ name: "Empty the shopping cart" }], categories: ["shopping cart"] }, coverage({ "shopping cart": 1 }, ["shopping cart"])],
	["severity and suggestions", { tests: [], categories: ["security"] }, { want: { coveragePercent: 0, covered: [], gaps: [{ category: "security", severity: "high", description: "No test touches security.", suggestedTests: ["enter a script into each field", "call an API without permission", "send a request without its CSRF token"] }] } }],
	["categories must be texts", { tests: [], categories: [1] }, { error: "categories" }],
	["tests must be an array", { tests: {} }, { error: "tests" }],
]);
