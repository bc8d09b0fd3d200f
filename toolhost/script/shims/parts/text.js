// Texts as bytes.
const { define, encode, decode, view } = shared;

class TextEncoder {
  encoding = "utf-8";
  encode(text = "") {
    return encode(text);
  }
  encodeInto(text, target) {
    let read = 0;
    let written = 0;
    for (const character of String(text)) {
      const bytes = encode(character);
      if (written + bytes.length > target.length) break;
      target.set(bytes, written);
      read += character.length;
      written += bytes.length;
    }
    return { read, written };
  }
}

// unfinished returns how many bytes at the end begin a character that has more.
const unfinished = (bytes) => {
  for (let n = 1; n <= Math.min(3, bytes.length); n++) {
    const b = bytes[bytes.length - n];
    if (b >= 0xc0) return n < (b >= 0xf0 ? 4 : b >= 0xe0 ? 3 : 2) ? n : 0;
    if (b < 0x80) return 0;
  }
  return 0;
};

class TextDecoder {
  encoding = "utf-8";
  fatal;
  ignoreBOM;
  #rest = new Uint8Array(); // what a stream has left
  #begun = false; // whether a stream is past its first character
  constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
    if (!/^utf-?8$/i.test(label)) throw new RangeError(`TextDecoder: the encoding ${label} is not available; use utf-8`);
    this.fatal = Boolean(fatal);
    this.ignoreBOM = Boolean(ignoreBOM);
  }
  decode(data = new Uint8Array(), { stream = false } = {}) {
    const added = view(data);
    const bytes = new Uint8Array(this.#rest.length + added.length);
    bytes.set(this.#rest);
    bytes.set(added, this.#rest.length);
    const whole = bytes.length - (stream ? unfinished(bytes) : 0);
    this.#rest = bytes.slice(whole);
    const text = decode(bytes.subarray(0, whole), this.fatal ? "utf8-fatal" : "utf8");
    const first = !this.#begun;
    this.#begun = stream && (this.#begun || text !== "");
    return first && text[0] === "\ufeff" && !this.ignoreBOM ? text.slice(1) : text;
  }
}

define({ TextEncoder, TextDecoder });
