// Timers and operations that Go ends later, by id.

const maxOperations = 16; // that run at once; the others wait here
const waiting = new Map();
const queue = []; // begin operations
let running = 0; // operations
let lastId = 0;

const advance = () => {
  while (running < maxOperations && queue.length > 0) queue.shift()();
};

// later begins an operation, as soon as not too many run, and returns the promise of its results, a list.
const later = (operation, signal, ...args) =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const id = ++lastId;
    let begun = false;
    const leave = () => {
      if (begun) running--;
      advance();
    };
    waiting.set(id, {
      resolve: (values) => (leave(), resolve(values)),
      reject: (error) => (leave(), reject(error)),
    });
    signal?.addEventListener("abort", () => {
      if (waiting.delete(id)) {
        if (begun) host("cancel", id);
        leave();
      }
      reject(signal.reason);
    });
    queue.push(() => {
      if (!waiting.has(id)) return;
      try {
        host(operation, id, ...args);
        begun = true;
        running++;
      } catch (error) {
        waiting.delete(id);
        reject(error);
      }
    });
    advance();
  });

class Timeout {
  #id;
  constructor(id) {
    this.#id = id;
  }
  ref() {
    return this;
  }
  unref() {
    return this;
  }
  hasRef() {
    return true;
  }
  close() {
    clear(this);
    return this;
  }
  [Symbol.toPrimitive]() {
    return this.#id;
  }
}

const timer = (repeats) => (callback, ms, ...args) => {
  if (typeof callback !== "function") throw new TypeError("the callback of a timer must be a function");
  const id = ++lastId;
  const start = () => {
    host("timer", id, Math.max(repeats ? 1 : 0, Number(ms) || 0));
    waiting.set(id, { resolve: fire });
  };
  const fire = () => {
    if (repeats) start();
    callback(...args);
  };
  start();
  return new Timeout(id);
};
const clear = (timer) => {
  const id = timer instanceof Timeout ? timer[Symbol.toPrimitive]() : Number(timer);
  if (waiting.delete(id)) host("cancel", id);
};
const setTimeout = timer(false);

define({
  setTimeout,
  clearTimeout: clear,
  setInterval: timer(true),
  clearInterval: clear,
  setImmediate: (callback, ...args) => setTimeout(callback, 0, ...args),
  clearImmediate: clear,
  queueMicrotask: (callback) => void Promise.resolve().then(callback).catch(fail),
  performance: { now: () => host("now") },
});
Object.assign(shared, { later, setTimeout });
