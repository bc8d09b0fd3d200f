package builtin

import (
	"context"
)

type statusArgs struct {
	Code int `json:"code" min:"100" max:"599"`
}

type statusInfo struct {
	Code      int    `json:"code"`
	Known     bool   `json:"known" jsonschema:"whether the code is registered"`
	Name      string `json:"name,omitempty"`
	Category  string `json:"category" enum:"informational,success,redirection,client error,server error"`
	Meaning   string `json:"meaning"`
	IsError   bool   `json:"isError"`
	Retryable bool   `json:"retryable" jsonschema:"whether the same request may succeed later"`
}

func explainStatus(_ context.Context, in statusArgs) (statusInfo, error) {
	category, general := statusClass(in.Code)
	text, known := statusTexts[in.Code]
	if !known {
		text.meaning = general
	}
	return statusInfo{
		Code:      in.Code,
		Known:     known,
		Name:      text.name,
		Category:  category,
		Meaning:   text.meaning,
		IsError:   in.Code >= 400,
		Retryable: retryable(in.Code),
	}, nil
}

func retryable(code int) bool {
	switch code {
	case 408, 425, 429, 500, 502, 503, 504:
		return true
	}
	return false
}

func statusClass(code int) (category, meaning string) {
	switch code / 100 {
	case 1:
		return "informational", "The request was received; the response follows."
	case 2:
		return "success", "The request was carried out."
	case 3:
		return "redirection", "The client must do more to complete the request."
	case 4:
		return "client error", "The request is wrong or cannot be carried out."
	default:
		return "server error", "The server could not carry out a request that may be right."
	}
}

// statusTexts are the registered codes (iana.org/assignments/http-status-codes): their names, and what they
// say.
var statusTexts = map[int]struct{ name, meaning string }{
	100: {"Continue", "The client may send the body of the request."},
	101: {"Switching Protocols", "The server goes on with the protocol that the client asked for with Upgrade."},
	102: {"Processing", "The server works on the request and has no response yet (WebDAV)."},
	103: {"Early Hints", "Headers that let the client load resources before the response is there."},
	104: {"Upload Resumption Supported", "The server can resume the upload if it is interrupted (temporary registration)."},
	200: {"OK", "The request succeeded."},
	201: {"Created", "A resource was made; Location says where."},
	202: {"Accepted", "The request was accepted and will be carried out later."},
	203: {"Non-Authoritative Information", "A proxy changed the response of the server."},
	204: {"No Content", "The request succeeded; the response has no body."},
	205: {"Reset Content", "The request succeeded; the client should reset its view, such as a form."},
	206: {"Partial Content", "The response has the part that Range asked for."},
	207: {"Multi-Status", "The body has a status for each of several resources (WebDAV)."},
	208: {"Already Reported", "The members of the resource were listed earlier in the response (WebDAV)."},
	226: {"IM Used", "The response is a change to an earlier one, by delta encoding."},
	300: {"Multiple Choices", "The resource has several forms, of which the client may choose one."},
	301: {"Moved Permanently", "The resource has a new URL for good; clients may change the method to GET."},
	302: {"Found", "The resource is under another URL for now; clients may change the method to GET."},
	303: {"See Other", "The result is at another URL, to be fetched with GET."},
	304: {"Not Modified", "The copy that the client has is still right."},
	305: {"Use Proxy", "The resource must be fetched through a proxy (deprecated)."},
	307: {"Temporary Redirect", "The resource is under another URL for now; method and body stay the same."},
	308: {"Permanent Redirect", "The resource has a new URL for good; method and body stay the same."},
	400: {"Bad Request", "The server does not understand the request, because it is malformed."},
	401: {"Unauthorized", "The client must authenticate; WWW-Authenticate says how."},
	402: {"Payment Required", "Reserved; some services use it for payments and quotas."},
	403: {"Forbidden", "The server understood the request and refuses it; authenticating again does not help."},
	404: {"Not Found", "There is no such resource, or the server does not admit that there is one."},
	405: {"Method Not Allowed", "The resource does not have the method; Allow lists those it has."},
	406: {"Not Acceptable", "There is no form of the resource that the Accept headers allow."},
	407: {"Proxy Authentication Required", "The client must authenticate to the proxy."},
	408: {"Request Timeout", "The client took too long to send the request."},
	409: {"Conflict", "The request does not fit the present state of the resource."},
	410: {"Gone", "The resource was removed for good."},
	411: {"Length Required", "The request needs a Content-Length."},
	412: {"Precondition Failed", "A condition of the request, such as If-Match, does not hold."},
	413: {"Content Too Large", "The body of the request is larger than the server takes."},
	414: {"URI Too Long", "The URL is longer than the server takes."},
	415: {"Unsupported Media Type", "The server does not take bodies of this type or encoding."},
	416: {"Range Not Satisfiable", "The resource does not have the part that Range asked for."},
	417: {"Expectation Failed", "The server cannot do what Expect asked for."},
	418: {"I'm a teapot", "A joke of RFC 2324; some servers refuse unwanted requests with it."},
	421: {"Misdirected Request", "The server does not answer for this host on this connection."},
	422: {"Unprocessable Content", "The request is well-formed, but its contents are wrong."},
	423: {"Locked", "The resource is locked (WebDAV)."},
	424: {"Failed Dependency", "The request failed because an earlier one did (WebDAV)."},
	425: {"Too Early", "The server does not risk a request that may be a replay of early TLS data."},
	426: {"Upgrade Required", "The client must use the protocol that Upgrade names."},
	428: {"Precondition Required", "The request must have a condition, such as If-Match."},
	429: {"Too Many Requests", "The client sent too many requests; Retry-After may say how long to wait."},
	431: {"Request Header Fields Too Large", "The headers of the request are larger than the server takes."},
	451: {"Unavailable For Legal Reasons", "The resource is withheld for legal reasons."},
	500: {"Internal Server Error", "The server failed by an error of its own."},
	501: {"Not Implemented", "The server does not have the method at all."},
	502: {"Bad Gateway", "The server behind this one gave an invalid response."},
	503: {"Service Unavailable", "The server is overloaded or under maintenance; Retry-After may say how long."},
	504: {"Gateway Timeout", "The server behind this one did not answer in time."},
	505: {"HTTP Version Not Supported", "The server does not speak this version of HTTP."},
	506: {"Variant Also Negotiates", "The server is configured wrongly: content negotiation leads in a circle."},
	507: {"Insufficient Storage", "The server has no room for what the request needs (WebDAV)."},
	508: {"Loop Detected", "The server found an endless loop (WebDAV)."},
	510: {"Not Extended", "The request must have an extension (obsolete)."},
	511: {"Network Authentication Required", "The client must log in to the network, such as at a hotspot."},
}
