// These files give a machine what tools expect of their surroundings. Joined in the order of shimFiles
// they are the body of a function of permissions and maxOutput, which Go calls once, and which returns
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

class DOMException extends Error {
  #name;
  constructor(message = "", name = "Error") {
    super(message);
    this.#name = String(name?.name ?? name);
  }
  get name() {
    return this.#name;
  }
}
define({ global: globalThis, DOMException });
