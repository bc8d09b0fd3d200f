// These files give a machine what tools expect of their surroundings. Those beside this one, joined in the order
// of shimFiles, are the body of a function of permissions and maxOutput, which Go calls once, and which returns
// the function by which Go enters the machine. Whatever needs the world outside goes through
// host(operation, ...), which tools cannot reach. Bytes cross between Go and the machine as strings with
// one character for each.
//
// Go joins all lines to one: a frame of a stack in line 1 is one of these files.
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

const named = (name, message) => Object.assign(new Error(message), { name });

define({ global: globalThis });

const method = (object, name, value) => Object.defineProperty(object, name, { value, writable: true, configurable: true });

// A part is a file of parts/: a function that gets what all share, and runs when one of its globals is first
// touched. Most tools need few parts, and a machine without them is smaller.
const shared = { host, define, named, method, parse, stringify, permissions };
const loaded = new Set();
let received; // the function of a part
const load = (part) => {
  if (loaded.has(part)) return;
  host("part", part);
  loaded.add(part);
  received(shared);
};
const lazy = (part, ...names) => {
  for (const name of names)
    Object.defineProperty(globalThis, name, {
      get() {
        load(part);
        return globalThis[name];
      },
      set: (value) => define({ [name]: value }),
      configurable: true,
    });
};
shared.load = load;
lazy("text", "TextEncoder", "TextDecoder");
lazy("buffer", "Buffer");
lazy("abort", "AbortSignal", "AbortController", "DOMException");
lazy("console", "console");
lazy("url", "URL", "URLSearchParams");
lazy("copies", "structuredClone");
lazy("crypto", "crypto");
lazy("web", "Headers");
if (permissions.includes("network")) lazy("web", "fetch");
if (permissions.includes("filesystem")) lazy("files", "fs");
lazy("intl", "Intl");
