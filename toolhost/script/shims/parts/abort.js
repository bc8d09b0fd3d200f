// Signals that end what they are given to.
const { define, named, setTimeout } = shared;

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

let abort; // ends a signal
class AbortSignal {
  aborted = false;
  reason = undefined;
  onabort = null;
  #listeners = [];
  static abort(reason) {
    const controller = new AbortController();
    controller.abort(reason);
    return controller.signal;
  }
  static timeout(ms) {
    const controller = new AbortController();
    setTimeout(() => controller.abort(named("TimeoutError", `no end within ${ms} ms`)), ms);
    return controller.signal;
  }
  static any(signals) {
    const controller = new AbortController();
    for (const signal of signals) {
      if (signal.aborted) {
        controller.abort(signal.reason);
        break;
      }
      signal.addEventListener("abort", () => controller.abort(signal.reason));
    }
    return controller.signal;
  }
  addEventListener(type, listener) {
    if (type === "abort") this.#listeners.push(listener);
  }
  removeEventListener(type, listener) {
    this.#listeners = this.#listeners.filter((l) => l !== listener);
  }
  throwIfAborted() {
    if (this.aborted) throw this.reason;
  }
  static {
    abort = (signal, reason) => {
      if (signal.aborted) return;
      signal.aborted = true;
      signal.reason = reason;
      for (const listener of [signal.onabort, ...signal.#listeners]) listener?.call(signal, { type: "abort", target: signal });
    };
  }
}

class AbortController {
  signal = new AbortSignal();
  abort(reason = named("AbortError", "the operation was aborted")) {
    abort(this.signal, reason);
  }
}

define({ AbortSignal, AbortController, DOMException });
