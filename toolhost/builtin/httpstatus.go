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
	name, meaning := statusMeaning(in.Code)
	if name == "" {
		meaning = general
	}
	return statusInfo{in.Code, name != "", name, category, meaning, in.Code >= 400, retryable(in.Code)}, nil
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

// statusMeaning returns the name of a registered code
// (iana.org/assignments/http-status-codes), and what the code says. A switch costs nothing until it
// is asked.
func statusMeaning(code int) (name, meaning string) {
	switch code {
	case 100:
		return "Continue", "The client may send the body of the request."
	case 101:
		return "Switching Protocols", "The server goes on with the protocol that the client asked for with Upgrade."
	case 102:
		return "Processing", "The server works on the request and has no response yet (WebDAV)."
	case 103:
		return "Early Hints", "Headers that let the client load resources before the response is there."
	case 104:
		return "Upload Resumption Supported", "The server can resume the upload if it is interrupted (temporary registration)."
	case 200:
		return "OK", "The request succeeded."
	case 201:
		return "Created", "A resource was made; Location says where."
	case 202:
		return "Accepted", "The request was accepted and will be carried out later."
	case 203:
		return "Non-Authoritative Information", "A proxy changed the response of the server."
	case 204:
		return "No Content", "The request succeeded; the response has no body."
	case 205:
		return "Reset Content", "The request succeeded; the client should reset its view, such as a form."
	case 206:
		return "Partial Content", "The response has the part that Range asked for."
	case 207:
		return "Multi-Status", "The body has a status for each of several resources (WebDAV)."
	case 208:
		return "Already Reported", "The members of the resource were listed earlier in the response (WebDAV)."
	case 226:
		return "IM Used", "The response is a change to an earlier one, by delta encoding."
	case 300:
		return "Multiple Choices", "The resource has several forms, of which the client may choose one."
	case 301:
		return "Moved Permanently", "The resource has a new URL for good; clients may change the method to GET."
	case 302:
		return "Found", "The resource is under another URL for now; clients may change the method to GET."
	case 303:
		return "See Other", "The result is at another URL, to be fetched with GET."
	case 304:
		return "Not Modified", "The copy that the client has is still right."
	case 305:
		return "Use Proxy", "The resource must be fetched through a proxy (deprecated)."
	case 307:
		return "Temporary Redirect", "The resource is under another URL for now; method and body stay the same."
	case 308:
		return "Permanent Redirect", "The resource has a new URL for good; method and body stay the same."
	case 400:
		return "Bad Request", "The server does not understand the request, because it is malformed."
	case 401:
		return "Unauthorized", "The client must authenticate; WWW-Authenticate says how."
	case 402:
		return "Payment Required", "Reserved; some services use it for payments and quotas."
	case 403:
		return "Forbidden", "The server understood the request and refuses it; authenticating again does not help."
	case 404:
		return "Not Found", "There is no such resource, or the server does not admit that there is one."
	case 405:
		return "Method Not Allowed", "The resource does not have the method; Allow lists those it has."
	case 406:
		return "Not Acceptable", "There is no form of the resource that the Accept headers allow."
	case 407:
		return "Proxy Authentication Required", "The client must authenticate to the proxy."
	case 408:
		return "Request Timeout", "The client took too long to send the request."
	case 409:
		return "Conflict", "The request does not fit the present state of the resource."
	case 410:
		return "Gone", "The resource was removed for good."
	case 411:
		return "Length Required", "The request needs a Content-Length."
	case 412:
		return "Precondition Failed", "A condition of the request, such as If-Match, does not hold."
	case 413:
		return "Content Too Large", "The body of the request is larger than the server takes."
	case 414:
		return "URI Too Long", "The URL is longer than the server takes."
	case 415:
		return "Unsupported Media Type", "The server does not take bodies of this type or encoding."
	case 416:
		return "Range Not Satisfiable", "The resource does not have the part that Range asked for."
	case 417:
		return "Expectation Failed", "The server cannot do what Expect asked for."
	case 418:
		return "I'm a teapot", "A joke of RFC 2324; some servers refuse unwanted requests with it."
	case 421:
		return "Misdirected Request", "The server does not answer for this host on this connection."
	case 422:
		return "Unprocessable Content", "The request is well-formed, but its contents are wrong."
	case 423:
		return "Locked", "The resource is locked (WebDAV)."
	case 424:
		return "Failed Dependency", "The request failed because an earlier one did (WebDAV)."
	case 425:
		return "Too Early", "The server does not risk a request that may be a replay of early TLS data."
	case 426:
		return "Upgrade Required", "The client must use the protocol that Upgrade names."
	case 428:
		return "Precondition Required", "The request must have a condition, such as If-Match."
	case 429:
		return "Too Many Requests", "The client sent too many requests; Retry-After may say how long to wait."
	case 431:
		return "Request Header Fields Too Large", "The headers of the request are larger than the server takes."
	case 451:
		return "Unavailable For Legal Reasons", "The resource is withheld for legal reasons."
	case 500:
		return "Internal Server Error", "The server failed by an error of its own."
	case 501:
		return "Not Implemented", "The server does not have the method at all."
	case 502:
		return "Bad Gateway", "The server behind this one gave an invalid response."
	case 503:
		return "Service Unavailable", "The server is overloaded or under maintenance; Retry-After may say how long."
	case 504:
		return "Gateway Timeout", "The server behind this one did not answer in time."
	case 505:
		return "HTTP Version Not Supported", "The server does not speak this version of HTTP."
	case 506:
		return "Variant Also Negotiates", "The server is configured wrongly: content negotiation leads in a circle."
	case 507:
		return "Insufficient Storage", "The server has no room for what the request needs (WebDAV)."
	case 508:
		return "Loop Detected", "The server found an endless loop (WebDAV)."
	case 510:
		return "Not Extended", "The request must have an extension (obsolete)."
	case 511:
		return "Network Authentication Required", "The client must log in to the network, such as at a hotspot."
	}
	return "", ""
}
