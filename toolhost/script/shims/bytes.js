// Bytes and texts.

const unpack = (packed) => {
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = packed.charCodeAt(i);
  return bytes;
};
const pack = (bytes) => {
  let packed = "";
  for (let i = 0; i < bytes.length; i += 4096) packed += String.fromCharCode(...bytes.subarray(i, i + 4096));
  return packed;
};
const encode = (text, encoding = "utf8") => unpack(host("encode", String(encoding), String(text)));
const decode = (bytes, encoding = "utf8") => host("decode", String(encoding), pack(bytes));

// view returns the bytes of a buffer, a view of one, or a text.
const view = (data, encoding) => {
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return encode(data, encoding);
};

const atob = (text) => host("encode", "base64", String(text));
const btoa = (packed) => {
  packed = String(packed);
  if (/[^\0-\xff]/.test(packed)) throw new RangeError("btoa: the text has characters beyond U+00FF; use Buffer or TextEncoder");
  return host("decode", "base64", packed);
};

define({ atob, btoa });
Object.assign(shared, { pack, unpack, encode, decode, view });
