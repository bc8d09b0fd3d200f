"""Write the cases of performance_regression, with the quantiles of Python's statistics."""
import json
import pathlib
import statistics


def summary(values):
    values = sorted(values)
    p95 = statistics.quantiles(values, n=100, method="inclusive")[94] if len(values) > 1 else values[0]
    return {"samples": len(values), "median": statistics.median(values), "p95": p95}


def outcome(baseline, current, percentage=10, absolute=100):
    def metrics(samples):
        return {m: [s[m] for s in samples if s.get(m) is not None] for s in samples for m in s}

    before, now = metrics(baseline), metrics(current)
    out = {"hasRegression": False, "regressions": [], "improvements": [], "stable": [], "uncompared": []}
    for metric in sorted(before | now):
        if not before.get(metric) or not now.get(metric):
            out["uncompared"].append(metric)
            continue
        b, c = summary(before[metric]), summary(now[metric])
        change = c["median"] - b["median"]
        row = {"metric": metric, "baseline": b, "current": c, "change": change}
        percent = float("inf") if change else 0
        if b["median"]:
            percent = row["changePercent"] = 100 * change / abs(b["median"])
        kind = "stable"
        if abs(change) > absolute / (1000 if metric == "cls" else 1) and abs(percent) > percentage:
            kind = "regressions" if change > 0 else "improvements"
        if kind == "regressions":
            out["hasRegression"] = True
            row["severity"] = "critical" if percent > 2 * percentage else "warning"
        out[kind].append(row)
    return {"want": out}


BASELINE = [{"lcp": 2000, "fcp": 900, "cls": 0.05, "ttfb": 200}, {"lcp": 2100, "fcp": 950, "cls": 0.04, "ttfb": 210}, {"lcp": 1900, "fcp": 910, "cls": 0.06, "ttfb": 220, "tti": 1}]
CURRENT = [{"lcp": 2400, "fcp": 700, "cls": 0.3, "ttfb": 230, "größe": 5}, {"lcp": 2350, "fcp": 720, "cls": 0.25, "ttfb": 235}, {"lcp": 9000, "fcp": 650, "cls": 0.2, "ttfb": 260}]
ROWS = [
    ("several metrics", BASELINE, CURRENT, {}),
    ("the other way round", CURRENT, BASELINE, {}),
    ("no change", BASELINE, BASELINE, {}),
    ("sensitive", BASELINE, CURRENT, {"percentageThreshold": 1, "absoluteThreshold": 1}),
    ("any change", BASELINE, CURRENT, {"percentageThreshold": 0, "absoluteThreshold": 0}),
    ("one threshold", BASELINE, CURRENT, {"percentageThreshold": 50}),
    ("much in percent, little in milliseconds", [{"ttfb": 20}], [{"ttfb": 60}], {}),
    ("much in milliseconds, little in percent", [{"lcp": 10000}], [{"lcp": 10500}], {}),
    ("a warning", [{"lcp": 1000}], [{"lcp": 1150}], {}),
    ("just the thresholds", [{"lcp": 1000}], [{"lcp": 1100}], {}),
    ("an outlier does not matter", [{"lcp": 1000}] * 5, [{"lcp": 1000}] * 4 + [{"lcp": 60000}], {}),
    ("from zero", [{"tbt": 0}], [{"tbt": 500}], {}),
    ("from and to zero", [{"tbt": 0}], [{"tbt": 0}], {}),
    ("negative numbers", [{"drift": -1000}], [{"drift": -500}], {}),
    ("two and four samples", [{"lcp": 1000}, {"lcp": 1101}], [{"lcp": 1}, {"lcp": 2}, {"lcp": 2000}, {"lcp": 3000.5}], {}),
    ("null is no number", [{"lcp": 1, "fcp": None}, {"fcp": 3}], [{"lcp": None, "fcp": 4}], {}),
    ("large numbers", [{"bytes": 1e18}], [{"bytes": 1e300}], {}),
]
cases = [
    {"name": name, "args": {"baseline": b, "current": c} | ({"thresholds": t} if t else {}), **outcome(b, c, t.get("percentageThreshold", 10), t.get("absoluteThreshold", 100))}
    for name, b, c, t in ROWS
]
cases += [
    {"name": "no baseline", "args": {"baseline": [], "current": CURRENT}, "error": "baseline must have a measurement"},
    {"name": "nothing now", "args": {"baseline": BASELINE, "current": []}, "error": "current must have a measurement"},
    {"name": "a text", "args": {"baseline": [{"lcp": 1}], "current": [{"lcp": 1}, {"lcp": "NaN"}]}, "error": "current[1].lcp must be a number, not string"},
    {"name": "too large a change", "args": {"baseline": [{"lcp": -1.7e308}], "current": [{"lcp": 1.7e308}]}, "error": "lcp are too large"},
    {"name": "a negative threshold", "args": {"baseline": [], "current": [], "thresholds": {"absoluteThreshold": -1}}, "error": "absoluteThreshold"},
    {"name": "no current", "args": {"baseline": []}, "error": "current"},
]
rows = ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases)
pathlib.Path(__file__).with_name("performance_regression.json").write_text(f"[\n{rows}\n]\n")
