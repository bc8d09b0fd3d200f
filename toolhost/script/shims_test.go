package script

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
	"bareclaw/toolhost/api"
)

// The wanted results are those of Node 22.
func TestShims(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ expression, want string }{
		// Buffer
		{`Buffer.from("héllo").toString("base64")`, `"aMOpbGxv"`},
		{`Buffer.from("héllo").toString("base64url") + Buffer.from("héllo").toString("hex")`, `"aMOpbGxv68c3a96c6c6f"`},
		{`[Buffer.from("aGk", "base64").toString(), Buffer.from("6869", "hex").toString(), Buffer.from("-_8", "base64url").toString("hex"), Buffer.from("é", "latin1").length]`, `["hi","hi","fbff",1]`},
		{`[Buffer.byteLength("é👍"), Buffer.from("é").length, Buffer.alloc(2).toString("hex"), Buffer.from([65, 66]) + "", Buffer.from(new Uint8Array([65]).buffer).toString()]`, `[6,2,"0000","AB","A"]`},
		{`Buffer.concat([Buffer.from("a"), new Uint8Array([98])]).toString("utf8")`, `"ab"`},
		{`[Buffer.isBuffer(Buffer.from("")), Buffer.isBuffer(new Uint8Array()), Buffer.from("a").equals(Buffer.from("a")), Buffer.from("abc").subarray(1).toString(), Buffer.from("abc").toString("utf8", 1, 2)]`, `[true,false,true,"bc","b"]`},
		{`Buffer.from("ab")`, `{"type":"Buffer","data":[97,98]}`},
		// Texts
		{`[...new TextEncoder().encode("é\ud800")]`, `[195,169,239,191,189]`},
		{`[new TextDecoder().decode(new TextEncoder().encode("é👍\0")), new TextDecoder("utf8").decode(new Uint8Array([239, 187, 191, 65, 255]))]`, `["é👍\u0000","A�"]`},
		{`new TextDecoder().decode(new DataView(new Uint8Array([65, 66, 67]).buffer, 1, 1))`, `"B"`},
		{`[atob("aGk="), atob(" aG\nk "), btoa("hi\xff"), atob("/+8=").charCodeAt(0)]`, `["hi","hi","aGn/",255]`},
		// URL
		{`(u => [u.href, u.origin, u.protocol, u.username, u.password, u.host, u.hostname, u.port, u.pathname, u.search, u.hash])(new URL("../b c?q=1&r=a%2Bb+c#h", "HTTPS://User:pw@Ex.com:8443/x/y/"))`, `["https://User:pw@ex.com:8443/x/b%20c?q=1&r=a%2Bb+c#h","https://ex.com:8443","https:","User","pw","ex.com:8443","ex.com","8443","/x/b%20c","?q=1&r=a%2Bb+c","#h"]`},
		{`[new URL("http://a.com:80"), String(new URL("http://bücher.de/ü")), new URL("mailto:a@b.c").pathname, new URL("http://[::1]/").hostname, new URL("http://1.2").host, new URL("file:///a").origin]`, `["http://a.com/","http://xn--bcher-kva.de/%C3%BC","a@b.c","[::1]","1.0.0.2","null"]`},
		{`(u => { u.searchParams.set("q", "ü &"); u.searchParams.append("n", "~*"); u.port = "8080"; u.pathname = "/é"; u.hash = ""; u.protocol = "https"; return u })(new URL("http://a.com/?q=1&x=2&q=3#h"))`, `"https://a.com:8080/%C3%A9?q=%C3%BC+%26&x=2&n=%7E*"`},
		{`(u => { u.search = "?z=1"; const z = u.searchParams.get("z"); u.href = "http://b.com/?y=2"; return [z, u.searchParams.get("y"), u.searchParams.get("z"), u.host] })(new URL("http://a.com/?q=1"))`, `["1","2",null,"b.com"]`},
		{`[URL.canParse("x:"), URL.canParse("x"), URL.canParse("x", "http://a")]`, `[true,false,true]`},
		{`[String(new URLSearchParams({a: 1, b: "x y"})), new URLSearchParams([["a", "1"], ["a", "2"]]).getAll("a"), String(new URLSearchParams("?a=%zz&b=%41&=x&&c%"))]`, `["a=1&b=x+y",["1","2"],"a=%25zz&b=A&=x&c%25="]`},
		{`(p => { p.sort(); p.delete("a"); p.set("b", 9); p.set("n", 1); return [String(p), p.has("x"), p.get("x"), [...p.keys()], [...p.values()], [...p], p.size] })(new URLSearchParams("b=1&a=2&b=3"))`, `["b=9&n=1",false,null,["b","n"],["9","1"],[["b","9"],["n","1"]],2]`},
		// Copies
		{`(o => { o.self = o; const c = structuredClone(o); return [c.self === c, c.a !== o.a, c.a[1].b.getTime(), c.m.get(1).x, c.s.has(1), String(c.r), [...c.u], c.e.message, "n" in c, c.l.length] })({a: [1, {b: new Date(5)}], m: new Map([[1, {x: 1}]]), s: new Set([1]), r: /x/gi, u: new Uint8Array([1, 2]), e: new TypeError("t"), n: undefined, l: new Array(3)})`, `[true,true,5,1,true,"/x/gi",[1,2],"t",true,3]`},
		{`(() => { try { structuredClone(() => 1) } catch (e) { return e.name } })()`, `"DataCloneError"`},
		// What depends on the locale
		{`[(1234567.891).toLocaleString("en-US", {style: "currency", currency: "USD"}), (1234.5).toLocaleString(), (0.256).toLocaleString(undefined, {style: "percent"}), 12345678901234567890n.toLocaleString("en")]`, `["$1,234,567.89","1,234.5","26%","12,345,678,901,234,567,890"]`},
		{`((d) => [d.toLocaleString("en-US", {timeZone: "America/New_York"}), d.toLocaleDateString("en-US", {timeZone: "UTC", dateStyle: "full"}), d.toLocaleTimeString("default", {timeZone: "Asia/Tokyo"})])(new Date("2024-03-05T15:04:00Z"))`, `["3/5/2024, 10:04:00 AM","Tuesday, March 5, 2024","12:04:00 AM"]`},
		{`[Intl.NumberFormat("en-US").format(1e6), new Intl.NumberFormat() instanceof Intl.NumberFormat, new Intl.DateTimeFormat("en", {timeZone: "UTC"}).format(0), typeof Intl.PluralRules, Intl.NumberFormat.prototype.constructor === Intl.NumberFormat]`, `["1,000,000",true,"1/1/1970","undefined",true]`},
		{`["C", "Z", "a", "b", "e", "ä", "é"].sort((a, b) => a.localeCompare(b))`, `["a","ä","b","C","e","é","Z"]`},
		{`["item10", "item9", "Item1"].sort(new Intl.Collator(undefined, {numeric: true, sensitivity: "base"}).compare)`, `["Item1","item9","item10"]`},
		{`[["base", "a", "Á"], ["accent", "a", "A"], ["accent", "a", "á"], ["variant", "a", "A"]].map(([sensitivity, a, b]) => a.localeCompare(b, "en", {sensitivity}))`, `[0,0,-1,-1]`},
		{`["straße".toLocaleUpperCase("de"), "I".toLocaleLowerCase(), [1234.5, null, 6].toLocaleString("en"), new Float64Array([1e4]).toLocaleString()]`, `["STRASSE","i","1,234.5,,6","10,000"]`},
		{`(() => { Number.prototype.toLocaleString = () => "mine"; globalThis.Intl = {mine: true}; return [(1).toLocaleString(), Intl.mine, new Date(0).toLocaleDateString("en", {timeZone: "UTC"}), Intl.mine, (1).toLocaleString()] })()`, `["mine",true,"1/1/1970",true,"mine"]`},
		// What Node has beside
		{`[Buffer.alloc(4, "ab").toString(), Buffer.from("hello").slice(1, 3).fill("x").toString(), Buffer.from("abcabc").lastIndexOf("bc"), Buffer.from("abc").includes("bc"), Buffer.compare(Buffer.from("a"), Buffer.from("b")), Buffer.allocUnsafe(2).length, Buffer.alloc(5).write("€€")]`, `["abab","xx",4,true,-1,2,3]`},
		{`((b) => { b.writeUInt16LE(513, 0); b.writeDoubleBE(1.5, 2); return [b.toString("hex"), b.readDoubleBE(2), b.readUIntBE(0, 3), b.readIntLE(0, 3), Buffer.from([255]).readInt8(), Buffer.from([255]).readUint8(), String(Buffer.alloc(8, 255).readBigInt64LE())] })(Buffer.alloc(10))`, `["01023ff8000000000000",1.5,66111,4129281,-1,255,"-1"]`},
		{`((b) => { const part = b.slice(1); part[0] = 120; return [b.toString(), b.copy(Buffer.alloc(2)), Buffer.from(b.toJSON()).toString(), new Buffer("é").length] })(Buffer.from("abc"))`, `["axc",2,"axc",2]`},
		{`((d) => { let s = ""; for (const b of new TextEncoder().encode("aé👍")) s += d.decode(Uint8Array.of(b), {stream: true}); return s + d.decode() })(new TextDecoder())`, `"aé👍"`},
		{`new TextEncoder().encodeInto("a€b", new Uint8Array(4))`, `{"read":2,"written":4}`},
		{`(async () => { const k = await crypto.subtle.importKey("raw", Buffer.from("key"), {name: "HMAC", hash: "SHA-256"}, false, ["sign", "verify"]); const s = await crypto.subtle.sign("HMAC", k, Buffer.from("The quick brown fox jumps over the lazy dog")); return [Buffer.from(s).toString("hex").slice(0, 8), await crypto.subtle.verify("HMAC", k, s, Buffer.from("other"))] })()`, `["f7bc83f4",false]`},
		{`[crypto.createHash("sha256").update("a").update("bc").digest("hex").slice(0, 8), crypto.createHash("md5").update("abc").digest("base64"), crypto.createHmac("sha1", "key").update("abc").digest("hex").slice(0, 8), crypto.randomBytes(3).length]`, `["ba7816bf","kAFQmDzST7DWlj99KOF/cg==","4fd0b215",3]`},
		{`[setTimeout(() => {}, 1).unref().hasRef(), typeof setImmediate, global === globalThis, AbortSignal.any([AbortSignal.abort("x")]).reason, new DOMException("m", "AbortError").name, new Headers([["A", "1"], ["a", "2"]]).get("A")]`, `[true,"function",true,"x","AbortError","1, 2"]`},
		// Random numbers and hashes
		{`Promise.all(["SHA-1", "sha-256", {name: "SHA-384"}, "SHA-512"].map(async (a) => Buffer.from(await crypto.subtle.digest(a, new TextEncoder().encode("abc"))).toString("hex").slice(0, 16)))`, `["a9993e364706816a","ba7816bf8f01cfea","cb00753f45a35e8b","ddaf35a193617aba"]`},
		{`[/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()), crypto.getRandomValues(new Uint32Array(8)).some((x) => x > 255)]`, `[true,true]`},
		// Timers
		{`new Promise((r) => { const order = []; for (const ms of [9, 1, 9]) setTimeout((x) => { order.push(x); if (order.length == 3) r(order) }, ms, ms) })`, `[1,9,9]`},
		{`new Promise((r) => { let n = 0; const i = setInterval(() => { if (++n == 3) { clearInterval(i); setTimeout(() => r(n), 5) } }, 1) })`, `3`},
		{`new Promise((r) => { clearTimeout(setTimeout(() => r("not cleared"), 1)); clearTimeout(undefined); setTimeout(() => r("cleared"), 5) })`, `"cleared"`},
		{`(async () => { const order = []; setTimeout(() => order.push("timer")); queueMicrotask(() => order.push("micro")); await null; order.push("await"); await new Promise((r) => setTimeout(r, 5)); return order })()`, `["micro","await","timer"]`},
		{`(async () => { const t = performance.now(); await new Promise((r) => setTimeout(r, 5)); const d = performance.now() - t; return d >= 4 && d < 10000 })()`, `true`},
		{`new Promise((r) => { const s = AbortSignal.timeout(1); s.addEventListener("abort", () => r([s.aborted, s.reason.name])) })`, `[true,"TimeoutError"]`},
		{`(c => { let n = 0; c.signal.onabort = () => n++; c.abort(); c.abort(); return [c.signal.aborted, c.signal.reason.name, n] })(new AbortController())`, `[true,"AbortError",1]`},
	} {
		got, err := call(t, body(t, "return {result: await ("+c.expression+")}"), "")
		if want := `{"result":` + c.want + `}`; err != nil || string(got.Structured) != want {
			t.Errorf("%s\n got %s, %v\nwant %s", c.expression, got.Structured, err, want)
		}
	}
}

func TestShimErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ code, says string }{
		{`atob("%%%")`, "the text is not valid base64"},
		{`btoa("€")`, "btoa: the text has characters beyond U+00FF"},
		{`Buffer.from("x", "hex")`, "encoding/hex"},
		{`Buffer.from("x", "utf16le")`, `the encoding "utf16le" is not available; there are utf8, latin1, hex, base64 and base64url`},
		{`(1).toLocaleString("de-DE")`, "the locale de-DE is not available in a tool: there is en-US only"},
		{`new Date().toLocaleTimeString(["fr", "en"])`, "the locale fr is not available in a tool"},
		{`Intl.NumberFormat("de")`, "the locale de is not available in a tool"},
		{`new Intl.DateTimeFormat("en-US-u-ca-buddhist")`, "the locale en-US-u-ca-buddhist is not available in a tool"},
		{`"a".localeCompare("b", "sv")`, "the locale sv is not available in a tool"},
		{`"a".localeCompare("b", undefined, {ignorePunctuation: true})`, "the option ignorePunctuation: true is not available in a tool, only false"},
		{`"a".localeCompare("b", undefined, {sensitivity: "case"})`, "the option sensitivity: \"case\" is not available in a tool; there are base, accent and variant"},
		{`new Date().toLocaleDateString("en-US", {calendar: "buddhist"})`, "the option calendar: \"buddhist\" is not available in a tool, only \"gregory\""},
		{`(1).toLocaleString("en-US", {style: "currency", currency: "EUR", currencyDisplay: "name"})`, "the option currencyDisplay: \"name\" is not available in a tool"},
		{`"i".toLocaleUpperCase("tr")`, "the locale tr is not available in a tool"},
		{`[1].toLocaleString("de")`, "the locale de is not available in a tool"},
		{`new Intl.PluralRules("en")`, "Intl.PluralRules is not a function in a tool: Intl has Collator, DateTimeFormat, NumberFormat"},
		{`crypto.subtle.encrypt()`, "crypto.subtle.encrypt is not a function in a tool: crypto.subtle has digest"},
		{`console.tabel([1])`, "console.tabel is not a function in a tool: console has log"},
		{`Buffer.from("a").nope()`, "nope is not a function"},
		{`[1].map(5)`, "what map was given is not a function"},
		{`const o = {}; o.a?.b; o["x y"]()`, "not a function: const o = {}; o.a?.b; o[\"x y\"]()"},
		{`process.exitCode`, "process is not available in a tool"},
		{`new FormData()`, "FormData is not available in a tool, which has console, timers, URL"},
		{`Buffer.alloc(2).writeInt8(200)`, "the value 200 is out of range: it must be -128 to 127"},
		{`Buffer.alloc(2).readUInt32LE(0)`, "the offset 0 is out of range: 4 bytes are needed, the buffer has 2"},
		{`crypto.createHash("sha3")`, "the digest \"sha3\" is not available"},
		{`new TextDecoder("utf-16")`, "the encoding utf-16 is not available; use utf-8"},
		{`new TextDecoder("utf-8", {fatal: true}).decode(new Uint8Array([255]))`, "the bytes are not valid UTF-8"},
		{`new URL("nonsense")`, `invalid URL: "nonsense"`},
		{`setTimeout("code")`, "the callback of a timer must be a function"},
		{`await crypto.subtle.digest("MD5", new Uint8Array())`, `the digest "MD5" is not available; there are SHA-1, SHA-256, SHA-384 and SHA-512`},
	} {
		_, err := call(t, body(t, c.code), "")
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "at handler (test.ts:8:") {
			t.Errorf("%s: %v; want %s", c.code, err, c.says)
		}
	}
}

// A world is what tools with permissions see in tests.
type world struct {
	mu    sync.Mutex // guards the fields below
	files map[string][]byte
	asked []api.FetchRequest
}

func (w *world) Fetch(ctx context.Context, r api.FetchRequest) (api.FetchResponse, error) {
	w.mu.Lock()
	w.asked = append(w.asked, r)
	w.mu.Unlock()
	switch {
	case strings.HasSuffix(r.URL, "/hang"):
		<-ctx.Done()
		return api.FetchResponse{}, ctx.Err()
	case strings.HasSuffix(r.URL, "/refused"):
		return api.FetchResponse{}, errors.New("the host is not granted")
	}
	header := http.Header{"Content-Type": {"application/json"}, "X-Two": {"a", "b"}, "Set-Cookie": {"a=1", "b=2"}}
	return api.FetchResponse{URL: r.URL + "/after", Status: 404, StatusText: "Not Found", Redirected: r.Redirect == "manual", Header: header, Body: []byte(`{"é":[1]}`)}, nil
}

func (w *world) ReadFile(_ context.Context, path string) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	data, ok := w.files[path]
	if !ok {
		return nil, errors.New("there is no file " + path)
	}
	return data, nil
}

func (w *world) WriteFile(_ context.Context, path string, data []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.files[path] = data
	return nil
}

func (w *world) ListFiles(_ context.Context, path string) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if path != "." {
		return nil, nil
	}
	return slices.Sorted(maps.Keys(w.files)), nil
}

func TestFunctions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ code, result, says string }{
		{code: `const r = await fetch("http://a/", {method: "post", headers: {"X-A": "1"}, body: "é"}); return [r.ok, r.status, r.url, r.headers.get("CONTENT-type"), r.headers.get("x-two"), await r.json(), await r.text(), (await r.bytes()).length]`,
			result: `[false,404,"http://a//after","application/json","a, b",{"é":[1]},"{\"é\":[1]}",10]`},
		{code: `return Promise.all([fetch(new URL("http://a/1")), fetch("http://a/2", {method: "PUT", body: new URLSearchParams({q: "x y"})}), fetch("http://a/3", {body: new Uint8Array([0, 255])})]).then((l) => l.map((r) => r.status))`,
			result: `[404,404,404]`},
		{code: `return fetch("http://a/refused")`, says: "Error: the host is not granted\n"},
		{code: `try { await fetch("http://a/refused") } catch (e) { return [e.message, e instanceof Error] }`, result: `["the host is not granted",true]`},
		{code: `return fetch("http://a/hang", {signal: AbortSignal.timeout(1)})`, says: "TimeoutError"},
		{code: `return fetch("http://a/hang", {signal: AbortSignal.abort()})`, says: "AbortError"},
		{code: `fetch("http://a/hang"); return 1`, result: "1"}, // ends with the call
		{code: `for (let i = 0; i < 17; i++) fetch("http://a/hang"); await null; return 1`, result: "1"},
		{code: `const all = await Promise.all(Array.from({length: 100}, (_, i) => fetch("http://a/" + i))); return [all.length, all[99].url]`, result: `[100,"http://a/99/after"]`},
		{code: `const c = new AbortController(); const all = Array.from({length: 40}, () => fetch("http://a/hang", {signal: c.signal})); c.abort(); const ended = await Promise.allSettled(all); return [ended.every((e) => e.reason.name === "AbortError"), (await fetch("http://a/")).status]`, result: `[true,404]`},
		{code: `const refused = await Promise.allSettled(Array.from({length: 40}, () => fetch("http://a/refused"))); return refused.map((r) => r.status).filter((s) => s === "rejected").length`, result: `40`},
		{code: `const r = await fetch("http://a/", {redirect: "manual"}); return [r.statusText, r.redirected, r.headers.getSetCookie(), r.clone().status]`, result: `["Not Found",true,["a=1","b=2"],404]`},
		{code: `await fs.writeFile("b", new Uint8Array([0, 200])); await fs.writeFile("c", "é"); const b = await fs.readFile("b"); return [b.toString("hex"), Buffer.isBuffer(b), await fs.readFile("c", "utf8"), await fs.readFile("c", {encoding: "hex"}), await fs.list(), await fs.list("empty")]`,
			result: `["00c8",true,"é","c3a9",["a","b","c"],[]]`},
		{code: `return fs.readFile("none")`, says: "Error: there is no file none\n"},
	} {
		w := &world{files: map[string][]byte{"a": nil}}
		got, err := body(t, c.code, "network", "filesystem").Tool(w, nil).Handle(t.Context(), tools.Call{})
		switch {
		case c.says == "" && (err != nil || got.Text != c.result):
			t.Errorf("%s\n got %s, %v\nwant %s", c.code, got.Text, err, c.result)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: %v; want %s", c.code, err, c.says)
		}
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	var w world
	_, err := body(t, `await fetch("http://a/", {method: "post", headers: [["x-a", "1"], ["X-A", "2"]], body: new URLSearchParams({q: "é"})})`, "network").Tool(&w, nil).Handle(t.Context(), tools.Call{})
	check.OK(t, err)
	r := w.asked[0]
	if r.URL != "http://a/" || r.Method != http.MethodPost || string(r.Body) != "q=%C3%A9" || r.Header.Get("X-A") != "1, 2" || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		t.Errorf("got %+v", r)
	}
}

// A permission that is declared and not granted is an error in the tool.
func TestNoFunctions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ code, permission, says string }{
		{`return fetch("http://a/")`, "network", "Error: fetch is not granted to the tool\n"},
		{`return fs.list()`, "filesystem", "Error: listFiles is not granted to the tool\n"},
		{`return fetch("http://a/")`, "filesystem", "Error: 'fetch' is not defined; the tool must declare permissions: ['network']\n"},
	} {
		_, err := call(t, body(t, c.code, c.permission), "")
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want %s", c.code, err, c.says)
		}
	}
}
