// Files of granted directories.
const { define, parse, later, pack, unpack, view, load } = shared;

define({
  fs: {
    async readFile(path, encoding) {
      const [data] = await later("readFile", undefined, String(path));
      load("buffer");
      const bytes = shared.Buffer.from(unpack(data).buffer);
      encoding = encoding?.encoding ?? encoding;
      return encoding ? bytes.toString(encoding) : bytes;
    },
    async writeFile(path, data) {
      await later("writeFile", undefined, String(path), pack(view(data)));
    },
    async list(path = ".") {
      const [names] = await later("listFiles", undefined, String(path));
      return parse(names);
    },
  },
});
