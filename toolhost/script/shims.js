// This file gives a machine what a tool expects of its surroundings. It is an expression: the
// function that Go calls once with the permissions of the tool. It returns the function by which
// Go enters the machine. All that needs the world outside goes through host(operation, ...).
//
// Written on one line by the compiler: a frame of a stack in line 1 is one of this file.
(permissions) => {
  const host = globalThis.__host;
  delete globalThis.__host;
  delete globalThis.eval;
  delete globalThis.Function;
  const { parse, stringify } = JSON;

  // define adds globals as the language has its own: not enumerable.
  const define = (globals) => {
    for (const [name, value] of Object.entries(globals))
      Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  };

  // Calls that Go answers later, by id.
  const waiting = new Map();
  let lastId = 0;

  // later begins an operation and returns the promise of its result.
  const later = (operation, ...args) =>
    new Promise((resolve, reject) => {
      const id = ++lastId;
      host(operation, id, ...args);
      waiting.set(id, { resolve, reject });
    });

  const setTimeout = (callback, ms, ...args) => {
    if (typeof callback !== "function") throw new TypeError("setTimeout: the callback is not a function");
    const id = ++lastId;
    host("timer", id, Math.max(0, Number(ms) || 0));
    waiting.set(id, { resolve: () => callback(...args) });
    return id;
  };
  const clearTimeout = (id) => {
    if (waiting.delete(id)) host("cancel", id);
  };
  const queueMicrotask = (callback) => {
    Promise.resolve().then(callback).catch((e) => console.error(e));
  };

  const show = (value) => {
    if (typeof value === "string") return value;
    if (value instanceof Error) return value.name + ": " + value.message + "\n" + (value.stack ?? "");
    try {
      return stringify(value) ?? String(value);
    } catch {
      return String(value);
    }
  };
  const log = (...values) => host("log", values.map(show).join(" "));
  const console = { log, info: log, warn: log, error: log, debug: log, trace: log };

  define({ setTimeout, clearTimeout, queueMicrotask, console });

  let tool;

  // fail tells Go what was thrown: anything, also an object that throws when it is looked at.
  const fail = (thrown) => {
    let message, stack;
    try {
      if (thrown instanceof Error) {
        message = String(thrown.message);
        stack = thrown.name + ": " + message + "\n" + thrown.stack;
      } else {
        message = typeof thrown === "string" ? thrown : "a value that is no Error was thrown: " + show(thrown);
      }
    } catch {
      message = "a value that cannot be shown was thrown";
    }
    host("fail", message, String(stack ?? ""));
  };

  const give = (value) => {
    if (typeof value === "string") return host("text", value);
    const text = typeof value === "bigint" ? String(value) : stringify(value);
    if (text === undefined) return host("text", "");
    host(text[0] === "{" ? "object" : "text", text);
  };

  const entries = {
    // load runs the top level of the file and returns the declaration of the tool.
    load(run) {
      const module = { exports: {} };
      try {
        run(module, module.exports, (name) => {
          throw new Error("a tool has no modules: " + name + " cannot be imported; only import type is possible");
        });
        tool = module.exports.tool;
        const kind = tool === null ? "null" : typeof tool;
        const declared = { exports: Object.keys(module.exports), kind };
        if (kind === "object") {
          const { name, description, schema, outputSchema, permissions, annotations, timeoutMs } = tool;
          Object.assign(declared, { name, description, schema, outputSchema, permissions, annotations, timeoutMs, handler: typeof tool.handler });
        }
        host("text", stringify(declared));
      } catch (e) {
        fail(e);
      }
    },
    async call(args) {
      try {
        give(await tool.handler(parse(args)));
      } catch (e) {
        fail(e);
      }
    },
    // settle ends what later or setTimeout began.
    settle(id, problem, value) {
      const entry = waiting.get(id);
      waiting.delete(id);
      if (problem) entry?.reject(new Error(problem));
      else entry?.resolve(value);
    },
    // reset forgets what a call left behind.
    reset() {
      waiting.clear();
    },
  };
  return (name, ...args) => {
    entries[name](...args);
  };
}
