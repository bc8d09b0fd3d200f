// Buffer of Node.
const { define, encode, decode, view } = shared;

class Buffer extends Uint8Array {
  constructor(data, ...rest) {
    if (typeof data === "string") super(encode(data, rest[0]).buffer);
    else super(data, ...rest);
  }
  static from(data, ...rest) {
    if (typeof data === "string") return new Buffer(data, rest[0]);
    if (data instanceof ArrayBuffer) return new Buffer(data, ...rest);
    return super.from(data?.type === "Buffer" && Array.isArray(data.data) ? data.data : data);
  }
  static alloc(size, fill = 0, encoding) {
    const b = new Buffer(size);
    return fill === 0 ? b : b.fill(fill, encoding);
  }
  static allocUnsafe(size) {
    return new Buffer(size);
  }
  static allocUnsafeSlow(size) {
    return new Buffer(size);
  }
  static concat(list, length = list.reduce((n, b) => n + b.length, 0)) {
    const all = new Buffer(length);
    let at = 0;
    for (const b of list) {
      if (at >= length) break;
      all.set(b.subarray(0, length - at), at);
      at += b.length;
    }
    return all;
  }
  static compare(a, b) {
    const n = Math.min(a.length, b.length);
    for (let i = 0; i < n; i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
    return Math.sign(a.length - b.length);
  }
  static isBuffer(data) {
    return data instanceof Buffer;
  }
  static isEncoding(encoding) {
    return /^(utf-?8|latin1|binary|ascii|hex|base64|base64url)$/i.test(encoding);
  }
  static byteLength(data, encoding) {
    return typeof data === "string" ? encode(data, encoding).length : data.byteLength;
  }
  toString(encoding, start = 0, end = this.length) {
    return decode(this.subarray(start, end), encoding);
  }
  equals(other) {
    return Buffer.compare(this, other) === 0;
  }
  compare(other, start = 0, end = other.length, from = 0, to = this.length) {
    return Buffer.compare(this.subarray(from, to), other.subarray(start, end));
  }
  slice(start, end) {
    return this.subarray(start, end);
  }
  copy(target, at = 0, start = 0, end = this.length) {
    const part = this.subarray(start, Math.min(end, start + Math.max(target.length - at, 0)));
    target.set(part, at);
    return part.length;
  }
  fill(value, start, end, encoding) {
    if (typeof start === "string") [start, end, encoding] = [undefined, undefined, start];
    if (typeof end === "string") [end, encoding] = [undefined, end];
    if (typeof value !== "string" && !ArrayBuffer.isView(value)) return super.fill(value, start, end);
    const pattern = view(value, encoding);
    const part = this.subarray(start, end);
    for (let i = 0; i < part.length; i++) part[i] = pattern.length ? pattern[i % pattern.length] : 0;
    return this;
  }
  write(text, at, length, encoding) {
    if (typeof at === "string") [at, length, encoding] = [undefined, undefined, at];
    if (typeof length === "string") [length, encoding] = [undefined, length];
    const room = this.subarray(at ?? 0, length === undefined ? undefined : (at ?? 0) + length);
    const bytes = encode(text, encoding);
    let n = Math.min(bytes.length, room.length);
    while (n > 0 && n < bytes.length && (bytes[n] & 0xc0) === 0x80 && /^utf-?8$/i.test(encoding ?? "utf8")) n--; // no half character
    room.set(bytes.subarray(0, n));
    return n;
  }
  #find(value, at, encoding, step) {
    if (typeof at === "string") [at, encoding] = [undefined, at];
    const wanted = typeof value === "number" ? Uint8Array.of(value) : view(value, encoding);
    const last = this.length - wanted.length;
    at ??= step > 0 ? 0 : last;
    if (at < 0) at += this.length;
    for (let i = step > 0 ? Math.max(at, 0) : Math.min(at, last); i >= 0 && i <= last; i += step)
      if (wanted.every((b, j) => b === this[i + j])) return i;
    return -1;
  }
  indexOf(value, at, encoding) {
    return this.#find(value, at, encoding, 1);
  }
  lastIndexOf(value, at, encoding) {
    return this.#find(value, at, encoding, -1);
  }
  includes(value, at, encoding) {
    return this.indexOf(value, at, encoding) >= 0;
  }
  toJSON() {
    return { type: "Buffer", data: [...this] };
  }
  // Integers of 1 to 6 bytes, as the methods below read and write them.
  #span(at, size) {
    if (!Number.isInteger(at) || at < 0 || at + size > this.length)
      throw new RangeError(`the offset ${at} is out of range: ${size} bytes are needed, the buffer has ${this.length}`);
    return new DataView(this.buffer, this.byteOffset + at, size);
  }
  static {
    const method = (name, call) => {
      Object.defineProperty(this.prototype, name, { value: call, writable: true, configurable: true });
      const other = name.replace("UInt", "Uint");
      if (other !== name) method(other, call);
    };
    const limits = { Int8: [-128, 127], UInt8: [0, 255], Int16: [-32768, 32767], UInt16: [0, 65535], Int32: [-2147483648, 2147483647], UInt32: [0, 4294967295] };
    const check = (value, kind) => {
      const limit = limits[kind];
      if (limit && (value < limit[0] || value > limit[1])) throw new RangeError(`the value ${value} is out of range: it must be ${limit[0]} to ${limit[1]}`);
      return value;
    };
    for (const [kind, size, real = kind] of [["Int8", 1], ["UInt8", 1, "Uint8"], ["Int16", 2], ["UInt16", 2, "Uint16"], ["Int32", 4], ["UInt32", 4, "Uint32"], ["BigInt64", 8], ["BigUInt64", 8, "BigUint64"], ["Float", 4, "Float32"], ["Double", 8, "Float64"]])
      for (const order of size === 1 ? [""] : ["LE", "BE"]) {
        method("read" + kind + order, function (at = 0) {
          return this.#span(at, size)["get" + real](0, order === "LE");
        });
        method("write" + kind + order, function (value, at = 0) {
          this.#span(at, size)["set" + real](0, check(value, kind), order === "LE");
          return at + size;
        });
      }
    for (const order of ["LE", "BE"]) {
      const places = (size) => Array.from({ length: size }, (_, i) => (order === "LE" ? i : size - 1 - i));
      const read = function (at, size) {
        const bytes = this.#span(at, size);
        return places(size).reduce((n, place, i) => n + bytes.getUint8(place) * 256 ** i, 0);
      };
      const write = function (value, at, size) {
        const bytes = this.#span(at, size);
        places(size).forEach((place, i) => bytes.setUint8(place, Math.floor(value / 256 ** i)));
        return at + size;
      };
      method("readUInt" + order, read);
      method("readInt" + order, function (at, size) {
        const n = read.call(this, at, size);
        return n < 2 ** (8 * size - 1) ? n : n - 2 ** (8 * size);
      });
      method("writeUInt" + order, write);
      method("writeInt" + order, write);
    }
  }
}

shared.Buffer = Buffer;
define({ Buffer });
