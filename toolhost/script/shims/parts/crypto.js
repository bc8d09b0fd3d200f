// Random numbers, hashes and signatures.
const { define, host, named, pack, unpack, view, load } = shared;
load("buffer");
const { Buffer } = shared;

const algorithm = (name) => String(name?.name ?? name).toUpperCase(); // as SubtleCrypto has it
const nodeAlgorithm = (name) => String(name).toLowerCase().replace("-", "");

class Hash {
  #operation;
  #args;
  #parts = [];
  constructor(operation, ...args) {
    this.#operation = operation;
    this.#args = args;
    host(operation, ...args, ""); // an unknown algorithm fails here
  }
  update(data, encoding) {
    this.#parts.push(pack(view(data, encoding)));
    return this;
  }
  digest(encoding) {
    const sum = Buffer.from(unpack(host(this.#operation, ...this.#args, this.#parts.join(""))).buffer);
    return encoding ? sum.toString(encoding) : sum;
  }
}

let secretOf; // returns the bytes of a key
class CryptoKey {
  type = "secret";
  extractable;
  algorithm;
  usages;
  #secret;
  constructor(secret, algorithm, extractable, usages) {
    Object.assign(this, { algorithm, extractable, usages });
    this.#secret = secret;
  }
  static {
    secretOf = (key) => key.#secret;
  }
}

const sign = (name, key, data) => {
  if (algorithm(name) !== "HMAC") throw named("NotSupportedError", `crypto.subtle signs with HMAC only, not with ${algorithm(name)}`);
  return unpack(host("hmac", key.algorithm.hash.name, pack(secretOf(key)), pack(view(data))));
};

define({
  crypto: {
    randomUUID: () => host("uuid"),
    getRandomValues(array) {
      const bytes = view(array);
      bytes.set(unpack(host("random", bytes.length)));
      return array;
    },
    randomBytes: (n) => Buffer.from(unpack(host("random", n)).buffer),
    createHash: (name) => new Hash("digest", nodeAlgorithm(name)),
    createHmac: (name, key) => new Hash("hmac", nodeAlgorithm(name), pack(view(key))),
    subtle: {
      async digest(name, data) {
        return unpack(host("digest", algorithm(name), pack(view(data)))).buffer;
      },
      async importKey(format, data, { name, hash }, extractable, usages) {
        if (format !== "raw" || algorithm(name) !== "HMAC") throw named("NotSupportedError", "crypto.subtle.importKey takes keys for HMAC in the format raw only");
        host("hmac", algorithm(hash), "", ""); // an unknown algorithm fails here
        return new CryptoKey(view(data).slice(), { name: "HMAC", hash: { name: algorithm(hash) } }, extractable, usages);
      },
      async sign(name, key, data) {
        return sign(name, key, data).buffer;
      },
      async verify(name, key, signature, data) {
        return Buffer.compare(sign(name, key, data), view(signature)) === 0;
      },
    },
  },
});
