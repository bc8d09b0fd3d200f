// The console.
const { define, host, show } = shared;

let indent = "";
const log = (...values) => host("log", (indent + values.map(show).join(" ")).slice(0, 10000));
const counts = new Map();
const clocks = new Map();
const count = (label = "default") => {
  counts.set(label, (counts.get(label) ?? 0) + 1);
  log(`${label}: ${counts.get(label)}`);
};
const timeLog = (label = "default", ...values) => {
  if (clocks.has(label)) log(`${label}: ${(host("now") - clocks.get(label)).toFixed(3)}ms`, ...values);
  else log(`there is no timer ${label}`);
};
const group = (...values) => {
  if (values.length > 0) log(...values);
  indent += "  ";
};
const table = (rows) => {
  if (typeof rows !== "object" || rows === null) return log(rows);
  for (const [key, row] of Object.entries(rows)) log(key, row);
};
define({
  console: {
    log,
    info: log,
    warn: log,
    error: log,
    debug: log,
    trace: log,
    table,
    dir: (value) => log(value),
    assert: (condition, ...values) => void (condition || log("Assertion failed:", ...values)),
    count,
    countReset: (label = "default") => void counts.delete(label),
    time: (label = "default") => void clocks.set(label, host("now")),
    timeLog,
    timeEnd: (label = "default") => (timeLog(label), void clocks.delete(label)),
    group,
    groupCollapsed: group,
    groupEnd: () => void (indent = indent.slice(2)),
  },
});
